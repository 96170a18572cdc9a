"""Private evaluation of predicted numbers, from one noisy mean of moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.groups import groups_of
from dpsk._data.source import Rows
from dpsk._data.targets import check_target_bounds, middle_of
from dpsk._docs import documented
from dpsk._fit import run_private
from dpsk._mechanism.core import Statistic
from dpsk._models import LinearModel
from dpsk._parameters import check_real
from dpsk._privacy.certificate import Certificate, Enforced
from dpsk._privacy.certificate_fields import rounded_up
from dpsk._statistics.moments import noisy_mean
from dpsk.metrics._estimate import Estimate, between
from dpsk.metrics._html import ShowsMetrics
from dpsk.metrics._inputs import check_lengths, predicted, read_numbers
from dpsk.metrics._table import (
    checked_budget,
    normal_draws,
    public_facts,
    simulated,
    simulated_ratio,
    table_method,
)

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["RegressionEvaluation", "check_metric", "checked_bounds"]

#: Standard errors up to which a mean square counts as 0 for its root. The miss is then about as
#: large without residuals as with a mean square of one standard error.
_HIDDEN = 0.8
#: Bounds on the norm of the moments, without targets and with targets. Signed moments count half,
#: so rows of opposite signs are no farther apart than other rows.
_NORMS = math.sqrt(2.5), math.sqrt(3.75)


@documented
@dataclass(frozen=True, eq=False, repr=False)
class RegressionEvaluation(ShowsMetrics):
    r"""Evaluation of predicted numbers, from one noisy mean of moments.

    Make one by `from_estimator` or `from_predictions`. Let e be a residual divided by its bound
    and clipped to [-1, 1], and let c be 1 if the residual exceeds the bound, otherwise 0. The mean
    of :math:`(e/2, 2|e| - 1, 2 e^2 - 1, c - 1/2)` is released. With bounds on targets, so is the
    mean of :math:`(t/2, 2 t^2 - 1)`, t the clipped target scaled to [-1, 1].

    Attributes
    ----------
    moments : ndarray of float64, shape (4,) or (6,)
        Noisy mean, read-only.
    noise_scale : float
        Standard deviation of the noise on an entry.
    residual_bound : float
        Bound to which residuals were clipped.
    target_bounds : (float, float) or None
        Public bounds of targets, if declared.
    n_samples : int
        Number of evaluated rows, or of groups of rows.
    privacy_ : Certificate
        Certificate of the release.

    See Also
    --------
    BinaryEvaluation : Scores of two classes.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the moments are
    (epsilon, delta)-differentially private. The norm of a row's moments is at most sqrt(2.5), or
    sqrt(3.75) with targets, so a replaced row moves the mean by at most twice that over n. The
    number of rows and all parameters are public. With `groups`, this holds for data sets that
    differ in all rows of one group, which adds the average over its rows.

    *Errors* are those of clipped residuals, and smaller than usual if residuals exceed the bound.
    Noise grows with the bound, and for squared errors with its square. `clipped_share` is the
    share of rows that the bound clips.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import RegressionEvaluation
    >>> from dpsk.testing import NoiseSeed
    >>> y = np.linspace(-1, 1, 5000)
    >>> evaluation = RegressionEvaluation.from_predictions(
    ...     y, 0.9 * y, epsilon=1.0, residual_bound=0.2, target_bounds=(-1, 1),
    ...     random_state=NoiseSeed(0))
    >>> r2, error = evaluation.r2()
    >>> abs(r2 - 0.99) < 0.01, error < 0.01
    (True, True)
    """

    moments: np.ndarray
    noise_scale: float
    residual_bound: float
    target_bounds: tuple | None
    n_samples: int
    privacy_: Certificate

    @classmethod
    def from_estimator(cls, estimator: Any, X: Table, y: ArrayLike, *, epsilon: float = 1.0,
                       delta: float | None = None, residual_bound: float | None = None,
                       target_bounds: tuple[float, float] | None = None,
                       groups: ArrayLike | None = None,
                       random_state: RandomState | None = None) -> Self:
        """Predict rows with a fitted regressor, and release the moments.

        Parameters
        ----------
        estimator : regressor
            Fitted to other rows.
        X : array-like of shape (n, n_features)
            Rows, as the regressor accepts them.
        y : array-like of shape (n,)
            Their targets.
        %(epsilon_release)s %(delta_release)s
        residual_bound : float or None, default=None
            Public; larger residuals are clipped to it. None: the width of `target_bounds`.
        target_bounds : (float, float) or None, default=None
            As for `from_predictions`.
        groups : array-like of shape (n,) or None, default=None
            As for `from_predictions`.
        %(random_state_release)s

        Returns
        -------
        evaluation : RegressionEvaluation
            Released evaluation.
        """
        check_is_fitted(estimator)
        found = predicted(estimator, X, classifies=False, grouped=groups is not None)
        return cls.from_predictions(y, found, epsilon=epsilon, delta=delta,
                                    residual_bound=residual_bound, target_bounds=target_bounds,
                                    groups=groups, random_state=random_state)

    @classmethod
    @quietly
    def from_predictions(cls, y_true: ArrayLike, y_pred: ArrayLike, *, epsilon: float = 1.0,
                         delta: float | None = None, residual_bound: float | None = None,
                         target_bounds: tuple[float, float] | None = None,
                         groups: ArrayLike | None = None,
                         random_state: RandomState | None = None) -> Self:
        """Release the moments of residuals, and of targets with declared bounds.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            Targets and predictions. A residual of NaN counts as the bound.
        %(epsilon_release)s %(delta_release)s
        %(residual_bound_release)s %(target_bounds_release)s
            `r2` needs them.
        %(groups_release)s %(random_state_release)s

        Returns
        -------
        evaluation : RegressionEvaluation
            Released evaluation.

        Raises
        ------
        ValueError
            If a parameter is out of range, no bound is given, or lengths differ; no noise has been
            drawn then.
        """
        bound, ends = checked_bounds(residual_bound, target_bounds)
        y, guesses = read_numbers("y_true", y_true), read_numbers("y_pred", y_pred)
        check_lengths(y, "y_pred", guesses)
        features = _features(y, guesses, bound, ends)
        members = groups_of(groups, len(y), random_state)
        budget = checked_budget(len(y), features.shape[1], epsilon, delta, random_state, members)
        rows = Rows(features, np.zeros(len(y)), groups=members)
        model = LinearModel(features.shape[1], None, False, _NORMS[ends is not None])
        enforced = [Enforced("residual_bound", bound,
                             "derived" if residual_bound is None else "declared",
                             "absolute residual of one row; larger ones are clipped")]
        if ends is not None:
            enforced.append(Enforced("target_bounds", list(ends), "declared",
                                     "targets and predictions are clipped to them"))
        (moments, scale), certificate = run_private(
            table_method(cls, bound, ends), "noisy mean of residuals", budget,
            Statistic(noisy_mean), rows, (model, rows), random_state=random_state, verbose=0,
            enforced=enforced, public=public_facts(budget),
            released=["moments"])
        moments.flags.writeable = False
        return cls(moments, scale, bound, ends, budget.n_samples, certificate)

    def __repr__(self) -> str:
        return (f"RegressionEvaluation(n_samples={self.n_samples}, "
                f"residual_bound={self.residual_bound:g}, noise_scale={self.noise_scale:.4g}, "
                f"epsilon={rounded_up(self.privacy_.epsilon, 6)})")

    def mean_residual(self) -> Estimate:
        """Return the mean of target minus prediction, an `Estimate`.

        Returns
        -------
        mean : Estimate
            In units of the target.
        """
        bound = self.residual_bound
        return self._estimate(lambda moments: 2.0 * bound * moments[..., 0], (-bound, bound))

    def clipped_share(self) -> Estimate:
        """Return the share of rows whose residual exceeds its bound, an `Estimate`.

        Returns
        -------
        share : Estimate
            A number in [0, 1].
        """
        return self._estimate(lambda moments: moments[..., 3] + 0.5, (0.0, 1.0))

    def mean_absolute_error(self) -> Estimate:
        """Return the mean of absolute residuals, an `Estimate`.

        Returns
        -------
        error : Estimate
            In units of the target.
        """
        bound = self.residual_bound
        return self._estimate(lambda moments: bound * (moments[..., 1] + 1.0) / 2.0, (0.0, bound))

    def mean_squared_error(self) -> Estimate:
        """Return the mean of squared residuals, an `Estimate`.

        Returns
        -------
        error : Estimate
            In squared units of the target.
        """
        most = self.residual_bound**2
        return self._estimate(lambda moments: most * _square(moments), (0.0, most))

    def root_mean_squared_error(self) -> Estimate:
        """Return the root of the mean of squared residuals, an `Estimate`.

        The ends of its 95 % interval are the roots of those of the mean square. The value is 0 if
        noise alone may explain the mean square.

        Returns
        -------
        error : Estimate
            In units of the target.
        """
        square = self.mean_squared_error()
        value = square.value if square.value > _HIDDEN * square.standard_error else 0.0
        low, high = (math.sqrt(end) for end in square.interval())
        return between(math.sqrt(value), low, high, (0.0, self.residual_bound))

    def r2(self) -> Estimate:
        """Return the explained share of the targets' variance, an `Estimate`.

        Returns
        -------
        r2 : Estimate
            At most 1; NaN where noise hides the targets' variance.

        Raises
        ------
        ValueError
            If targets have no bounds.
        """
        _check_spread(self.target_bounds)
        _, half = middle_of(*self.target_bounds)  # type: ignore[misc]  # bounds there are

        # The mean of the squared noise is known.
        known = 4.0 * self.noise_scale**2

        def parts(moments):
            spread = (moments[..., 5] + 1.0) / 2.0 - 4.0 * moments[..., 4]**2 + known
            return self.residual_bound**2 * _square(moments), half**2 * spread

        ratio = simulated_ratio(parts(self.moments), parts(self._draws()), (0.0, np.inf))
        return 1.0 - ratio

    def _draws(self):
        """Return draws of the noise around these moments."""
        return self.moments + self.noise_scale * normal_draws(self.moments.shape, "noise")

    def _estimate(self, metric, bounds):
        return simulated(metric(self.moments), metric(self._draws()), bounds)


def _square(moments):
    return (moments[..., 2] + 1.0) / 2.0


def _features(y, guesses, bound, ends):
    """Return the numbers in [-1, 1] that are averaged."""
    columns = []
    if ends is not None:
        middle, half = middle_of(*ends)
        y, guesses = np.clip(y, *ends), np.clip(guesses, *ends)
        t = np.nan_to_num((y - middle) / half, nan=1.0)
        columns = [t / 2.0, 2.0 * t**2 - 1.0]
    e = np.nan_to_num((y - guesses) / bound, nan=2.0)
    cut, e = np.abs(e) > 1.0, np.clip(e, -1.0, 1.0)
    return np.column_stack([e / 2.0, 2.0 * np.abs(e) - 1.0, 2.0 * e**2 - 1.0, cut - 0.5, *columns])


def check_metric(metric, residual_bound, target_bounds):
    """Raise the ValueError of a metric for the given bounds, before a release."""
    checked_bounds(residual_bound, target_bounds)
    if metric == "r2":
        _check_spread(target_bounds)


def _check_spread(target_bounds):
    if target_bounds is None:
        raise ValueError("target_bounds=None: r2 compares with the spread of targets, which is "
                         "released where they have bounds; declare target_bounds.")


def checked_bounds(residual_bound, target_bounds):
    """Return both bounds as floats; the first one defaults to the second's width."""
    ends = None if target_bounds is None else check_target_bounds(target_bounds, "(0, 100)")
    if residual_bound is None:
        if ends is None:
            raise ValueError("residual_bound=None: must be a finite number > 0, or target_bounds "
                             "must be given, as no noise hides what has no bound.")
        return ends[1] - ends[0], ends
    return check_real("residual_bound", residual_bound, low=1e-100, high=1e100,
                      remedy="None, or a number in [1e-100, 1e100]"), ends
