"""Functions that keep the errors of numbers to themselves."""

import numpy as np
import pytest
from scipy import special

from dpsk._data.errors import quietly
from tests.data.test_quiet import _loudly


def test_a_quiet_function_is_itself_in_every_other_way():
    @quietly
    def divide(a, b=0.0):
        """Return a quotient."""
        return np.float64(a) / b, special.gammaln(np.float64(b))

    assert divide.__doc__ == "Return a quotient." and divide.__name__ == "divide"
    assert np.isinf(_loudly(divide, 1.0)).all()
    with pytest.raises((FloatingPointError, special.SpecialFunctionError)):
        _loudly(divide.__wrapped__, 1.0)
