"""No sparse matrix, whatever its arrays hold, takes compiled code outside of them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from dpsk._data.structure import check_structure

_ROOT = Path(__file__).parents[2]


@pytest.mark.thorough
@pytest.mark.parametrize("part, count", [
    ("validation", 1500), pytest.param("validation", 10_000, marks=pytest.mark.audit),
    ("entries", 0)])
def test_broken_matrices_are_refused_and_crash_nothing(part, count):
    # A process of its own, as what is tested would end this one.
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-m", "tests.contracts.malformed",
                           part, str(count)], cwd=_ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dia", "dok"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (4, 6), (5, 1)])
def test_whole_matrices_pass_and_stay_as_they_are(form, kind, shape):
    X = np.arange(float(np.prod(shape))).reshape(shape)
    rows = getattr(sp, f"{form}_{kind}")(X)
    check_structure("X", rows)
    np.testing.assert_array_equal(rows.toarray(), X)


def test_blocks_and_entries_left_over_at_the_end_pass():
    blocks = sp.bsr_array(np.arange(24.0).reshape(4, 6), blocksize=(2, 3))
    check_structure("X", blocks)
    rows = sp.csr_array(np.eye(3))
    rows.data, rows.indices = np.append(rows.data, 7.0), np.append(rows.indices, np.int32(-5))
    check_structure("X", rows)


@pytest.mark.parametrize("break_it, form", [
    (lambda X: X.rows[0].append(1), "lil"),
    (lambda X: X.rows.__setitem__(0, (0, 1)), "lil"),
    (lambda X: X.data[0].__setitem__(0, "sesame"), "lil"),
    (lambda X: setattr(X, "offsets", np.zeros_like(X.offsets)), "dia"),
    (lambda X: setattr(X, "data", X.data.astype(object)), "csr"),
    (lambda X: setattr(X, "indices", X.indices.astype(np.uint64)), "csr"),
    (lambda X: setattr(X, "indptr", X.indptr[:-1]), "csc"),
    (lambda X: setattr(X, "data", X.data[:, :1]), "bsr"),
    (lambda X: setattr(X, "_shape", (4, -4)), "csr")])
def test_each_kind_of_damage_is_refused_in_words_that_name_the_argument(break_it, form):
    X = getattr(sp, f"{form}_array")(np.arange(1.0, 17).reshape(4, 4))
    if form == "bsr":
        X = X.tobsr((2, 2))
    break_it(X)
    with pytest.raises(ValueError, match=r"public_X could not be read: .*build it") as caught:
        check_structure("public_X", X)
    assert "sesame" not in str(caught.value) and caught.value.__context__ is None


def test_one_dimension_is_refused():
    with pytest.raises(ValueError, match=r"X: a sparse array of 1 dimension\(s\)"):
        check_structure("X", sp.coo_array(np.ones(3)))
