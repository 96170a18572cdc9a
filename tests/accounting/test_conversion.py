"""Events of dp-accounting cost there what they cost here, one row replaced."""

import numpy as np
import pytest

from dpsk import accounting
from dpsk.accounting import (
    BestOf,
    Composed,
    Disclosure,
    Dominated,
    Gaussian,
    NotPrivate,
    Pure,
    Repeated,
    SampledGaussian,
    from_dp_accounting,
    to_dp_accounting,
)

dp = pytest.importorskip("dp_accounting", reason="dp-accounting is the second opinion")
dp_event = pytest.importorskip("dp_accounting.dp_event")
accountants = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant")

EVENTS = [
    Gaussian(0.3), Gaussian(2.0), SampledGaussian(0.05, 1.0), SampledGaussian(1.0, 4.0),
    Pure(0.4), Pure(3.0), Repeated(Gaussian(0.2), 10),
    Composed((Repeated(SampledGaussian(0.02, 1.2), 100), Gaussian(0.3), Pure(0.2)))]


@pytest.mark.covering(most=3)
@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_both_accountants_agree(event):
    theirs = accountants.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE)
    theirs.compose(to_dp_accounting(event))
    for epsilon in (0.25, 1.0, 2.0):
        one, other = theirs.get_delta(epsilon), accounting.delta(event, epsilon)
        # Beyond the largest loss both are nothing, but for what theirs rounds.
        assert abs(one - other) <= max(0.005 * one, 1e-9)


@pytest.mark.parametrize("event", [
    *EVENTS, BestOf(Gaussian(0.3), 10.0), BestOf(Pure(0.3), 3.0, 0.5), NotPrivate(), Composed(()),
    Gaussian(0.0)], ids=repr)
def test_events_come_back_as_they_were(event):
    back = from_dp_accounting(to_dp_accounting(event))
    for epsilon in (0.1, 1.0, 3.0):
        np.testing.assert_allclose(accounting.delta(back, epsilon),
                                   accounting.delta(event, epsilon), rtol=1e-6)


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_the_best_of_runs_costs_no_more_than_by_renyi_divergences(shape):
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    event = BestOf(Gaussian(0.3), 10.0, shape)
    theirs = rdp.RdpAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_ONE)
    # Under any relation it takes the sensitivity of a Gaussian for 1.
    theirs.compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(1 / 0.3), 10.0, shape))
    ours = accounting.epsilon(event, 1e-5)
    assert 0.5 * theirs.get_epsilon(1e-5) < ours < theirs.get_epsilon(1e-5)


@pytest.mark.parametrize("event", [Disclosure(1e-9), Dominated(0.1, 0.2)], ids=repr)
def test_what_they_do_not_have_is_named(event):
    with pytest.raises(ValueError, match=type(event).__name__):
        to_dp_accounting(Composed((Gaussian(1.0), event)))


@pytest.mark.parametrize("event", [
    dp.UnsupportedDpEvent(), dp.LaplaceDpEvent(1.0),
    dp_event.RepeatAndSelectDpEvent(dp.GaussianDpEvent(1.0), 3.0, 0.0),
    dp.PoissonSampledDpEvent(0.1, dp.LaplaceDpEvent(1.0))], ids=lambda e: type(e).__name__)
def test_what_is_not_known_here_is_named(event):
    with pytest.raises(ValueError, match="is not known here"):
        from_dp_accounting(dp.ComposedDpEvent([dp.GaussianDpEvent(1.0), event]))


@pytest.mark.parametrize("event", [
    dp.GaussianDpEvent(0.0), dp.PoissonSampledDpEvent(0.5, dp.GaussianDpEvent(0.0)),
    dp.RandomizedResponseDpEvent(0.0, 3)], ids=lambda e: type(e).__name__)
def test_what_has_no_noise_there_has_none_here(event):
    assert from_dp_accounting(event) == NotPrivate()
