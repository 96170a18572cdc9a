"""Rows and fits for the tests of models of classes."""

import numpy as np

from dpsk import DPBernoulliNB, DPCategoricalNB, DPMultinomialNB
from dpsk.testing import NoiseSeed
from tests.instruments import repeated_stream

__all__ = ["MODELS", "fitted", "numbers", "rows"]

#: What models of counts are given in tests, whose rows are not negative.
MODELS = {DPBernoulliNB: {"binarize": 1.5}, DPMultinomialNB: {"data_norm": 5.0},
          DPCategoricalNB: {"min_categories": 8}}


def rows(n=90, n_features=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, n_features)) + 2.0 * y[:, None], y


def fitted(cls, X=None, y=None, sample_weight=None, groups=None, stream=False, **params):
    """Return a model fitted to some rows, under a seed or one stream."""
    if X is None:
        X, y = rows()
    X = np.abs(X) if cls in MODELS else X
    declared = {"feature_range": (-5.0, 9.0)} if "feature_range" in cls._get_param_names() else {}
    model = cls(**{"epsilon": 3.0, "delta": 1e-4, "random_state": NoiseSeed(0), **declared,
                   **MODELS.get(cls, {}), **params})
    more = {} if sample_weight is None else {"sample_weight": sample_weight}
    if groups is not None:
        more["groups"] = groups
    if not stream:
        return model.fit(X, y, **more)
    with repeated_stream():
        return model.fit(X, y, **more)


def numbers(model):
    """Return all numbers that were released."""
    parts = []
    for name in model.privacy_.released:
        value = getattr(model, name)
        parts += [np.asarray(part, float) for part in (
            value if isinstance(value, list) else [value])]
    return parts
