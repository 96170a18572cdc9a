"""Nothing on a fitted estimator depends on the rows but what its certificate lists.

With the noise forced to zero every released attribute is exact, so anything else that
followed the rows would differ between two neighboring data sets.
"""

import math
import pickle
import struct

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from dpsk import DPAUCMaximizer
from dpsk.testing import NoiseSeed
from tests.estimators.pairs import build
from tests.registry import (
    ESTIMATORS,
    documented_solvers,
    every_fit_with_groups,
    pair_marks,
    takes_several_classes,
)

# Sizes that no public number of the fits below equals.
N, D = 37, 3
SECRET = math.pi / 7.0

#: What may occur inside a fitted estimator: plain public values, and the certificate.
PLAIN = (bool, int, float, str, type(None), np.bool_, np.integer, np.floating, np.str_)


def rows(cls, classes=2, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    if is_classifier(cls()):
        y = np.resize(["no", "yes"] if classes == 2 else ["a", "b", "c"], N)
    else:
        y = rng.uniform(-2, 2, size=N)
    return X.astype(dtype), y


def neighbors(X, y):
    """Yield data sets that differ from (X, y) in one row, by name."""
    for name, row in (("other", [0.3, -0.2, 0.1]), ("zero", [0.0] * D), ("huge", [1e30] * D),
                      ("tiny", [1e-30] * D)):
        changed = X.copy()
        changed[5] = row
        yield name, changed, y
    turned = y.copy()
    turned[5] = y[6]
    yield "target", X, turned


def make(cls, solver, **params):
    # Newton's method lists every release, which are to be fewer than the rows.
    return build(cls, solver, delta=1e-3, random_state=NoiseSeed(3), batch_size=9,
                 max_iter=10 if solver == "newton" else 20, **params)


def class_counts(cls, solver):
    """Return the numbers of classes to fit, 0 for a regression."""
    if not is_classifier(cls()):
        return (0,)
    return (2, 3) if takes_several_classes(cls, solver) else (2,)


PAIRS = [(cls, solver) for _, cls in sorted(ESTIMATORS.items())
         for solver in sorted(documented_solvers(cls))]
FITS = [pytest.param(cls, solver, classes, dtype,
                     id=f"{cls.__name__}-{solver}-{classes}-{dtype}",
                     marks=pair_marks(cls, solver))
        for cls, solver in PAIRS for classes in class_counts(cls, solver)
        for dtype in {0: ("float64", "float32"), 2: ("float32",), 3: ("float64",)}[classes]]
every_pair = pytest.mark.parametrize(("cls", "solver"), [
    pytest.param(cls, solver, id=f"{cls.__name__}-{solver}", marks=pair_marks(cls, solver))
    for cls, solver in PAIRS])
every_fit = pytest.mark.parametrize(("cls", "solver", "classes", "dtype"), FITS)


def contents(value, path=""):
    """Yield (path, leaf) for everything reachable from `value`, in a fixed order."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield path + ".array", (value.dtype.str, value.shape, value.tobytes())
    elif isinstance(value, dict):
        yield path + ".keys", tuple(map(repr, value))
        for key, item in value.items():
            yield from contents(item, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        yield path + ".length", len(value)
        for i, item in enumerate(value):
            yield from contents(item, f"{path}[{i}]")
    elif isinstance(value, PLAIN):
        yield path, (type(value).__name__, repr(value))
    elif type(value).__module__.startswith("dpsk.") and hasattr(value, "__dict__"):
        yield path + ".type", type(value).__name__
        yield from contents(vars(value), path)
    else:
        raise AssertionError(f"{path} holds a {type(value).__name__}")


def shapes(value):
    """Return the shape of an array, or those of the arrays in a list."""
    return [part.shape for part in value] if isinstance(value, list) else np.shape(value)


def with_certificate_read(model):
    """Read every face of the certificate first, as reading may cache."""
    faces = [model.privacy_.to_json(), str(model.privacy_), model.privacy_._repr_html_()]
    return model, faces


@pytest.mark.covering
@every_fit
def test_only_released_attributes_depend_on_the_rows(cls, solver, classes, dtype, noise_times):
    noise_times(0.0)
    X, y = rows(cls, classes, dtype)
    model, faces = with_certificate_read(make(cls, solver).fit(X, y))
    released = set(model.privacy_.released)
    assert released <= set(vars(model))
    for name, X_changed, y_changed in neighbors(X, y):
        other, other_faces = with_certificate_read(clone(model).fit(X_changed, y_changed))
        assert other_faces == faces, name
        assert list(vars(other)) == list(vars(model)), name
        for attribute, value in vars(model).items():
            here, there = (list(contents(v)) for v in (value, vars(other)[attribute]))
            if attribute in released:
                # Of a released attribute the type and the shape are public.
                assert shapes(value) == shapes(vars(other)[attribute])
                assert type(value) is type(vars(other)[attribute])
            else:
                assert here == there, (name, attribute)


@every_pair
def test_released_attributes_do_depend_on_the_rows(cls, solver, noise_times):
    """The comparison above would notice: without noise the rows do show."""
    noise_times(0.0)
    X, y = rows(cls)
    model = make(cls, solver).fit(X, y)
    changed = X.copy()
    changed[:9] = [0.4, -0.3, 0.2]
    targets = np.roll(y, 1)
    # Another number of each label, too.
    targets[:9] = y[0]
    other = clone(model).fit(changed, targets)
    # Of so few rows both scales may be bounds.
    for attribute in set(model.privacy_.released) - {"preconditioner_scales_"}:
        here, there = (list(contents(getattr(one, attribute))) for one in (model, other))
        assert here != there


@every_fit
def test_no_rows_indices_or_generators_are_kept(cls, solver, classes, dtype):
    X, y = rows(cls, classes, dtype)
    model = make(cls, solver).fit(X, y)
    # `contents` refuses generators, streams, oracles, bytes and anything else unknown.
    for path, leaf in contents(vars(model)):
        if path.endswith(".array"):
            assert N not in leaf[1], path
            assert math.prod(leaf[1]) < N, path
        if path.endswith(".length"):
            assert leaf < N, path


@pytest.mark.covering
@pytest.mark.parametrize("random_state", [None, 3, NoiseSeed(3)])
@every_fit
def test_a_planted_value_is_not_in_the_pickle(cls, solver, classes, dtype, random_state):
    X, y = rows(cls, classes, dtype)
    X[5] = SECRET
    if not is_classifier(cls()):
        y[5] = SECRET
    model = make(cls, solver).set_params(random_state=random_state)
    data = pickle.dumps(model.fit(X, y)) + model.privacy_.to_json().encode()
    secrets = [struct.pack(order + form, SECRET) for order in "<>" for form in "df"]
    secrets += [repr(SECRET)[:8].encode(), repr(float(np.float32(SECRET)))[:8].encode()]
    assert not [secret for secret in secrets if secret in data]
    assert secrets[0] in pickle.dumps(np.full(3, SECRET))


@pytest.mark.covering(most=12)
@every_pair
def test_nothing_is_printed_or_warned_that_depends_on_the_rows(cls, solver, capsys):
    X, y = rows(cls)
    outputs = set()
    for _, X_changed, y_changed in neighbors(X, y):
        make(cls, solver).set_params(verbose=1).fit(X_changed, y_changed)
        captured = capsys.readouterr()
        outputs.add(captured.out + captured.err)
    assert len(outputs) == 1


@every_fit_with_groups
@pytest.mark.parametrize("labels", [None, ["north", "south", "west"]])
def test_groups_show_in_released_attributes_only(cls, solver, labels, noise_times):
    noise_times(0.0)
    X, y = rows(cls)
    groups = np.resize(["north", "south", "west", "north"], N)
    model = make(cls, solver, group_labels=labels, precondition=False)
    model.fit(X, y, groups=groups)
    assert {"group_weights_", "group_shares_"} <= set(model.privacy_.released)
    changed = groups.copy()
    changed[5] = "west"
    assert changed[5] != groups[5]
    other = clone(model).fit(X, y, groups=changed)
    assert other.privacy_ == model.privacy_
    for attribute, value in vars(model).items():
        here, there = (list(contents(v)) for v in (value, vars(other)[attribute]))
        assert (here != there) == (attribute in model.privacy_.released), attribute
    for path, leaf in contents(vars(model)):
        assert not path.endswith(".array") or N not in leaf[1], path


@every_pair
def test_weights_show_in_released_attributes_only(cls, solver, noise_times):
    noise_times(0.0)
    X, y = rows(cls)
    weights = np.random.default_rng(1).random(N)
    weights[7] = SECRET
    model = make(cls, solver).fit(X, y, sample_weight=weights)
    assert struct.pack("<d", SECRET) not in pickle.dumps(model)
    weights[7] = 3.0
    other = clone(model).fit(X, y, sample_weight=weights)
    for attribute in set(vars(model)) - set(model.privacy_.released):
        here, there = (list(contents(vars(one)[attribute])) for one in (model, other))
        assert here == there, attribute


#: Facts that an estimator may be told, in the place of a release.
TOLD = {"nothing": {}, "data_norm": {"data_norm": 2.0}, "auc": {"loss": "auc"},
        "positive_ratio": {"loss": "auc", "positive_ratio": 0.5},
        "target_bounds": {"target_bounds": (-3.0, 3.0)}, "clip_norm": {"clip_norm": 0.5},
        "precondition": {"precondition": False}, "temperature": {"temperature": False},
        "center": {"center": False}, "fit_intercept": {"fit_intercept": False}}


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("cls", [cls for _, cls in sorted(ESTIMATORS.items())])
def test_what_follows_the_noise_is_listed_as_released_whatever_is_told(cls, told):
    """Releases that a parameter makes unnecessary take only what they release off the list."""
    if not TOLD[told].keys() <= cls().get_params().keys() or (
            "loss" in TOLD[told] and cls is not DPAUCMaximizer):
        pytest.skip("no such parameter")
    X, y = rows(cls)
    params = {"delta": 1e-3, **TOLD[told]}
    try:
        one, other = (cls(random_state=NoiseSeed(seed), **params).fit(X, y) for seed in (3, 4))
    except ValueError:
        pytest.skip("refused beside the other defaults")
    for attribute, value in vars(one).items():
        here, there = (list(contents(v)) for v in (value, vars(other)[attribute]))
        drawn = attribute != "random_state" and here != there
        assert not drawn or attribute in one.privacy_.released, attribute
