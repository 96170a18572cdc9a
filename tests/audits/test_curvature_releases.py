"""Noisy Hessians as they leave their oracle: under the claim, and over it at weak noise.

Of two neighboring tables a release has the mean of its noise-free answer, so that its log
likelihood ratio is normal with known mean. The replaced row is at a right angle to its
replacement, and both have the largest curvature that is let through.
"""

import numpy as np
import pytest
from audit_settings import EPSILON
from normal_releases import MU, bounds
from test_fits import DELTA

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel, WhitenedModel
from dpsk._objective.losses import Logistic
from dpsk._objective.penalties import ElasticNet
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._problem import Problem
from dpsk._queries import Curvatures

N, CLIP, CURVATURE = 9, 0.3, 0.1
PLAIN = LinearModel(3, None, False, 1.0)
MODELS = {"plain": PLAIN, "whitened": WhitenedModel.of(PLAIN, np.diag([1.0, 1.0, 0.5]))}


def hessian(name, sign):
    """Return the noisy Hessian of a table, its first row turned by a right angle or not."""
    X = np.tile([0.0, 0.0, 1.0], (N, 1))
    X[0] = [1.0, 0.0, 0.0] if sign > 0 else [0.0, 1.0, 0.0]
    problem = Problem(N, MODELS[name], Logistic(), ElasticNet(0.0, 0.0), EPSILON, DELTA)
    declared = Curvatures((1.0,), CLIP, CURVATURE)
    oracle = declared.run((problem, Rows(X, np.zeros(N))),
                          Session(EntropyStream(), Ledger(declared(1.0 / MU))), 1.0 / MU)
    return oracle.hessian(np.zeros(3))[np.triu_indices(3)]


# The Hessian of rows that are mapped has the same noise.
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["plain", pytest.param("whitened", marks=pytest.mark.audit)])
def test_a_hessian_stays_under_its_claim_and_a_third_of_the_noise_exceeds_it(
        name, means, noise_times):
    """False-alarm rate at most 1e-7 a model."""
    spread = np.sqrt(2.0) * CURVATURE / MU / N
    std = spread * np.where(np.equal(*np.triu_indices(3)), 1.0, np.sqrt(0.5))

    def release(sign):
        return hessian(name, sign)

    answers = means(release)
    epsilon, mu = bounds(release, std, answers, 0.95)
    assert epsilon <= EPSILON and mu <= MU
    noise_times(1 / 3)
    assert bounds(release, std, answers, 0.95)[1] > MU
