"""Scores of any size are evaluated as they are, where no metric needs probabilities."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn import metrics

import dpsk.metrics as dpm
from dpsk.testing import NoiseSeed

#: Decision values, with the rows' labels; their probabilities are calibrated.
RNG = np.random.default_rng(0)
Y = (RNG.uniform(size=6000) < 0.1).astype(int)
MARGINS = RNG.normal(size=6000) + 2.0 * Y
CHANCES = expit(2.0 * MARGINS - 2.0 + np.log(0.1 / 0.9))
AREAS = {dpm.dp_roc_auc_score: metrics.roc_auc_score,
         dpm.dp_average_precision_score: metrics.average_precision_score}
DISPLAYS = {dpm.DPRocCurveDisplay: "roc_auc", dpm.DPPrecisionRecallDisplay: "average_precision"}


@pytest.mark.parametrize("score", AREAS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("shift, factor", [(0.0, 1.0), (5.0, 1.0), (-40.0, 10.0)])
def test_an_area_is_that_of_scores_of_any_size(score, shift, factor):
    """Noise has a fixed seed; areas of scores that are cut to (0, 1) are .05 to .6 off."""
    found = score(Y, shift + factor * MARGINS, epsilon=10.0, random_state=NoiseSeed(0))
    exact = AREAS[score](Y, MARGINS)
    assert abs(float(found) - exact) < 5.0 * found.standard_error < 0.2


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda each: each.__name__)
def test_a_curve_is_that_of_scores_of_any_size(display, pyplot):
    """Noise has a fixed seed."""
    drawn = display.from_predictions(Y, 5.0 + MARGINS, epsilon=10.0,
                                     evaluation_kw={"random_state": NoiseSeed(0)})
    metric = DISPLAYS[display]
    exact = getattr(metrics, f"{metric}_score")(Y, MARGINS)
    assert abs(float(getattr(drawn, metric)) - exact) < 0.1


@pytest.mark.parametrize("score", AREAS, ids=lambda each: each.__name__)
def test_probabilities_cost_little_without_a_range(score):
    """Noise has fixed seeds; fewer cells between 0 and 1 make errors 1.4 times as large."""
    said = [np.median([score(Y, CHANCES, epsilon=2.0, random_state=NoiseSeed(seed), **given
                             ).standard_error for seed in range(5)])
            for given in ({}, {"score_range": (0, 1)})]
    assert said[0] < 1.2 * said[1]


def test_metrics_of_probabilities_keep_their_range(pyplot):
    brier = dpm.dp_brier_score_loss(Y, CHANCES, epsilon=np.inf)
    assert float(brier) == pytest.approx(metrics.brier_score_loss(Y, CHANCES), abs=1e-5)
    drawn = dpm.DPCalibrationDisplay.from_predictions(Y, CHANCES, epsilon=8.0)
    assert drawn.evaluation_.bins.of_probabilities
    with pytest.raises(ValueError, match="score_range"):
        dpm.DPCalibrationDisplay.from_predictions(Y, CHANCES, epsilon=8.0,
                                                  evaluation_kw={"score_range": None})
