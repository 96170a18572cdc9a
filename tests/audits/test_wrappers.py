"""What scikit-learn's wrappers publish of their members says nothing of the members' noise.

Some wrappers set an int `random_state` on every member and leave it there for all to see.
The attack: given all rows of a member's fit but one label, refit with the member's published
parameters on both candidates, and decide for the nearer. With noise that the int keys it is
always right and exact; with fresh noise it is a guess at epsilon .01. The count of right
guesses is held to a binomial bound at level 1e-9 each: with a hundred comparisons the
false-alarm rate of the file is below 1e-7.
"""

import functools
import inspect
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import model_selection
from sklearn.base import RegressorMixin, clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.utils import all_estimators

from dpsk import DPLogisticRegression, DPRidge, _fit
from dpsk._privacy.noise.seeds import public_seed
from dpsk.testing import NoiseSeed
from tests.registry import coefficients

#: Tries on members with a seed of the wrapper's, and on members with none.
EPSILON, TRIES, FEW = 0.01, 40, 6
#: What takes an estimator, or several; a frozen one is never fitted.
ROLES = {"estimator", "estimators", "final_estimator", "regressor", "classifier", "steps"}
#: An imputer, there where another test asked for it, fits columns and not labels.
NOT_FITTING = {"FrozenEstimator", "IterativeImputer"}
#: What sets a generator object on its members, which ours refuse.
REFUSED = {"RANSACRegressor"}
#: Arguments without which a wrapper or a function does nothing with ours.
NEEDS = {"min_samples": 20, "param_grid": {"alpha": [0.1]}, "n_estimators": 2,
         "param_distributions": {"alpha": [0.1]}, "param_name": "alpha", "param_range": [0.1],
         "n_permutations": 2, "train_sizes": [0.5, 1.0], "thresholds": 3}

pytestmark = pytest.mark.filterwarnings("ignore")


def _parameters(thing):
    return set(inspect.signature(thing).parameters)


WRAPPERS = {name: cls for name, cls in all_estimators()
            if _parameters(cls) & ROLES and name not in NOT_FITTING}
FUNCTIONS = {name: getattr(model_selection, name) for name in model_selection.__all__
             if inspect.isfunction(getattr(model_selection, name))
             and "estimator" in _parameters(getattr(model_selection, name))}
every_wrapper = pytest.mark.parametrize("name", sorted({*WRAPPERS, *FUNCTIONS} - REFUSED))
seeded_wrappers = pytest.mark.parametrize("name", sorted(
    name for name in {*WRAPPERS} - REFUSED if "random_state" in _parameters(WRAPPERS[name])))


def _member(name, **params):
    """Return an estimator of ours that the wrapper takes, quick to fit."""
    params = dict(delta=1e-3, precondition=False, solver="gd", max_iter=2, **params)
    if issubclass(WRAPPERS.get(name, object), RegressorMixin):
        return DPRidge(EPSILON, target_bounds=(0, 1), data_norm=4.0, **params)
    return DPLogisticRegression(EPSILON, **params)


def _run(name, member, seed=0, **params):
    """Fit the wrapper or call the function, on rows of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    if name in FUNCTIONS:
        needs = {key: NEEDS[key] for key in NEEDS if key in _parameters(FUNCTIONS[name])}
        return FUNCTIONS[name](member, X, y, **needs, **params)
    cls = WRAPPERS[name]
    several = {"estimators", "steps"}
    needs = {key: NEEDS[key] for key in NEEDS if key in _parameters(cls)}
    roles = {role: [("ours", member)] if role in several else member
             for role in ROLES & _parameters(cls)}
    wrapper = cls(**roles, **needs, **params)
    if not wrapper.__sklearn_tags__().target_tags.single_output:
        y = np.c_[y, rng.permutation(y)]
    return wrapper.fit(X, y)


@pytest.fixture
def fits(monkeypatch):
    """Return a list that every fit of a member adds itself to."""
    seen = []
    for cls in (DPLogisticRegression, DPRidge):
        def fit(self, X, y, *args, _fit=cls.fit, **kwargs):
            _fit(self, X, y, *args, **kwargs)
            seen.append((clone(self), self.privacy_, coefficients(self), X, y, args, kwargs))
            return self

        monkeypatch.setattr(cls, "fit", functools.wraps(cls.fit)(fit))
    return seen


@contextmanager
def _giving_up():
    """Let boosting give up on a member that is no better than chance: it has been fitted."""
    try:
        yield
    except ValueError as error:
        assert "worse than random" in str(error)


def _members(name, fits, member, tries):
    """Run the wrapper until it has fitted members `tries` times; return those fits."""
    for seed in range(tries + 40):
        with _giving_up():
            _run(name, member, seed)
        if len(fits) >= tries:
            break
    # Output codes may hold constant columns only, with chance 1/8 a run.
    assert len(fits) >= tries, f"{name} does not fit its members"
    return fits[:tries]


def _attack(members):
    """Return the number of right decisions, and of refits that share a coefficient."""
    right = shared = 0
    for member, _, released, X, y, args, kwargs in members:
        other = np.array(y)
        if isinstance(member, DPRidge):
            other[0] = 0 if y[0] > 0.5 else 1
        else:
            other[0] = next(label for label in member.fit(X, y).classes_ if label != y[0])
        refits = [coefficients(clone(member).fit(X, labels, *args, **kwargs))
                  for labels in (y, other)]
        far = [np.linalg.norm(released - refit) for refit in refits]
        right += far[0] < far[1]
        shared += any(np.any(released == refit) for refit in refits)
    return right, shared


@pytest.mark.covering(most=10)
@every_wrapper
def test_a_label_is_no_better_than_guessed_from_published_parameters(name, fits):
    members = _members(name, fits, _member(name), FEW)
    if any(member.random_state is not None for member, *_ in members):
        members = _members(name, fits, _member(name), TRIES)
    right, shared = _attack(members)
    print(f"{name}: {right} of {len(members)} right, {shared} exact")
    assert shared == 0
    assert right <= binom.isf(1e-9, len(members), 1 / (1 + np.exp(-EPSILON)))
    assert not any(certificate.reproducible for _, certificate, *_ in members)


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("name", ["AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier",
                                  "BaggingRegressor"])
def test_the_attack_succeeds_where_an_int_keys_the_noise(name, fits, monkeypatch):
    monkeypatch.setattr(_fit, "noise_seed", public_seed)
    assert _attack(_members(name, fits, _member(name), TRIES)) == (TRIES, TRIES)


@seeded_wrappers
def test_two_fits_with_one_int_share_no_coefficient(name, fits):
    for _ in range(2):
        with _giving_up():
            _run(name, _member(name, random_state=3), random_state=0)
        fits.append(None)
    end = fits.index(None)
    once, again = fits[:end], fits[end + 1:-1]
    assert once and again
    for one, other in zip(once, again, strict=False):
        assert not np.any(one[2] == other[2])


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_wrapper_that_sets_a_generator_is_refused(name, fits):
    with pytest.raises(ValueError, match=r"random_state of type RandomState.*NoiseSeed\(0\)"):
        _run(name, _member(name))
    assert not fits


@every_wrapper
def test_a_noise_seed_survives_unless_a_wrapper_sets_an_int(name, fits):
    """Where it survives the fit repeats and says so; where it does not the noise is fresh."""
    own = NoiseSeed(3)
    for member, certificate, released, X, y, args, kwargs in _members(
            name, fits, _member(name, random_state=own), 1):
        kept = member.random_state == own
        assert kept or isinstance(member.random_state, (int, np.integer))
        assert certificate.reproducible is kept
        assert ("not private" in str(certificate)) is kept
        again = coefficients(clone(member).fit(X, y, *args, **kwargs))
        assert np.array_equal(again, released) is kept
