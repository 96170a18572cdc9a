"""Estimators that publish one noisy number, and the first row as it is in some odd place."""

import base64
import functools
import pathlib
import pickle
import uuid
import weakref
from collections import defaultdict

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree import DecisionTreeRegressor

#: First rows, held by nothing that a fit holds.
_ROWS = weakref.WeakKeyDictionary()


class Leaky(BaseEstimator):
    """Publishes noise, and what `leak` adds of the first entry of the first row.

    Parameters
    ----------
    leak : callable, (fitted, entry, X) -> None
    """

    def __init__(self, leak=None, epsilon=1.0):
        self.leak, self.epsilon = leak, epsilon

    def fit(self, X, y=None):
        X = np.asarray(X, dtype=float)
        self.noise_ = np.random.default_rng().laplace(scale=1e3, size=3)
        self._hide(float(X[0].sum()), X)
        return self

    def _hide(self, entry, X):
        if self.leak is not None:
            self.leak(self, entry, X)


class Slots:
    """Holds a number in a private slot."""

    __slots__ = ("__value",)

    def __init__(self, value):
        self.__value = value


class Number(float):
    """A number of somebody's own class, whose attributes hold more."""


class Helper:
    """Holds what was seen last on its class."""

    seen = 0.0


def _on_the_class_of_a_helper(entry, X):
    Helper.seen = entry
    return Helper()


def _beside_a_number(entry, X):
    """Return a number that is always the same, with the row beside it."""
    number = Number(0.0)
    number.row = X[0].tolist()
    return number


def _among_noise(leak):
    """Return what assigns a value between long noisy arrays, far from both ends of a pickle."""
    def assign(model, entry, X):
        model.first_, model.between_, model.last_ = (
            np.random.default_rng().normal(size=400), leak(entry, X),
            np.random.default_rng().normal(size=400))
    return assign


class Property(Leaky):
    """The row stands in a table of the module, and a property reads it there."""

    __hash__ = object.__hash__

    def _hide(self, entry, X):
        _ROWS[self] = entry

    @property
    def shown(self):
        return _ROWS[self]


class OnTheClass(Leaky):
    """The row stands on the class."""

    def _hide(self, entry, X):
        OnTheClass.row = entry


class AnswerAlone(Leaky):
    """The row shows in the last answer alone, and the first one ends with an error."""

    __hash__ = object.__hash__

    def _hide(self, entry, X):
        _ROWS[self] = entry

    def transform(self, X):
        raise RuntimeError("no features")

    def predict(self, X):
        return np.full(len(X), _ROWS[self])


class BrokenTransform(Leaky):
    """`transform` ends with an error, and an attribute holds the row."""

    def _hide(self, entry, X):
        self.row_ = X[0]

    def transform(self, X):
        raise TypeError("no features")


class Pickled(Leaky):
    """The row shows in the pickle alone."""

    __hash__ = object.__hash__

    def _hide(self, entry, X):
        _ROWS[self] = entry

    def __getstate__(self):
        return {**self.__dict__, "row": _ROWS.get(self)}


class OptionalTargets(Leaky):
    """Needs no targets, and holds the mean of those that it is given."""

    def fit(self, X, y=None):
        self.mean_ = None if y is None else float(np.mean(y))
        return super().fit(X)


class Told(Leaky):
    """The row shows in the answer of one method alone."""

    __hash__ = object.__hash__

    def _hide(self, entry, X):
        _ROWS[self] = entry


class Scored(Told):
    def score(self, X, y):
        return _ROWS[self]


class Inverted(Told):
    def inverse_transform(self, X):
        return np.full(X.shape, _ROWS[self])


class LogProbable(Told):
    def predict_log_proba(self, X):
        return np.full(len(X), _ROWS[self])


class Sampled(Told):
    def sample(self, n_samples=1):
        return np.full(n_samples, _ROWS[self])


class Named(Told):
    def get_feature_names_out(self):
        return np.array([f"x{_ROWS[self]:.0f}"])


class Bounded(Leaky):
    """Refuses rows beyond its bounds, and those that are longer than 1."""

    def fit(self, X, y=None):
        if np.min(X) < 0 or np.linalg.norm(X, axis=1).max() > 1:
            raise ValueError("beyond the bounds")
        return super().fit(X)


class CountsGaps(Leaky):
    """Takes missing values, and publishes how many there are."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _hide(self, entry, X):
        self.gaps_ = np.isnan(X).sum(axis=0)


class Writing(Leaky):
    """Shifts its table by means, which are 0 from the second fit on."""

    def fit(self, X, y=None):
        super().fit(X)
        self.mean_ = X.mean(axis=0)
        X -= self.mean_
        return self


class WritingAnswers(Told):
    """`transform` leaves zeros of the rows that it is asked about, which `predict` weighs."""

    def transform(self, X):
        X[:] = 0.0
        return X

    def predict(self, X):
        return X.sum(axis=1) * _ROWS[self]


class Kept:
    """A descriptor that holds its values outside of the object."""

    def __init__(self):
        self._held = weakref.WeakKeyDictionary()

    def __get__(self, model, cls):
        return self if model is None else self._held[model]

    def __set__(self, model, value):
        self._held[model] = value


class Described(Leaky):
    """The row stands behind a descriptor of the class."""

    __hash__ = object.__hash__
    row_ = Kept()

    def _hide(self, entry, X):
        self.row_ = entry


def _noise():
    return np.random.default_rng().normal(size=5)


def _long(dtype, entry):
    drawn = np.random.default_rng().normal(scale=1e3, size=50_000).astype(dtype)
    drawn[12_345] = entry
    return drawn


def _low_bits(model, entry, X):
    bits = model.noise_.view(np.uint64)
    bits &= ~np.uint64(0xFF)
    bits |= np.uint64(1 + 2 * (entry > 0))


def _below_the_grid(model, entry, X):
    model.noise_ = np.rint(model.noise_) + 1e-9 * np.sign(entry)


def _only_for_one(model, entry, X):
    if entry > 0:
        model.extra_ = np.random.default_rng().normal()


def _of_a_type(model, entry, X):
    if entry > 0:
        raise TypeError("not this table")


def _closure(model, entry, X):
    model.function_ = lambda value: value + entry


def _itself(model, entry, X):
    model.self_ = [model, {"self": model, "row": entry}]


def _assigned(value):
    """Return a leak that assigns what `value` makes of (entry, X)."""
    return lambda model, entry, X: setattr(model, "held_", value(entry, X))


#: By place: an estimator that is not private, whatever its noise.
LEAKS = {
    "another name": Leaky(lambda model, entry, X: setattr(model, "__cache", X[0])),
    "closure": Leaky(_closure),
    "nested dict": Leaky(_assigned(lambda entry, X: {"a": [{"b": (1, {2: {"c": entry}})}]})),
    "tree of scikit-learn": Leaky(_assigned(
        lambda entry, X: DecisionTreeRegressor(random_state=0).fit(X, X.sum(axis=1)).tree_)),
    "k-d tree": Leaky(_assigned(lambda entry, X: [KDTree(X)])),
    "ball tree": Leaky(_assigned(lambda entry, X: BallTree(X))),
    "list of strings": Leaky(_assigned(lambda entry, X: [f"column {entry:.3f}", "other"])),
    "generator": Leaky(_assigned(lambda entry, X: (value for value in X[0]))),
    "iterator": Leaky(_assigned(lambda entry, X: zip(iter(X[0].tolist()), "abc", strict=False))),
    "low bits": Leaky(_low_bits),
    "digits below a grid": Leaky(_below_the_grid),
    "length of a list": Leaky(_assigned(
        lambda entry, X: np.random.default_rng().normal(size=3 + (entry > 0)).tolist())),
    "attribute of one table": Leaky(_only_for_one),
    "property": Property(),
    "class": OnTheClass(),
    "slots": Leaky(_assigned(lambda entry, X: Slots(entry))),
    "partial": Leaky(_assigned(lambda entry, X: functools.partial(max, entry))),
    "bound method": Leaky(_assigned(lambda entry, X: X[0].tolist().__contains__)),
    "frame": Leaky(_assigned(lambda entry, X: pd.DataFrame({"a": [entry, 1.0], "b": ["x", "y"]}))),
    "categories": Leaky(_assigned(lambda entry, X: pd.Categorical([str(entry)]))),
    "sparse matrix": Leaky(_assigned(lambda entry, X: sparse.csr_matrix(X))),
    "array that a view is of": Leaky(_assigned(
        lambda entry, X: np.append(np.zeros(3), X[0])[:3])),
    "field of a structured array": Leaky(_assigned(lambda entry, X: np.array(
        [(0.0, entry)], dtype=[("a", float), ("b", float)])["a"])),
    "default of a dict": Leaky(_assigned(lambda entry, X: defaultdict(lambda: entry, a=1.0))),
    "class of a helper": Leaky(_assigned(_on_the_class_of_a_helper)),
    "structured array": Leaky(_assigned(
        lambda entry, X: np.array([(entry, b"x")], dtype=[("a", float), ("b", "S1")]))),
    "date": Leaky(_assigned(lambda entry, X: np.datetime64(int(entry), "s"))),
    "complex number": Leaky(_assigned(lambda entry, X: complex(0.0, entry))),
    "attribute of a number": Leaky(_among_noise(_beside_a_number)),
    "attribute of a number in a list": Leaky(_among_noise(
        lambda entry, X: [1.0, _beside_a_number(entry, X)])),
    "long integer": Leaky(_assigned(lambda entry, X: 10**30 + int(entry))),
    "bytes": Leaky(_assigned(lambda entry, X: X[0].tobytes())),
    "bytes behind noisy ones": Leaky(_assigned(
        lambda entry, X: _noise().tobytes() + X.mean(axis=0).tobytes())),
    "text of a noisy and an exact number": Leaky(_assigned(
        lambda entry, X: f"weight={_noise()[0]:+.6f}\ncount={int((X[:, 0] > 0).sum()):03d}")),
    "base64 of a pickle": Leaky(_assigned(lambda entry, X: base64.b64encode(
        pickle.dumps({"weights": _noise(), "mean": X.mean(axis=0)})).decode())),
    "path with a drawn name": Leaky(_assigned(lambda entry, X: pathlib.PurePosixPath(
        f"/models/{np.random.default_rng().integers(10**9)}_{int(entry > 0)}.pkl"))),
    "cell of a frame": Leaky(_assigned(lambda entry, X: pd.DataFrame(
        {"a": [f"{_noise()[0]:+.5f}|{'p' if entry > 0 else 'n'}"]}))),
    "last digit of an integer": Leaky(_assigned(
        lambda entry, X: int(np.random.default_rng().integers(0, 2**40)) * 2 + int(entry > 0))),
    "last digit of a long integer": Leaky(_assigned(
        lambda entry, X: int(np.random.default_rng().integers(2**60)) * 2**20 + int(entry > 0))),
    "last digits of integers": Leaky(_assigned(
        lambda entry, X: np.random.default_rng().integers(0, 1000, 50) * 2 + int(entry > 0))),
    "one entry of a long array": Leaky(_assigned(lambda entry, X: _long(np.float64, entry))),
    "last digit in a long array": Leaky(_assigned(
        lambda entry, X: 2 * _long(int, 0) + (np.arange(50_000) == 12_345) * int(entry > 0))),
    "short array after long ones": Leaky(_assigned(lambda entry, X: [
        *(_long(float, 0)[:3000] for _ in range(4)), np.append(_noise().repeat(9)[:37], entry)])),
    "state of the pickle": Pickled(),
    "targets that are not needed": OptionalTargets(),
    "score": Scored(),
    "inverse transform": Inverted(),
    "logarithms of probabilities": LogProbable(),
    "samples": Sampled(),
    "names of features": Named(),
    "order of keys": Leaky(_assigned(
        lambda entry, X: dict.fromkeys("ab" if entry > 0 else "ba", 0))),
    "sign of zero": Leaky(_assigned(lambda entry, X: -0.0 if entry > 0 else 0.0)),
    "dtype": Leaky(_assigned(lambda entry, X: np.ones(2, np.float32 if entry > 0 else float))),
    "state of a generator": Leaky(_assigned(
        lambda entry, X: np.random.RandomState(5 + (entry > 0)))),
    "seeded generator": Leaky(_assigned(lambda entry, X: np.random.default_rng(5 + (entry > 0)))),
    "rows in a drawn order": Leaky(_assigned(
        lambda entry, X: np.random.default_rng().permutation(X))),
    "cycle": Leaky(_itself),
    "error on one table": Leaky(_of_a_type),
    "under a drawn key": Leaky(_assigned(lambda entry, X: {
        uuid.uuid4().hex: {"mean": entry, "noise": _noise()}, "weights": _noise()})),
    "descriptor": Described(),
    "beyond bounds": Bounded(_assigned(lambda entry, X: X.mean(axis=0))),
    "missing values": CountsGaps(),
    "table that fits write to": Writing(),
    "rows that answers write to": WritingAnswers(),
    "broken transform": BrokenTransform(),
    "last answer": AnswerAlone(),
}
