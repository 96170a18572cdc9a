"""Former names of parameters: taken with a warning, and seen nowhere else."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import deprecated

from dpsk import DPRidge
from dpsk._deprecation import renamed_parameters


@renamed_parameters("0.2", "0.4", bound="data_norm", strength="alpha")
class Renamed(DPRidge):
    """A ridge whose `data_norm` was called `bound`, and whose `alpha` was `strength`."""


@renamed_parameters("0.2", "0.4", size="length")
def _doubled(start, length=1):
    """Return twice a length."""
    return start + 2 * length


former = pytest.warns(FutureWarning, match="'bound' is called 'data_norm' since version 0.2; "
                                           "the former name goes in 0.4")


def test_a_former_name_is_taken_and_the_line_of_the_caller_is_shown():
    with pytest.warns(FutureWarning, match="_doubled: .*'size'.*'length'") as caught:
        assert _doubled(1, size=3) == 7
    assert caught[0].filename == __file__


def test_new_names_and_positions_do_not_warn():
    assert _doubled(1, 3) == _doubled(1, length=3) == 7
    assert Renamed(2.0, data_norm=3.0).set_params(data_norm=4.0).data_norm == 4.0


def test_both_names_are_too_many():
    with pytest.raises(TypeError, match="'size' is the former name of 'length'"):
        _doubled(1, size=3, length=3)
    with pytest.raises(TypeError, match="'bound' is the former name"):
        Renamed(bound=1.0, data_norm=1.0)


def test_a_new_name_must_be_there():
    with pytest.raises(TypeError, match=r"no parameters \['width'\]"):
        renamed_parameters("0.2", "0.4", size="width")(_doubled)


def test_an_estimator_shows_new_names_only():
    with former:
        model = Renamed(epsilon=3.0, bound=5.0)
    assert model.get_params() == DPRidge(epsilon=3.0, data_norm=5.0).get_params()
    assert inspect.signature(Renamed) == inspect.signature(DPRidge)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(model).data_norm == 5.0


def test_searches_and_pipelines_may_set_former_names():
    with former:
        assert Renamed().set_params(bound=7.0).data_norm == 7.0
    pipeline = make_pipeline(FunctionTransformer(), Renamed(epsilon=np.inf))
    with former:
        pipeline.set_params(renamed__bound=2.0)
    X, y = np.eye(8), np.linspace(-1, 1, 8)
    with pytest.warns(FutureWarning, match="'strength'"):
        search = GridSearchCV(Renamed(epsilon=np.inf, data_norm=1.0, target_bounds=(-1, 1)),
                              {"strength": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.alpha == search.best_params_["strength"]


def test_the_class_it_derives_from_is_left_alone():
    with pytest.raises(TypeError, match="bound"):
        DPRidge(bound=1.0)


def test_what_goes_altogether_is_marked_by_scikit_learn():
    @deprecated("it goes in version 0.4; use DPRidge instead.")
    class Gone(DPRidge):
        """A model that goes."""

    with pytest.warns(FutureWarning, match="Gone is deprecated; it goes in version 0.4"):
        model = Gone(epsilon=2.0)
    assert model.get_params() == DPRidge(epsilon=2.0).get_params()
