"""Seeded fits give what they gave: a change of structure changes no number.

    python -m tests.golden.test_golden    # writes the values anew, where a change asks for it
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.golden.fits import CASES, fitted

_VALUES = Path(__file__).with_name("values.json")
#: Kernels of BLAS move networks in single precision by up to 3e-8 and all else by 1e-14;
#: minimizers of objective perturbation stop within 2e-6, anywhere that SciPy finds first.
_DIGITS, _RTOL = 8, 1e-5


def summary(values):
    """Return the length of a vector, its norm and a projection of it."""
    ramp = np.cos(np.arange(len(values)))
    return [len(values), *(float(f"{value:.{_DIGITS}g}")
                           for value in (np.linalg.norm(values), values @ ramp))]


@cache
def _expected():
    return json.loads(_VALUES.read_text())


def _marks(case):
    """Let `make test` run every pair once, but for two of thousands of steps, and variants."""
    if case[0] == "DPQuantileRegressor" and case[1] in ("svrg", "svrgpp"):
        return pytest.mark.thorough
    return () if case[-1] == "dense" else pytest.mark.covering


@pytest.mark.parametrize("case", [
    pytest.param(case, marks=_marks(case)) for case in CASES], ids="-".join)
def test_a_seeded_fit_gives_what_it_gave(case):
    expected = _expected()["|".join(case)]
    found = summary(fitted(*case))
    np.testing.assert_allclose(found, expected, rtol=_RTOL, atol=_RTOL * expected[1])


if __name__ == "__main__":
    _VALUES.write_text(json.dumps({"|".join(case): summary(fitted(*case)) for case in CASES},
                                  indent=0) + "\n")
