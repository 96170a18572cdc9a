"""A whole pipeline, audited by what its last step shows of a row that went through the first.

The row is alone in its category, has no number, and its label is one or the other: one step of
descent moves the coefficient of that category by the row alone, all the way from one end of what
a row can do to the other. Knots take a tenth of the budget, and say nothing of that row; so the
coefficient is normal, its mean apart by nearly all of the mu of the whole.
"""

import numpy as np
import pandas as pd
import pytest
from audit_settings import LEVEL, gaussian_mu

from dpsk import DPLinearSVC, DPTableVectorizer, make_dp_pipeline
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound

EPSILON, DELTA, RUNS, N = 4.0, 1e-3, 500, 12
MU = gaussian_mu(EPSILON, DELTA)
SHARES = {"dptablevectorizer": 0.1}


def coefficient(label):
    """Return the coefficient of the category of one row, which has that label."""
    table = pd.DataFrame({"number": [np.nan, *range(N - 1)], "word": ["a", *["b"] * (N - 1)]})
    y = np.array([label, *np.arange(N - 1) % 2])
    vectorizer = DPTableVectorizer(columns={"word": ["a", "b"]}, n_knots=3)
    last = DPLinearSVC(solver="gd", max_iter=1, clip_norm=1.0, precondition=False,
                       fit_intercept=False, classes=[0, 1])
    fitted = make_dp_pipeline(vectorizer, last, epsilon=EPSILON, delta=DELTA,
                              shares=SHARES).fit(table, y)
    names = fitted.steps_[0][1].get_feature_names_out().tolist()
    assert fitted.privacy_.delta_at(EPSILON) <= DELTA
    return fitted.steps_[1][1].coef_[0, names.index("word_a")]


def bounds():
    """Return lower bounds on epsilon and mu of the whole; the event is the coefficient's sign."""
    counts = []
    for label in (1, 0):
        hits = sum(coefficient(label) > 0 for _ in range(RUNS))
        counts += [int(hits), RUNS]
    return (epsilon_lower_bound(*counts, delta=DELTA, level=LEVEL),
            mu_lower_bound(*counts, level=LEVEL))


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")
def test_a_pipeline_stays_under_its_claim():
    """Each bound exceeds its claim with a chance of 2 LEVEL at most; a fifth of mu shows.

    The sign is right in .71 of the runs, from which that fifth is four standard deviations off.
    """
    epsilon, mu = bounds()
    print(f"epsilon >= {epsilon:.3f} of {EPSILON}, mu >= {mu:.3f} of {MU:.3f}")
    assert epsilon <= EPSILON and 0.2 * MU < mu <= MU


@pytest.mark.audit
@pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")
def test_a_third_of_the_noise_exceeds_the_claim_of_a_pipeline(noise_times):
    """At three times the mu the sign is right in .95 of the runs."""
    noise_times(1 / 3)
    assert bounds()[1] > MU
