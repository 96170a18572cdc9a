"""Private log loss of probabilities of any number of classes: one noisy mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.groups import groups_of
from dpsk._data.labels import labels_fact
from dpsk._data.source import Rows
from dpsk._defaults.evaluation import FLOOR
from dpsk._fit import run_private
from dpsk._mechanism.core import Statistic
from dpsk._models import LinearModel
from dpsk._privacy.certificate import Certificate, Enforced
from dpsk._statistics.moments import noisy_mean
from dpsk.metrics._estimate import Estimate
from dpsk.metrics._inputs import (
    check_floor,
    check_lengths,
    read_labels,
    read_numbers,
    scores_of,
)
from dpsk.metrics._scores import log_losses
from dpsk.metrics._table import checked_budget, public_facts, table_method

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["LogLossEvaluation", "losses_of"]


@dataclass(frozen=True, eq=False)
class LogLossEvaluation:
    """Noisy mean of log losses in [-1, 1]: divided by half the largest, less 1."""

    mean: float
    noise_scale: float
    floor: float
    privacy_: Certificate

    @classmethod
    def from_estimator(cls, estimator: Any, X: Table, y: ArrayLike, *, epsilon: float = 1.0,
                       delta: float | None = None, floor: float = FLOOR,
                       groups: ArrayLike | None = None,
                       random_state: RandomState | None = None) -> Self:
        """Return the released mean for the `predict_proba` of a fitted classifier."""
        check_is_fitted(estimator)
        chances = scores_of(estimator, X, grouped=groups is not None)
        return cls.from_predictions(y, chances, epsilon=epsilon, delta=delta, floor=floor,
                                    labels=estimator.classes_, groups=groups,
                                    random_state=random_state)

    @classmethod
    @quietly
    def from_predictions(cls, y_true: ArrayLike, y_proba: ArrayLike, *, epsilon: float = 1.0,
                         delta: float | None = None, labels: ArrayLike | None = None,
                         floor: float = FLOOR, groups: ArrayLike | None = None,
                         random_state: RandomState | None = None) -> Self:
        """Return the released mean; parameters are those of `dp_log_loss`."""
        floor = check_floor("floor", floor)
        classes, codes = read_labels("dp_log_loss", y_true, labels)
        losses = losses_of(y_proba, codes, len(classes), floor)
        members = groups_of(groups, len(codes), random_state)
        budget = checked_budget(len(codes), 1, epsilon, delta, random_state, members)
        most = -math.log(floor)
        rows = Rows(2.0 * losses[:, None] / most - 1.0, np.zeros(len(codes)), groups=members)
        (mean, scale), certificate = run_private(
            table_method(cls, classes, floor), "noisy mean of log losses", budget,
            Statistic(noisy_mean), rows, (LinearModel(1, None, False, 1.0), rows),
            random_state=random_state, verbose=0,
            enforced=[Enforced("log loss", most, "enforced",
                               "largest loss of one row: a smaller probability of its label "
                               f"counts as {floor:g}")],
            public=public_facts(budget, labels_fact(classes, labels, source="y_true")),
            released=["mean"])
        return cls(float(mean[0]), scale, floor, certificate)

    def log_loss(self) -> Estimate:
        """Return the mean log loss."""
        half = -math.log(self.floor) / 2.0
        return Estimate(float(np.clip(half * (self.mean + 1.0), 0.0, 2.0 * half)),
                        half * self.noise_scale, (0.0, 2.0 * half))


def losses_of(y_proba, codes, n_classes, floor):
    """Return the log loss of every row, with probabilities of at least `floor`."""
    chances = read_numbers("y_proba", y_proba, columns=n_classes)
    if chances.ndim == 1:
        if n_classes != 2:
            raise ValueError(f"y_proba of shape {chances.shape}: must be of shape "
                             f"(n, {n_classes}), a column for each class.")
        chances = np.column_stack([1.0 - chances, chances])
    check_lengths(codes, "y_proba", chances)
    return log_losses(chances[np.arange(len(codes)), codes], floor)
