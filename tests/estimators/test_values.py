"""Values of states: limits, refusals, certificates, and what a fit shows."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_validate

from dpsk import DPTDRegressor
from dpsk.accounting import NotPrivate
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import fixed_streams, taped
from tests.events import tally
from tests.instruments import forbid_noise

GAMMA = 0.9
BOX = [[-1.0, 1.0], [-1.0, 1.0]]
SHORT = {"lstd": {}, "sgda": {"max_iter": 5, "batch_size": 20},
         "privatediff": {"max_iter": 4, "batch_size": 20},
         "td": {"max_iter": 5, "batch_size": 20}}
every_solver = pytest.mark.parametrize("solver", sorted(SHORT))
every_feature = pytest.mark.parametrize("features", ["fourier", "linear", "network"])


def walk(n=400, seed=0, kind="ordinary"):
    """Return transitions of a noisy walk that ends near a border."""
    rng = np.random.default_rng(seed)
    states = rng.uniform(-1, 1, (n, 2))
    later = np.clip(0.9 * states + 0.3 * rng.normal(size=(n, 2)), -1, 1)
    given = {"states": states, "rewards": np.cos(3 * states[:, 0]), "next_states": later,
             "terminal": np.abs(later[:, 0]) > 0.9}
    if kind == "huge":
        given["states"], given["rewards"] = 1e200 * states, 1e300 * given["rewards"]
    elif kind == "zeros":
        given = {name: np.zeros_like(part) for name, part in given.items()}
    return given


def make(solver="lstd", **params):
    given = {"epsilon": 2.0, "delta": 1e-4, "gamma": GAMMA, "reward_bounds": (-1, 1),
             "state_bounds": BOX, "solver": solver, "random_state": 0,
             **SHORT.get(solver, {}), **params}
    return DPTDRegressor(**given)


def fixed_point(model, given):
    """Return the solution of LSTD by numpy, on the features of a fitted model."""
    names = {"states": "now", "next_states": "later"}
    found = {}
    for name, short in names.items():
        scaled = np.asarray(given[name]) / np.sqrt(2)
        angles = scaled @ model.frequencies_ if model.frequencies_ is not None else None
        body = scaled if angles is None else np.hstack(
            [np.cos(angles), np.sin(angles)]) / np.sqrt(angles.shape[1])
        # The weights of body and constant are those of dpsk._models.states.
        found[short] = np.hstack([np.sqrt(1 - 0.35**2) * (1 - 2.0**-24) * body,
                                  np.full((len(body), 1), 0.35)])
    after = found["later"] * ~given["terminal"][:, None]
    matrix = found["now"].T @ (found["now"] - GAMMA * after)
    return found["now"], np.linalg.solve(matrix, found["now"].T @ given["rewards"])


@pytest.mark.parametrize("features, n_components", [("linear", None), ("fourier", 12)])
def test_without_noise_values_are_those_of_lstd(features, n_components):
    given = walk()
    model = make(epsilon=np.inf, features=features, n_components=n_components)
    with pytest.warns(PrivacyWarning, match="no noise"):
        model.fit(**given)
    now, theta = fixed_point(model, given)
    np.testing.assert_allclose(now @ model.coef_, now @ theta, rtol=0, atol=1e-6)
    assert model.privacy_.event == NotPrivate() or not model.privacy_.is_private


def test_as_epsilon_grows_values_tend_to_those_of_lstd():
    given = walk(4000)
    model = make(epsilon=1e5, features="linear").fit(**given)
    now, theta = fixed_point(model, given)
    # Noise moves them by 7e-5, give or take 3e-5.
    assert 0.0 < np.abs(now @ (model.coef_ - theta)).max() < 1e-3


def test_rewards_that_are_constant_have_their_closed_form():
    given = walk(2000)
    given["rewards"], given["terminal"] = np.ones(2000), None
    values = make(epsilon=1e4, features="linear").fit(**given).predict(given["states"])
    np.testing.assert_allclose(values, 1.0 / (1.0 - GAMMA), atol=0.1)


def test_gamma_zero_is_regression_on_rewards():
    given = walk(3000)
    values = make(epsilon=1e4, gamma=0.0, n_components=20).fit(**given).predict(given["states"])
    assert np.sqrt(np.mean((values - given["rewards"])**2)) < 0.1


def test_predictions_are_within_what_rewards_can_add_up_to():
    given = walk()
    for bounds, least, most in (((0, 1), 0.0, 10.0), ((-2, -1), -20.0, 0.0), ((-1, 1), -10, 10)):
        values = make(epsilon=1e-2, reward_bounds=bounds, n_components=40).fit(
            **given).predict(given["states"])
        assert values.min() >= least - 1e-9 and values.max() <= most + 1e-9


@pytest.mark.parametrize("bounds", [(0, 1), (-5, -3)])
def test_rewards_and_states_are_clipped_to_their_bounds(bounds):
    given = walk()
    outside = dict(given, rewards=given["rewards"] * 10)
    inside = dict(given, rewards=np.clip(outside["rewards"], *bounds))
    seed = NoiseSeed(3)
    one, two = (make(reward_bounds=bounds, random_state=seed).fit(**part)
                for part in (inside, inside))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    with taped() as first:
        make(reward_bounds=bounds).fit(**outside)
    with taped() as second:
        make(reward_bounds=bounds).fit(**inside)
    for a, b in zip(first.totals[0], second.totals[0], strict=True):
        np.testing.assert_array_equal(a, b)


BAD = [
    ({"gamma": 1.0}, {}, "gamma=1.0: must be a number in"),
    ({"gamma": -0.1}, {}, "gamma=-0.1: must be"),
    ({"gamma": np.nan}, {}, "gamma=nan: must be"),
    ({"reward_bounds": None}, {}, "reward_bounds=None: must be two finite public numbers"),
    ({"reward_bounds": (1, 1)}, {}, "reward_bounds=.*low < high"),
    ({"reward_bounds": (0, np.inf)}, {}, "reward_bounds=.*finite"),
    ({"state_bounds": [[-1, 1], [-np.inf, np.inf]]}, {}, "state_bounds: every column needs"),
    ({"state_bounds": [[-1, 1]] * 3}, {}, r"state_bounds of shape \(3, 2\): .* 2 columns"),
    ({"state_bounds": [[1, -1], [0, 1]]}, {}, "state_bounds: low must be below high"),
    ({"state_bounds": "wide"}, {}, "state_bounds of shape"),
    ({"features": "tiles"}, {}, "features='tiles': must be one of"),
    ({"hidden_layer_sizes": (5, 5)}, {}, "hidden_layer_sizes=.*one hidden layer"),
    ({"n_components": 0}, {}, "n_components=0: must be"),
    ({"bandwidth": 0.0}, {}, "bandwidth=0.0: must be"),
    ({"solver": "gd"}, {}, "solver='gd': must be one of"),
    ({"delta": 0.0}, {}, "delta=0.0: .*needs delta > 0"),
    ({"max_iter": 5}, {}, "max_iter=5: solver='lstd' has no use"),
    ({"solver_options": {"group_clip": -1.0}}, {"groups": np.arange(400) // 4}, "group_clip"),
    ({"state_bounds": None, "data_norm": None}, {"groups": np.arange(400) // 4},
     "data_norm=None: with groups"),
    ({}, {"next_states": None}, "next_states=None: .*pass next_states="),
    ({}, {"next_states": np.zeros((399, 2))}, "next_states of length 399: .* 400"),
    ({}, {"next_states": np.zeros((400, 3))}, "3 features"),
    ({}, {"next_states": np.full((400, 2), np.nan)}, "NaN"),
    ({}, {"states": np.full((400, 2), np.inf)}, "infinity"),
    ({}, {"rewards": np.zeros(399)}, "inconsistent numbers of samples"),
    ({}, {"rewards": np.full(400, np.nan)}, "NaN"),
    ({}, {"terminal": np.zeros(399)}, r"terminal of shape \(399,\)"),
    ({}, {"terminal": np.full(400, 0.5)}, "terminal: must be True"),
    ({}, {"terminal": ["no"] * 400}, "terminal: must be True"),
    ({}, {"groups": np.zeros(400)}, "groups: one group alone"),
    ({}, {"groups": np.zeros(3)}, r"groups of shape \(3,\)"),
    ({}, {"groups": np.r_[np.nan, np.ones(399)]}, "groups contains NaN"),
    # These differ from themselves, so that one group would count as several.
    ({}, {"groups": np.array([1.0, np.nan, 1.0, 2.0] * 100, object)}, "groups contains NaN"),
    ({}, {"groups": np.array([frozenset({i % 3}) for i in range(400)])}, "no number and no word"),
    ({}, {"groups": np.array(["a", None] * 200, object)}, "no number and no word"),
    ({}, {"rewards": np.array(["nan"] + ["1"] * 399)}, "rewards contains NaN"),
    ({}, {"rewards": np.array(["nan"] + [1.0] * 399, object)}, "rewards contains NaN"),
    ({}, {"rewards": np.array(["inf"] + ["1"] * 399)}, "rewards contains NaN")]


@pytest.mark.parametrize("params, given, message", BAD)
def test_bad_input_is_refused_with_its_remedy_before_anything_is_drawn(
        params, given, message, monkeypatch):
    # The features are drawn before, from a public seed.
    forbid_noise(monkeypatch, keyed=False)
    with pytest.raises(ValueError, match=message):
        make(**params).fit(**{**walk(), **given})


def test_no_message_holds_a_data_value():
    given = walk()
    given["terminal"] = np.full(400, 0.123456)
    with pytest.raises(ValueError) as error:
        make().fit(**given)
    assert "123456" not in str(error.value)


@every_solver
@every_feature
def test_the_ledger_holds_what_was_planned_and_the_fit_is_described(solver, features):
    with taped() as tape:
        model = make(solver, features=features, hidden_layer_sizes=(6,)).fit(**walk())
    certificate = model.privacy_
    assert certificate.solver == solver and certificate.delta_at(2.0) <= 1e-4
    seen = tally(certificate.event)
    for events in tape.events:
        for event in events:
            seen[event] -= 1
    assert not any(seen.values())
    names = [bound.name for bound in certificate.enforced]
    assert {"reward_bounds", "state_bounds"} <= set(names)
    assert (model.coef_ is None) == (features == "network")
    assert model.predict(walk()["states"]).shape == (400,)
    assert type(certificate).from_dict(certificate.to_dict()) == certificate


@pytest.mark.covering
@every_solver
@pytest.mark.parametrize("features", ["fourier", "network"])
@pytest.mark.parametrize("grouped", [False, True])
def test_all_that_a_fit_shows_follows_from_its_releases(solver, features, grouped, capsys):
    def shown(data, answers=None):
        model = make(solver, features=features, hidden_layer_sizes=(4,), n_components=10,
                     verbose=1, delta=1e-2)
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            model.fit(**data)
        faces = {name: pickle.dumps(value) for name, value in vars(model).items()}
        faces |= {"printed": capsys.readouterr().out, "public": tape.public,
                  "events": tape.events, "warned": [str(one.message) for one in warned]}
        return faces, tape

    def data(kind, n):
        given = walk(n, kind=kind)
        if grouped:
            # As many groups, of other lengths.
            given["groups"] = np.minimum(np.arange(n), 19)
        return given

    faces, tape = shown(data("ordinary", 60))
    for kind in ("huge", "zeros", "other"):
        other = data(kind, 45 if grouped else 60)
        if kind == "other":
            other = {**other, **walk(len(other["states"]), seed=7)}
        again, _ = shown(other, tape.answers)
        assert [name for name in faces if faces[name] != again[name]] == [], kind


@every_solver
def test_noise_is_fresh_and_repeats_under_a_seed_only(solver):
    given = walk()
    one, two = (make(solver).fit(**given).coef_ for _ in range(2))
    assert not np.array_equal(one, two)
    one, two = (make(solver, random_state=NoiseSeed(1)).fit(**given).coef_ for _ in range(2))
    np.testing.assert_array_equal(one, two)
    other = make(solver, random_state=NoiseSeed(1), verbose=0).fit(
        **dict(given, rewards=given["rewards"] + 1e-3)).coef_
    assert np.abs(other - one).max() > 1e-6


def test_features_are_public_and_an_int_picks_others():
    given = walk()
    first, same, other = (make(random_state=seed, n_components=6).fit(**given).frequencies_
                          for seed in (None, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert np.abs(first - other).min() > 0


def test_groups_are_what_is_protected():
    given = walk(1000)
    model = make(delta=None).fit(**given, groups=np.repeat(np.arange(50), 20))
    certificate = model.privacy_
    assert model.n_groups_ == 50 and certificate.delta == 1.0 / 50**2
    assert any("a whole group" in fact for fact in certificate.public)
    assert "differ in one group" in certificate.relation
    assert type(certificate).from_dict(certificate.to_dict()) == certificate
    (bound,) = [bound for bound in certificate.enforced if bound.name == "group_clip"]
    assert bound.value == pytest.approx(1.0 / (1.0 - GAMMA))
    plain = make().fit(**given)
    assert plain.n_groups_ is None and "differ in one row" in plain.privacy_.relation


def test_a_norm_is_learnt_where_transitions_suffice():
    given = walk(3000)
    for name in ("states", "next_states"):
        given[name] = 50.0 * given[name]
    model = make(state_bounds=None, epsilon=4.0).fit(**given)
    assert 30.0 < model.data_norm_ < 200.0
    assert "data_norm_" in model.privacy_.released
    with pytest.warns(PrivacyWarning, match="data_norm"):
        few = make(state_bounds=None, epsilon=0.1).fit(**walk(40))
    assert few.data_norm_ == 1.0
    declared = make(state_bounds=None, data_norm=70.0).fit(**given)
    assert declared.data_norm_ == 70.0 and np.isfinite(declared.predict(given["states"])).all()


@pytest.mark.thorough
def test_a_distilled_network_says_what_the_features_say():
    given = walk(4000)
    with fixed_streams():
        network = make(features="network", epsilon=8.0).fit(**given)
    with fixed_streams():
        features = make(epsilon=8.0).fit(**given)
    values = features.predict(given["states"])
    gap = network.predict(given["states"]) - values
    assert np.sqrt(np.mean(gap**2)) < 0.2 * values.std()
    assert [part.shape for part in network.coefs_] == [(2, 50), (50, 1)]


@every_feature
def test_fitted_models_can_be_stored_and_cloned(features):
    given = walk()
    model = make(features=features, hidden_layer_sizes=(4,)).fit(**given)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(given["states"]), model.predict(given["states"]))
    assert not hasattr(clone(model), "privacy_")
    rows = [value for value in vars(model).values() if getattr(value, "shape", (0,))[:1] == (400,)]
    assert not rows


def test_a_fitted_model_does_not_follow_later_parameters():
    given = walk()
    for features in ("fourier", "network"):
        model = make(features=features, hidden_layer_sizes=(4,)).fit(**given)
        before = model.predict(given["states"])
        model.set_params(state_bounds=(0, 9), gamma=0.1, hidden_layer_sizes=(9,),
                         reward_bounds=(5, 6), data_norm=3.0)
        np.testing.assert_array_equal(model.predict(given["states"]), before)


def test_documented_attributes_are_those_of_a_fit():
    text = inspect.getdoc(DPTDRegressor).split("Attributes\n")[1].split("Raises\n")[0]
    named = {name.strip() for line in text.splitlines() if line[:1].isalpha() and " :" in line
             for name in line.split(" :")[0].split(",")}
    fitted = {name for name in vars(make().fit(**walk())) if name.endswith("_")}
    assert fitted | {"feature_names_in_"} == named


def test_next_states_travel_by_metadata_routing():
    given = walk(600)
    states, rewards = given.pop("states"), given.pop("rewards")
    with sklearn.config_context(enable_metadata_routing=True):
        model = make().set_fit_request(next_states=True, terminal=True, groups=True)
        found = cross_validate(model, states, rewards, cv=KFold(3), params=given,
                               return_estimator=True, error_score="raise")
    assert len(found["estimator"]) == 3
    assert all(each.n_features_in_ == 2 for each in found["estimator"])


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("name, params, groups", [
    ("td", {"gamma": 0.9}, None), ("lstd", {"gamma": 0.7}, None),
    ("lstd", {"gamma": 0.9}, np.arange(400) // 4),
    ("lstd", {"gamma": 0.9, "epsilon": np.inf}, None),
    ("lstd", {"gamma": 0.9, "features": "network"}, None),
    ("td", {"gamma": 0.9, "features": "linear"}, None)])
def test_the_default_takes_steps_where_horizons_are_long(name, params, groups):
    model = make("auto", **params).fit(**walk(), groups=groups)
    assert model.privacy_.solver == name
    assert model.get_params()["solver"] == "auto" == DPTDRegressor().solver
