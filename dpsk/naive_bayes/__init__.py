"""Naive Bayes classifiers."""

from dpsk.naive_bayes._bernoulli import DPBernoulliNB
from dpsk.naive_bayes._categorical import DPCategoricalNB
from dpsk.naive_bayes._gaussian import DPGaussianNB
from dpsk.naive_bayes._multinomial import DPMultinomialNB

__all__ = ["DPBernoulliNB", "DPCategoricalNB", "DPGaussianNB", "DPMultinomialNB"]
