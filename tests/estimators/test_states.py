"""States, rewards and groups of transitions: bounded and told apart whatever they are."""

import numpy as np
import pytest

from tests.contracts.tapes import taped
from tests.estimators.test_values import every_feature, every_solver, make, walk


@every_solver
@pytest.mark.parametrize("features", ["fourier", "linear"])
def test_values_of_a_learnt_norm_are_those_of_the_same_norm_declared(solver, features):
    given = walk(3000)
    for name in ("states", "next_states"):
        given[name] = 50.0 * given[name]
    params = {"state_bounds": None, "epsilon": 8.0, "features": features, "n_components": 6}
    # The norm is the first answer.
    with taped() as learnt:
        one = make(solver, **params).fit(**given)
    with taped(learnt.answers[1:]):
        two = make(solver, data_norm=one.data_norm_, **params).fit(**given)
    # The noise that "lstd" reckons with is less where no norm is learnt.
    np.testing.assert_allclose(one.predict(given["states"]), two.predict(given["states"]),
                               rtol=0, atol=0.02)


@every_solver
@every_feature
@pytest.mark.parametrize("given", [{"data_norm": 1e-3}, {"state_bounds": (1.0, 1.0 + 2.0**-52)}])
def test_states_are_bounded_whatever_they_are(solver, features, given):
    rows = walk()
    ends = np.finfo(float).max
    rows["states"][0], rows["next_states"][1] = ends, [-ends, ends]
    if "state_bounds" in given:
        rows["states"][2:] = 1.0 + 2.0**-52 * np.round(rows["states"][2:])
    model = make(solver, **{"state_bounds": None, **given}, features=features,
                 hidden_layer_sizes=(4,)).fit(**rows)
    values = model.predict(rows["states"])
    assert np.isfinite(values).all()


def test_words_and_numbers_tell_groups_apart():
    labels = np.array(["a", 1, "1", 1.0, b"a", 2, True, "a"] * 50, object)
    # 1, 1.0 and True are the same.
    assert make().fit(**walk(), groups=labels).n_groups_ == 5
