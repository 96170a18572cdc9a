"""Many small tables, in two halves: constants are chosen on the first, claims made on the second.

Every table is a `Table` of training and test rows with public bounds on targets; most are drawn
by a fixed seed, so that all of them but those read from files are the same anywhere. The halves
were fixed before any constant was chosen on them, and a table never changes its half.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from datasets import load
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_circles,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_moons,
)

__all__ = ["FAMILIES", "FIRST_HALF", "SECOND_HALF", "Family", "Table"]


@dataclass(frozen=True)
class Table:
    """Rows to train and to test on.

    Parameters
    ----------
    X, X_test : ndarray or CSR matrix
    y, y_test : ndarray
    target_bounds : (float, float) or None
        Public bounds on the targets of a regression.
    """

    X: object
    X_test: object
    y: np.ndarray
    y_test: np.ndarray
    target_bounds: tuple | None = None


@dataclass(frozen=True)
class Family:
    """How a table is made, and what is asked of it.

    Parameters
    ----------
    make : callable, () -> Table
    kind : {"binary", "classes", "regression", "counts"}
    linear : bool
        Whether a linear score is worth fitting to it.
    """

    make: Callable
    kind: str
    linear: bool = True


def _parted(X, y, n_train, bounds=None, seed=0):
    """Return a Table of the first rows of a fixed permutation and of the others."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    X, y = X[order], np.asarray(y)[order]
    return Table(X[:n_train], X[n_train:n_train + 10_000], y[:n_train],
                 y[n_train:n_train + 10_000], bounds)


def _real(name, n_train=None, bounds=None):
    """Return a set of the evaluation protocol, or its first rows in a fixed order."""
    X, X_test, y, y_test = load(name)
    order = np.random.default_rng(1).permutation(len(X))[:n_train]
    return Table(X[order], X_test[:10_000], y[order], y_test[:10_000], bounds)


def _bundled(loader, share=0.75, scaled=False, target=None, bounds=None):
    X, y = loader(return_X_y=True)
    if scaled:
        low, high = X.min(axis=0), X.max(axis=0)
        X = 2.0 * (X - low) / (high - low) - 1.0
    y = y if target is None else target(y)
    return _parted(X, y, int(share * len(X)), bounds)


def _labels(rng, logits):
    return (rng.random(len(logits)) < expit(logits)).astype(int)


def _sphere(n, columns=8):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n + 5000, columns))
    return _parted(X, ((X**2).sum(axis=1) > columns - 0.6).astype(int), n)


def _crossed(n):
    """Two products of columns, and nothing of each by itself."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, size=(n + 5000, 6))
    return _parted(X, _labels(rng, 9.0 * (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3])), n)


def _rings(n):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, size=(n + 5000, 2))
    return _parted(X, (np.sin(6.0 * np.hypot(*X.T)) > 0.0).astype(int), n)


def _checkers(n):
    rng = np.random.default_rng(5)
    X = rng.uniform(0.0, 3.0, size=(n + 5000, 2))
    return _parted(X, (np.floor(X).sum(axis=1) % 2).astype(int), n)


def _map(n):
    """A smooth map of two dimensions, as prices over a city are."""
    rng = np.random.default_rng(6)
    X = rng.uniform(-1.0, 1.0, size=(n + 5000, 2))
    y = np.exp(-4.0 * ((X - 0.4)**2).sum(axis=1)) - np.exp(-6.0 * ((X + 0.5)**2).sum(axis=1))
    return _parted(X, y + 0.1 * rng.normal(size=len(y)), n, (-1.3, 1.3))


def _friedman(make, n, bounds):
    X, y = make(n + 5000, noise=1.0, random_state=7)
    return _parted(X, y, n, bounds)


def _clusters(n, per_class, columns=10):
    X, y = make_classification(n + 5000, columns, n_informative=5, n_redundant=2,
                               n_clusters_per_class=per_class, random_state=8)
    return _parted(X, y, n)


def _texts(n, words=3000, topics=2, seed=9):
    """Rows of counts of words, of which few tell the topic; sparse."""
    rng = np.random.default_rng(seed)
    usual = 1.0 / np.arange(1.0, words + 1.0)
    laws = np.array([usual * np.exp(rng.normal(0.0, 1.0, words) * (rng.random(words) < 0.1))
                     for _ in range(topics)])
    laws /= laws.sum(axis=1, keepdims=True)
    y = rng.integers(topics, size=n + 5000)
    rows = [rng.choice(words, size=rng.integers(20, 60), p=laws[each]) for each in y]
    places = np.repeat(np.arange(len(y)), [len(each) for each in rows])
    X = sparse.csr_matrix((np.ones(len(places)), (places, np.concatenate(rows))),
                          shape=(len(y), words))
    X.data = np.log1p(X.data)
    return _parted(X, y, n)


def _classes(n, count, columns=20):
    rng = np.random.default_rng(10)
    centers = rng.normal(size=(count, columns))
    y = rng.integers(count, size=n + 5000)
    return _parted(centers[y] + 0.9 * rng.normal(size=(len(y), columns)), y, n)


def _flags(n, columns=61, dtype=float):
    """Zeros and ones, many of them rare, that come as numbers."""
    rng = np.random.default_rng(11)
    shares = np.concatenate([rng.uniform(0.005, 0.1, columns // 2),
                             rng.uniform(0.1, 0.9, columns - columns // 2)])
    X = (rng.random((n + 5000, columns)) < shares).astype(dtype)
    return _parted(X, _labels(rng, 1.5 * (X - shares) @ rng.normal(size=columns)), n)


def _codes(n):
    """Small whole numbers, such as grades and counts, of which the middle ones matter."""
    rng = np.random.default_rng(12)
    X = np.column_stack([rng.integers(0, 10, n + 5000), rng.poisson(1.0, n + 5000),
                         rng.integers(1, 5, n + 5000), rng.binomial(20, 0.3, n + 5000)])
    y = np.isin(X[:, 0], (3, 4, 5)) * 2.0 + 0.8 * (X[:, 1] > 0) - 0.2 * X[:, 3]
    return _parted(X.astype(float), _labels(rng, 2.0 * (y - y.mean())), n)


def _rare(n, share, columns=12):
    rng = np.random.default_rng(13)
    y = (rng.random(n + 10_000) < share).astype(int)
    direction = rng.normal(size=columns)
    X = rng.normal(size=(len(y), columns))
    return _parted(X + 2.0 * y[:, None] * direction / np.linalg.norm(direction), y, n)


def _heavy(n, columns=8, signal=0.0, seed=14):
    """Heavy-tailed columns, and targets that follow none or all of them a little."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2.5, size=(n + 5000, columns))
    y = signal * np.tanh(X @ rng.normal(size=columns) / 3.0) + rng.normal(size=len(X))
    return _parted(X, y, n, (-4.0, 4.0))


def _noise_classes(n, share, columns):
    rng = np.random.default_rng(15)
    X = rng.standard_t(3.0, size=(n + 5000, columns))
    return _parted(X, (rng.random(len(X)) < share).astype(int), n)


def _correlated(n, columns=20, seed=16):
    """Columns that are nearly one number: few directions hold nearly all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 5000, 3)) @ rng.normal(size=(3, columns))
    X += 0.1 * rng.normal(size=X.shape) + rng.uniform(2.0, 8.0, columns)
    y = (X - X.mean(axis=0)) @ rng.normal(size=columns)
    y = 2.0 * y / y.std() + rng.normal(size=len(y))
    return _parted(X, y, n, (-8.0, 8.0))


def _collinear(n):
    rng = np.random.default_rng(17)
    X = rng.normal(size=(n + 5000, 6))
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2] - X[:, 3], X[:, :2] * 100.0])
    return _parted(X, _labels(rng, 2.0 * X[:, 0] - X[:, 2] + 0.5 * X[:, 4]), n)


def _one_hot(n, seed=18):
    """Five categories as zeros and ones beside three numbers; a regression on both."""
    rng = np.random.default_rng(seed)
    levels = [3, 5, 8, 12, 30]
    codes = [rng.choice(k, size=n + 5000, p=rng.dirichlet(np.ones(k))) for k in levels]
    numbers = rng.uniform(size=(n + 5000, 3))
    X = np.column_stack([np.eye(k)[code] for k, code in zip(levels, codes, strict=True)])
    y = sum(rng.normal(size=k)[code] for k, code in zip(levels, codes, strict=True))
    y = y + numbers @ [2.0, -1.0, 0.5] + rng.normal(size=len(numbers))
    return _parted(np.column_stack([numbers, X]), y, n, (-10.0, 10.0))


def _few_matter(n, columns, matter, seed=19):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 5000, columns))
    coef = np.zeros(columns)
    coef[:matter] = rng.choice([-1.0, 1.0], matter) / np.sqrt(matter)
    y = X @ coef + 0.33 * rng.normal(size=len(X))
    return _parted(X, y, n, (-4.0, 4.0))


def _counts(n, columns=5, seed=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 5000, columns))
    y = rng.poisson(np.exp(0.5 + 0.3 * X @ rng.choice([-1.0, 1.0], columns)))
    return _parted(X, y.astype(float), n, (0.0, 20.0))


def _skewed(n):
    """Amounts: most are small, few are large, and bounds are wide."""
    rng = np.random.default_rng(21)
    X = rng.normal(size=(n + 5000, 6))
    y = np.exp(0.8 * (X[:, 0] - 0.5 * X[:, 1]) + 0.7 * rng.normal(size=len(X)))
    return _parted(X, y, n, (0.0, 50.0))


def _whole_targets(n):
    rng = np.random.default_rng(22)
    X = rng.uniform(size=(n + 5000, 9))
    y = np.rint(5.0 + 3.0 * (X[:, 0] - X[:, 1]) + X[:, 2] + rng.normal(size=len(X)))
    return _parted(X, y, n, (0.0, 10.0))


def _outliers(n):
    """Lognormal columns, some capped, one row in a thousand 1e4 times as far out."""
    rng = np.random.default_rng(23)
    Z = rng.normal(size=(n + 10_000, 6))
    X = np.exp(Z * [0.5, 1.0, 1.5, 1.0, 2.0, 0.7])
    X[:, 3] = np.minimum(X[:, 3], 3.0)
    y = _labels(rng, Z @ [1.0, -0.8, 0.7, 0.5, 0.6, 0.0] - 2.0)
    X[rng.random(len(X)) < 1e-3] *= 1e4
    return _parted(X, y, n)


def _far_from_zero(n):
    """Time stamps and tiny amounts: columns far from 0 that lie close together, and small ones."""
    rng = np.random.default_rng(24)
    Z = rng.normal(size=(n + 5000, 4))
    X = np.column_stack([1e9 + 1e3 * Z[:, 0], 1e-6 * Z[:, 1], 2000.0 + 5.0 * Z[:, 2], Z[:, 3]])
    return _parted(X, _labels(rng, Z @ [1.5, -1.0, 1.0, 0.5]), n)


def _digits_parity(y):
    return y % 2


#: The tables that constants are chosen on.
FIRST_HALF = {
    "adult_5000": Family(partial(_real, "adult", 5000), "binary"),
    "bank": Family(partial(_real, "bank"), "binary"),
    "breast_cancer": Family(partial(_bundled, load_breast_cancer), "binary"),
    "circles": Family(lambda: _parted(*make_circles(25_000, noise=0.1, factor=0.6,
                                                    random_state=0), 20_000), "binary", False),
    "clusters_2": Family(partial(_clusters, 10_000, 2), "binary", False),
    "collinear": Family(partial(_collinear, 3000), "binary"),
    "classes_10": Family(partial(_classes, 10_000, 10), "classes"),
    "correlated": Family(partial(_correlated, 5000), "regression"),
    "covtype_5000": Family(partial(_real, "covtype_binary", 5000), "binary"),
    "crossed_3000": Family(partial(_crossed, 3000), "binary", False),
    "counts_15000": Family(partial(_counts, 15_000), "counts"),
    "diabetes": Family(partial(_bundled, load_diabetes, bounds=(25.0, 350.0)), "regression"),
    "digits": Family(partial(_bundled, load_digits), "classes"),
    "few_matter_100": Family(partial(_few_matter, 3000, 100, 4, seed=29), "regression"),
    "flags_2000": Family(partial(_flags, 2000), "binary"),
    "friedman1": Family(partial(_friedman, make_friedman1, 5000, (0.0, 30.0)), "regression"),
    "heavy_no_signal_5000": Family(partial(_heavy, 5000, seed=25), "regression"),
    "noise_classes_1000": Family(partial(_noise_classes, 1000, 0.5, 12), "binary"),
    "one_hot": Family(partial(_one_hot, 4000), "regression"),
    "rare_1": Family(partial(_rare, 30_000, 0.01), "binary"),
    "rings": Family(partial(_rings, 20_000), "binary", False),
    "texts_3000": Family(partial(_texts, 3000, 1000), "binary"),
    "whole_targets": Family(partial(_whole_targets, 2000), "regression"),
    "wine_600": Family(partial(_real, "wine", 600, (-0.6, 1.0)), "regression"),
}
#: The tables that claims are made on.
SECOND_HALF = {
    "adult": Family(partial(_real, "adult"), "binary"),
    "adult_hours_3000": Family(partial(_real, "adult_hours", 3000, (1.0, 99.0)), "regression"),
    "bank_1000": Family(partial(_real, "bank", 1000), "binary"),
    "bike_5000": Family(partial(_real, "bike", 5000, (-1.0, 1.0)), "regression"),
    "breast_cancer_scaled": Family(partial(_bundled, load_breast_cancer, scaled=True), "binary"),
    "breast_cancer_as_numbers": Family(partial(_bundled, load_breast_cancer,
                                               target=lambda y: 2.0 * y - 1.0,
                                               bounds=(-1.0, 1.0)), "regression"),
    "checkers": Family(partial(_checkers, 20_000), "binary", False),
    "classes_40": Family(partial(_classes, 15_000, 40), "classes"),
    "clusters_4": Family(partial(_clusters, 20_000, 4), "binary", False),
    "codes": Family(partial(_codes, 10_000), "binary", False),
    "credit": Family(partial(_real, "credit"), "binary"),
    "crossed": Family(partial(_crossed, 22_500), "binary", False),
    "counts_1000": Family(partial(_counts, 1000, seed=30), "counts"),
    "digits_parity": Family(partial(_bundled, load_digits, target=_digits_parity), "binary",
                            False),
    "far_from_zero": Family(partial(_far_from_zero, 10_000), "binary"),
    "few_matter_400": Family(partial(_few_matter, 7500, 400, 5), "regression"),
    "flags_5000": Family(partial(_flags, 5000), "binary"),
    "friedman2": Family(partial(_friedman, make_friedman2, 5000, (0.0, 1800.0)), "regression"),
    "heavy_no_signal_500": Family(partial(_heavy, 500), "regression"),
    "heavy_signal": Family(partial(_heavy, 3000, signal=1.5, seed=26), "regression"),
    "iris": Family(partial(_bundled, load_iris), "classes"),
    "map": Family(partial(_map, 10_000), "regression", False),
    "moons": Family(lambda: _parted(*make_moons(25_000, noise=0.2, random_state=0), 20_000),
                    "binary", False),
    "noise_classes_500": Family(partial(_noise_classes, 500, 0.3, 8), "binary"),
    "one_hot_1000": Family(partial(_one_hot, 1000, seed=28), "regression"),
    "outliers": Family(partial(_outliers, 20_000), "binary"),
    "rare_2": Family(partial(_rare, 30_000, 0.024), "binary"),
    "skewed": Family(partial(_skewed, 3000), "regression"),
    "sphere": Family(partial(_sphere, 20_000), "binary", False),
    "texts": Family(partial(_texts, 15_000, 3000, seed=27), "binary"),
    "wine": Family(partial(_real, "wine", None, (-0.6, 1.0)), "regression"),
    "wine_classes": Family(partial(_bundled, load_wine), "classes"),
}
FAMILIES = FIRST_HALF | SECOND_HALF
