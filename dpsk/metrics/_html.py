"""HTML tables of estimates and evaluations, for notebooks."""

import html
from functools import partial

import numpy as np

__all__ = ["ShowsMetrics", "table_of_estimates"]

_HEADS = "metric", "value", "standard error", "95% interval"
#: Scalar metrics, in display order; evaluations may lack some.
_METRICS = ("roc_auc", "average_precision", "brier_score", "log_loss", "accuracy",
            "balanced_accuracy", "precision", "recall", "f1", "prevalence", "r2",
            "mean_absolute_error", "root_mean_squared_error", "mean_squared_error",
            "mean_residual", "clipped_share")
#: Most rows of a table.
_MOST_ROWS = 20


class ShowsMetrics:
    """Base of evaluations that show their scalar metrics as a table in notebooks."""

    def _repr_html_(self):
        return table_of_estimates(repr(self), self._shown_metrics())

    def _shown_metrics(self):
        """Yield names and estimates of the metrics that are one number."""
        for name in filter(partial(hasattr, self), _METRICS):
            try:
                found = getattr(self, name)()
            except ValueError:
                # The metric requires probabilities, or targets with bounds.
                continue
            if np.ndim(found.value) == 0:
                yield name, found


def table_of_estimates(title, estimates):
    """Return an HTML table of named estimates; entries of arrays are rows.

    Parameters
    ----------
    title : str
    estimates : iterable of (str, Estimate)
    """
    lines, notes = [], {}
    for name, estimate in estimates:
        if estimate.note:
            notes[estimate.note] = f"<p>{html.escape(estimate.note)}</p>"
        columns = [np.ravel(each) for each in (
            estimate.value, estimate.standard_error, *estimate.interval(0.95))]
        places = [f"{name}{list(place)}" if place else name
                  for place in np.ndindex(np.shape(estimate.value))]
        lines += [[place, f"{value:.4g}", f"{error:.2g}", f"{low:.4g} to {high:.4g}"]
                  for place, value, error, low, high in zip(places, *columns, strict=True)]
    more = len(lines) - _MOST_ROWS
    if more > 0:
        lines = [*lines[:_MOST_ROWS], [f"and {more} more", "", "", ""]]
    head, *body = ("<tr>" + "".join(
        f"<{kind} style='text-align:left'>{html.escape(cell)}</{kind}>" for cell in cells)
        + "</tr>" for kind, cells in [("th", _HEADS), *(("td", line) for line in lines)])
    return (f"<table><caption>{html.escape(title)}</caption><thead>{head}</thead>"
            f"<tbody>{''.join(body)}</tbody></table>{''.join(notes.values())}")
