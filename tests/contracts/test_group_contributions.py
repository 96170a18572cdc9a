"""What a group adds to a sum is a function of its own rows, to the last bit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import rounding_margin
from dpsk._models import LinearModel, ScaleModel, WhitenedModel
from dpsk._objective.losses import Logistic, Multinomial, Squared
from dpsk._sums import group_sums
from dpsk._sums.group_sums import GroupSums
from tests.instruments import ranked

_CLIP, _GROUP_CLIP = 0.2, 0.03
#: Rows beside one another meet other places of a product's blocks than alone.
_SIZES = np.array([7, 1, 2, 50, 3, 16, 5, 33, 9, 4, 12, 27])
CASES = {"logistic": (Logistic(), None), "squared": (Squared(), None),
         "multinomial": (Multinomial(), 4)}


def model_of(kind, width, outputs):
    model = LinearModel(width, outputs, True, 3.0)
    if kind == "whitened":
        rng = np.random.default_rng(9)
        return WhitenedModel.of(model, np.eye(width + 1) + 0.1 * rng.normal(size=(width + 1,) * 2))
    if kind == "ray":
        return ScaleModel(outputs or 1, outputs, False, 3.0)
    return model


def contributions(sums, theta, units):
    """Return the bytes of what every unit adds, in the order of `units`."""
    found = []
    with np.errstate(all="ignore"):
        for terms in sums.terms(theta, units):
            terms.clip(sums.clip)
            columns = [terms.factors[:, None], *(
                part for features, constants in terms.averages for part in (
                    features.toarray() if sparse.issparse(features) else features,
                    constants[:, None]))]
            found += [row.tobytes() for row in np.hstack(columns)]
    return found


def made(kind, name, dtype, container, first, place, seed=0):
    """Return sums over tables that differ in the group of label 0, whose rows are somewhere."""
    loss, outputs = CASES[name]
    width = 37 if kind != "ray" else outputs or 1
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(1, len(_SIZES) + 1), _SIZES)
    X = rng.normal(size=(len(labels), width)) * np.exp(rng.normal(size=(len(labels), 1)))
    X[rng.random(X.shape) < 0.3] = 0.0
    X = X.astype(dtype)
    y = rng.integers(4, size=len(X)) if outputs else rng.choice([-1.0, 1.0], size=len(X))
    model = model_of(kind, width, outputs)
    theta = np.random.default_rng(1).normal(size=model.shape) * 3.0
    if name == "squared":
        # Rows that lie on their targets: the last bit of a product is all that is left.
        with np.errstate(all="ignore"):
            z = GroupSums(model, loss, Rows(X, y, groups=ranked(labels)), 1, 1).scores(
                theta).X[:, 0]
        y = z
    other = np.random.default_rng([first, seed])
    own = 10.0 ** other.integers(-3, 9) * other.normal(size=(first, width))
    at = np.sort(other.integers(len(X) + 1, size=first)) if place == "among" else np.full(
        first, {"before": 0, "behind": len(X)}[place])
    X = np.insert(X, at, own, axis=0).astype(dtype)
    y, labels = np.insert(y, at, y[:1], axis=0), np.insert(labels, at, 0)
    rows = Rows(sparse.csr_matrix(X) if container == "sparse" else np.asfortranarray(X)
                if container == "fortran" else X, y, groups=ranked(labels))
    with np.errstate(all="ignore"):
        return GroupSums(model, loss, rows, _CLIP, _GROUP_CLIP), theta


@pytest.mark.covering
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind, dtype, container", [
    *((kind, dtype, container) for kind in ("plain", "whitened") for dtype in ("f4", "f8")
      for container in ("dense", "fortran", "sparse")), ("ray", "f8", "dense")])
def test_another_group_changes_no_bit_of_what_others_add(kind, dtype, container, name,
                                                         monkeypatch):
    others = np.arange(1, len(_SIZES) + 1)
    sums, theta = made(kind, name, dtype, container, 1, "before")
    alone = [contributions(sums, theta, np.array([unit]))[0] for unit in others]
    rng = np.random.default_rng(5)
    for first in (1, 2, 3, 5, 8, 13, 31, 50):
        for place in ("before", "behind", "among"):
            # Blocks of other lengths, so that groups stand in other places of them.
            monkeypatch.setattr(group_sums, "_ENTRIES", int(rng.integers(64, 1 << 14)))
            monkeypatch.setattr(group_sums, "_CSR_ROWS", int(rng.integers(1, 400)))
            sums, theta = made(kind, name, dtype, container, first, place)
            assert contributions(sums, theta, None)[1:] == alone
            batch = rng.permutation(len(_SIZES) + 1)[:rng.integers(1, 13)]
            found = contributions(sums, theta, batch)
            assert [one for unit, one in zip(batch, found, strict=True) if unit] == [
                alone[unit - 1] for unit in batch if unit]


def test_many_groups_and_wide_rows_keep_their_bits_in_batches_of_any_size():
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 51, size=150)
    labels = rng.permutation(np.repeat(np.arange(150), sizes))
    model, X = LinearModel(311, None, True, 3.0), rng.normal(size=(len(labels), 311))
    y, theta = rng.choice([-1.0, 1.0], size=len(X)), rng.normal(size=312)
    sums = GroupSums(model, Logistic(), Rows(X, y, groups=ranked(labels)), 1.0, 0.1)
    whole = contributions(sums, theta, None)
    for size in (1, 2, 7, 64, 149):
        batch = rng.permutation(150)[:size]
        assert contributions(sums, theta, batch) == [whole[unit] for unit in batch]


@pytest.mark.parametrize("kind", ["plain", "whitened"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_that_are_kept_side_by_side_add_what_others_do(kind, dtype, monkeypatch):
    """In as many blocks as there are, of which none, some or all are kept."""
    found, n_rows = [], _SIZES.sum() + 5
    for kept in (0, 37 * n_rows // 2, 37 * n_rows):
        monkeypatch.setattr(group_sums, "_ENTRIES", 1 << 10)
        monkeypatch.setattr(group_sums, "_KEPT_ENTRIES", kept)
        sums, theta = made(kind, "logistic", dtype, "dense", 5, "among")
        blocks = sums.entry.whole_groups(None)
        assert sum(block.read is not None for block in blocks) in {
            0: [0], 37 * n_rows: [len(blocks)]}.get(kept, range(1, len(blocks)))
        # Twice, as no pass may change what is kept.
        found += [contributions(sums, theta, None), contributions(sums, theta, None)]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("n_groups, width", [(10, 3), (1000, 1), (1000, 40), (100_000, 2)])
@pytest.mark.parametrize("kind", ["plain", "whitened"])
def test_rounding_of_sums_over_many_groups_is_within_the_margin(kind, n_groups, width):
    """Rows that are alike round alike, each sum the same way; a sum is off by half a margin.

    The worst of several rows is at least a thousandth of the bound, so that one that leaves out
    a factor of the number of groups is seen to.
    """
    worst = 0.0
    for seed in range(6):
        row = np.random.default_rng(seed).normal(size=width)
        X = np.tile(row, (n_groups, 1))
        model = LinearModel(width, None, False, 100.0)
        if kind == "whitened":
            model = WhitenedModel.of(model, np.diag(np.geomspace(1.0, 8.0, width)))
        rows = Rows(X, np.ones(n_groups), groups=ranked(np.arange(n_groups)))
        with np.errstate(all="ignore"):
            sums = GroupSums(model, Logistic(), rows, 1.0, 0.1)
            found = sums.gradient(np.zeros(width))
            terms = next(sums.terms(np.zeros(width), None))
            terms.clip(sums.clip)
            (features, _), = terms.averages
            factor = Fraction(float(terms.factors[0]))
            one = (features.toarray() if sparse.issparse(features) else features)[0]
        exact = [n_groups * Fraction(float(entry)) * factor for entry in one]
        off = math.hypot(*(float(Fraction(float(a)) - b) for a, b in zip(found, exact,
                                                                         strict=True)))
        margin = 0.1 * (rounding_margin(sums.rounding_terms(n_groups)) - 1.0)
        assert off <= margin
        worst = max(worst, off / margin)
    assert worst > 1e-3 * width**-1.0 or kind == "whitened"


@pytest.mark.parametrize("n_rows", [1.0, 1e3, 1e8, 1e15])
def test_the_margin_is_that_of_all_orders(n_rows):
    """Of n terms each sum is off by n u / (1 - n u) of n bounds, two by twice that."""
    u = Fraction(1, 2**53)
    exact = 1 + Fraction(n_rows) ** 2 * u / (1 - Fraction(n_rows) * u)
    assert rounding_margin(n_rows) >= float(exact) * (1.0 - 2.0**-52)
    with pytest.raises(ValueError, match="n_rows"):
        rounding_margin(2.0**52)


def test_what_is_bounded_for_rows_alone_is_refused_of_groups():
    sums, theta = made("plain", "logistic", "f8", "dense", 1, "before")
    for call in (lambda: sums.curvature(theta, 1.0), lambda: sums.partial_curvature(theta, 1.0),
                 lambda: sums.hessian(theta), lambda: sums.curvature_bound(1.0)):
        with pytest.raises(RuntimeError, match="bounded for rows"):
            call()
    with pytest.raises(ValueError, match="no convex loss"):
        sums.require_monotone()


@pytest.mark.parametrize("size", [1e-165, 1e-200])
def test_averages_whose_squares_underflow_are_clipped(size):
    model, X = LinearModel(2, None, False, 1.0), np.array([[1.0, 0.0], [0.0, 1.0]])
    rows = Rows(X, np.ones(2), np.full(2, 1e-3 * size), groups=ranked(np.arange(2)))
    sums = GroupSums(model, Logistic(), rows, 1.0, 1e-6 * size)
    assert 0.0 < np.abs(sums.gradient(np.zeros(2))).max() <= 1e-6 * size
