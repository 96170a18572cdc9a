"""A table of the coefficients of a linear model with their privacy noise."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit
from sklearn.utils.validation import check_is_fitted

from dpsk._models.table_code import TableCode
from dpsk._parameters import check_integer, check_real
from dpsk.linear_model._noise import (
    NoiseFacts,
    centered_over_classes,
    noise_by_replays,
    why_unknown,
)
from dpsk.linear_model._unseen import without_unseen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["CoefficientSummary", "SummarizesCoefficients"]

#: Default number of fits that estimate the noise.
_DRAWS = 50
#: Confidence level of the intervals in a table.
_CONFIDENCE = 0.95
_HEADS = ("feature", "coef", "noise std", "low", "high")


@dataclass(frozen=True, eq=False)
class CoefficientSummary:
    r"""Coefficients of a linear model, with the standard deviation of their noise.

    The noise is the privacy noise alone: how coefficients would vary over private fits to the
    same table. It does not include sampling error. It is estimated by fits to synthetic data with
    the released second moment of the rows, at no privacy cost.

    ``print`` shows a table, and a notebook shows it as HTML.

    Attributes
    ----------
    feature_names : list of str
        Names of the columns of `coef`, without the intercept.
    coef : ndarray of shape (n_features,) or (n_outputs, n_features)
        Coefficients of the model. With three or more classes of a logistic model they are
        centered over classes, as a shift of all classes changes no probability.
    intercept : float or ndarray of shape (n_outputs,)
        Intercept of the model, centered in the same way.
    coef_std : ndarray, shaped like `coef`
        Standard deviations of the noise; NaN where it is not known, and for features whose
        correlations noise hides.
    intercept_std : float or ndarray of shape (n_outputs,)
        Standard deviation of the noise on the intercept.
    outputs : list or None
        Classes of the rows of `coef`, if there are more than two.
    n_draws : int
        Number of fits that estimate the deviations, 0 if these are not known.
    unknown : str or None
        Why the noise is not known, or None.

    See Also
    --------
    DPLogisticRegression : One of the models that has a `summary`.

    Notes
    -----
    The summary is post-processing of released numbers and public facts, at no privacy cost.

    References
    ----------
    Ferrando, Wang, Sheldon (2022), "Parametric bootstrap for differentially private confidence
    intervals"; see docs/theory/coefficients.md.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPLogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(4000, 2))
    >>> y = X @ [1.0, -0.5] > np.random.default_rng(1).logistic(size=4000)
    >>> summary = DPLogisticRegression(epsilon=2.0).fit(X, y).summary(n_draws=10)
    >>> summary.coef_std.shape
    (1, 2)
    >>> low, high = summary.interval(0.9)
    >>> low.shape
    (1, 2)
    """

    feature_names: Sequence[str]
    coef: FloatArray
    intercept: Any
    coef_std: FloatArray
    intercept_std: Any
    outputs: Sequence[Any] | None
    n_draws: int
    unknown: str | None

    def interval(self, confidence: float = _CONFIDENCE) -> tuple[FloatArray, FloatArray]:
        """Return confidence intervals for the coefficients of a fit without noise.

        They use Student's t with ``n_draws - 1`` degrees of freedom. They ignore the bias of a
        fit, such as from clipping or few steps.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence level of each single interval, between 0 and 1.

        Returns
        -------
        low, high : ndarray, shaped like `coef`
            NaN where the noise is not known.

        Raises
        ------
        ValueError
            If `confidence` is not between 0 and 1.
        """
        reach = self._reach(confidence)
        return self.coef - reach * self.coef_std, self.coef + reach * self.coef_std

    def _reach(self, confidence):
        confidence = check_real("confidence", confidence, low=0, high=1, open_low=True,
                                open_high=True, remedy="a number between 0 and 1")
        if not self.n_draws:
            return np.nan
        return float(stdtrit(self.n_draws - 1, 0.5 + 0.5 * confidence))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the name, coefficient, noise and interval of every line."""
        reach = self._reach(_CONFIDENCE)
        coefs, stds = np.atleast_2d(self.coef), np.atleast_2d(self.coef_std)
        constants, their_stds = np.atleast_1d(self.intercept), np.atleast_1d(self.intercept_std)
        for k in range(len(coefs)):
            first = "" if self.outputs is None else f"{self.outputs[k]}: "
            names = [*self.feature_names, "(intercept)"]
            values = [*coefs[k], constants[k]]
            for name, value, std in zip(names, values, [*stds[k], their_stds[k]], strict=True):
                ends = (value, std, value - reach * std, value + reach * std)
                yield (first + name, *("nan" if np.isnan(end) else f"{end:.4g}" for end in ends))

    def _title(self):
        if self.unknown is not None:
            return f"Coefficients; their noise is not known: {self.unknown}"
        title = ("Coefficients and the noise of privacy: standard deviation and "
                 f"{_CONFIDENCE:.0%} interval, by {self.n_draws} fits to synthetic rows")
        if np.isnan(self.coef_std).any() or np.isnan(self.intercept_std).any():
            title += "; nan: not known, as noise hides how features vary together"
        return title

    def __str__(self) -> str:
        lines = [_HEADS, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self._title(), *(
            "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])])
            for cells in lines)])

    def _repr_html_(self) -> str:
        def line(cells, kind):
            return "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + (
                "</tr>")

        body = "".join(line(cells, "td") for cells in self._rows())
        return (f"<table><caption>{html.escape(self._title())}</caption><thead>"
                f"{line(_HEADS, 'th')}</thead><tbody>{body}</tbody></table>")


class SummarizesCoefficients:
    """Mixin of linear models that report the noise of their coefficients."""

    _noise_facts: Any = None
    if TYPE_CHECKING:
        penalty: Any
        _row_map: Any
        n_features_in_: int
        coef_: FloatArray
        intercept_: Any

    def _keep_facts(self, problem, name, solver, stage, is_weighted):
        """Keep the public facts of a fit for `summary`."""
        self._noise_facts = NoiseFacts.of(problem, name, solver, stage, is_weighted)

    def _behind(self, code):
        # With other penalties, shrinkage would break constraints and exact zeros.
        if (isinstance(code, TableCode) and self.penalty == "l2" and self._row_map is None
                and self.fit_intercept):
            self.coef_, _ = without_unseen(self, code)

    def summary(self, n_draws: int = _DRAWS) -> CoefficientSummary:
        """Return coefficients with the noise of their fit, at no privacy cost.

        The model is fitted `n_draws` times, with fresh noise each, to one synthetic table: normal
        rows with the released second moment, and targets that follow the model's predictions. The
        spread of these fits is the noise (parametric bootstrap). A smaller table with the same
        signal-to-noise ratio replaces a large one.

        Parameters
        ----------
        n_draws : int, default=50
            Number of fits, at least 10. The relative error of the deviations is about
            ``1 / sqrt(2 n_draws)``.

        Returns
        -------
        summary : CoefficientSummary
            A table of coefficients, the standard deviations of their noise and 95 %% intervals.
            Where the noise is not known the deviations are NaN, and `unknown` says why. They are
            also NaN for features whose variance, or part in a collinear combination, is below the
            noise of the released moment.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        ValueError
            If `n_draws` is below 10, or the model is a network.
        """
        check_is_fitted(self, "privacy_")
        if not hasattr(self, "coef_"):
            raise ValueError("hidden_layer_sizes: a network has no coefficients; leave it () for "
                             "a linear model.")
        check_integer("n_draws", n_draws, low=10, high=10**5, remedy="an int >= 10")
        unknown = why_unknown(self)
        stds = unknown or noise_by_replays(self, n_draws)
        if isinstance(stds, str):
            unknown, n_draws = stds, 0
            stds = (np.full(np.shape(self.coef_), np.nan),
                    np.full(np.shape(self.intercept_), np.nan)[()])
        classes = getattr(self, "classes_", ())
        names = getattr(self, "feature_names_in_", None)
        return CoefficientSummary(
            [f"x{i}" for i in range(self.n_features_in_)] if names is None else list(names),
            *centered_over_classes(self, self.coef_, self.intercept_), *stds,
            list(classes) if len(classes) > 2 else None, n_draws, unknown)
