"""Tables and pipelines for the tests of pipelines."""

import math

import numpy as np
import pandas as pd
from scipy.special import ndtr

from dpsk import DPLogisticRegression, DPTableVectorizer, make_dp_pipeline
from dpsk.testing import NoiseSeed

__all__ = ["costs", "delta_beside", "model", "table"]


def table(n=600, seed=0, n_towns=3):
    """Return a table of numbers and words, with labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(size=n), "wage": rng.exponential(size=n),
                      "town": rng.choice(["a", "b", "c", "d", "e"][:n_towns], size=n)})
    return X, (X["age"] + 0.3 * rng.normal(size=n) > 0).astype(int)


def model(*more, last=None, **params):
    last = DPLogisticRegression() if last is None else last
    return make_dp_pipeline(DPTableVectorizer(max_categories=8), *more, last, **{
        "epsilon": 2.0, "delta": 1e-5, "random_state": NoiseSeed(0), **params})


def costs(pipeline):
    """Return what the private steps of a fitted pipeline cost, each by itself."""
    return list(pipeline.step_certificates_.values())


def delta_beside(mu, own, epsilon):
    """Return the delta of N(0, 1) against N(mu, 1) beside randomized response at `own`."""
    def gaussian(epsilon):
        return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)

    truth = 1.0 / (1.0 + math.exp(-own))
    return truth * gaussian(epsilon - own) + (1.0 - truth) * gaussian(epsilon + own)
