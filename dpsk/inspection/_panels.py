"""Plot of one shape function: a curve, bars, or the cells of a pair of columns."""

from __future__ import annotations

import textwrap

import numpy as np

__all__ = ["bar_order", "cell_edges", "draw_bars", "draw_curve", "label", "note_no_band",
           "shown_ends"]

#: Total number of letters beyond which the names of categories are rotated.
_MOST_LETTERS = 30
#: Distance from the second knot outwards to the 1 % quantile of normal rows, in units of the
#: distance between the second and third knots; 2.47 for octiles, 2.45 for quartiles.
_TAIL = 2.46
#: Width of a tick label, as a fraction of the axis.
_TICKS_APART = 0.18
#: Number of small letters across a panel.
_NOTE_LETTERS = 58
#: With three knots, maximum length of the longer side relative to the shorter one.
_LONGER = 10.0


def shown_ends(axis, whole):
    """Return the ends of a column's axis: all, or about the middle 98 % of rows.

    The outer knots are bounds that rows may not come near; the inner knots are quantiles.
    """
    knots, scale = axis.knots, axis.scale
    if whole or len(knots) < 3:
        return float(knots[0]), float(knots[-1])
    places = knots if scale is None else scale(knots)
    steps = np.diff(places)
    if len(knots) == 3:
        low, high = places[1] - _LONGER * steps[1], places[1] + _LONGER * steps[0]
    else:
        low, high = places[1] - _TAIL * steps[1], places[-2] + _TAIL * steps[-2]
    ends = np.clip([low, high], places[0], places[-1])
    return tuple((ends if scale is None else scale.inverse(ends)).tolist())


def draw_curve(ax, axis, values, reach, _, name, ends):
    """Draw a piecewise linear curve with a band around it."""
    low, high = ends
    inside = (axis.knots > low) & (axis.knots < high)
    places = np.unique([low, *axis.knots[inside], high])
    if axis.scale is not None:
        ax.set_xscale("function", functions=(axis.scale, axis.scale.inverse))
        # Evenly spaced ticks would crowd together on one side of a scaled axis.
        ticks = _apart(places, axis.scale(places))
        ax.set_xticks(ticks, [f"{tick:.4g}" for tick in ticks])
    values = axis.interpolate(places, values)
    line, = ax.plot(places, values, label=name)
    if len(places) == 1:
        line.set_marker("o")
    else:
        ax.set_xlim(low, high)
    if reach is not None:
        # The error of an interpolated value is at most the interpolated error.
        reach = axis.interpolate(places, reach)
        ax.fill_between(places, values - reach, values + reach, alpha=0.25, linewidth=0,
                        color=line.get_color())


def _apart(places, scaled):
    """Return both end places, and others with room for readable tick labels."""
    least = _TICKS_APART * (scaled[-1] - scaled[0])
    chosen = [0]
    for place in range(1, len(places) - 1):
        if scaled[place] - scaled[chosen[-1]] >= least <= scaled[-1] - scaled[place]:
            chosen.append(place)
    return places[np.unique([*chosen, len(places) - 1])]


def draw_bars(ax, axis, values, reach, turn, name, order):
    """Draw bars with errors in a given order, next to the bars of the other outputs."""
    place, count = turn
    width = 0.8 / count
    shifts = np.arange(len(order)) + (place - 0.5 * (count - 1)) * width
    ax.bar(shifts, values[order], width, yerr=None if reach is None else reach[order], alpha=0.6,
           label=name, error_kw={"elinewidth": 1.0})
    label(ax.xaxis, axis, order)


def bar_order(axis, values):
    """Return the places of categories by decreasing value, "(other)" last.

    Buckets get no bar, since a bucket mixes several categories.
    """
    order = np.argsort(-values[:axis.n_named], kind="stable")
    several = axis.n_named < len(axis.categories)
    return order if several else np.append(order, axis.n_named)


def label(which, axis, order=None):
    """Write the names of categories as tick labels, in a given order of places."""
    if axis.categories is None:
        return
    names = [str(each) for each in axis.categories[:axis.n_named]]
    if axis.n_named == len(axis.categories):
        names.append("(other)")
    if order is not None:
        names = [names[place] for place in order]
    which.set_ticks(range(len(names)), names)
    if which.axis_name == "x" and sum(map(len, names)) > _MOST_LETTERS:
        which.set_tick_params(rotation=90)


def note_no_band(ax, reason):
    """Write above a panel why it has no band; None: the noise is not estimable."""
    reason = reason or "rows are too few, or columns too much alike, to tell the noise."
    # The center title stays free for the user.
    ax.set_title(textwrap.fill(f"No band: {reason}", _NOTE_LETTERS), loc="left",
                 fontsize="x-small", color="0.4")


def cell_edges(axis):
    """Return the edges of the cells of a pair: midway between knots or categories."""
    if axis.categories is not None:
        return np.arange(len(axis.categories) + 2) - 0.5
    knots = axis.knots
    middles = 0.5 * (knots[1:] + knots[:-1])
    if axis.scale is not None:
        places = axis.scale(knots)
        middles = axis.scale.inverse(0.5 * (places[1:] + places[:-1]))
    if len(knots) == 1:
        return knots[0] + np.array([-0.5, 0.5])
    return np.concatenate([knots[:1], middles, knots[-1:]])
