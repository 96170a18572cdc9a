"""A directive that draws a table of its own page, so that chart and table never differ.

`chart_tables.read` says which options there are.
"""

import io
import math
import re
import textwrap
from itertools import accumulate, pairwise
from pathlib import Path

from chart_tables import charts, read
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

#: Ink and colors of series on a light page, and for each the one on a dark page.
_INK = ("#48566b", "#ced6dd")
_COLORS = [("#0b62c4", "#6db3ff"), ("#c4570b", "#ff9d57"), ("#007a58", "#41cb9f"),
           ("#9c3587", "#e592d5"), ("#767676", "#9b9b9b"), ("#8a6a00", "#e2c23c"),
           ("#8f1d3d", "#ff8299"), ("#20262e", "#f4f6f8")]
_MARKERS = "osD^vPX*"
#: Inches: narrow, so that letters can be read where a phone shrinks the picture.
_WIDTH = 4.2
#: Letters in a line of the label of a row.
_LABEL = 22
#: matplotlib measures letters of a font of its own; readers see that of their system, as in text.
_FONT = re.compile(r"'DejaVu Sans'[^;\"]*")
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "dpsk", "font.size": 10.5,
          "legend.fontsize": 9.5, "axes.linewidth": 0.8}


def _names(chart):
    """Return what the legend has: of dashed lines, which have the color of others, only one."""
    names = [series.name for series in chart.series if chart.labels or not series.dashed]
    return names + [chart.series[-1].name] * (len(names) < len(chart.series))


def _columns(names):
    """Return how many columns of a legend fit, by the letters of the longest name in each."""
    for columns in range(len(names), 1, -1):
        rows, more = divmod(len(names), columns)
        ends = list(accumulate([rows + (place < more) for place in range(columns)], initial=0))
        if sum(7 + max(map(len, names[start:end])) for start, end in pairwise(ends)) < 57:
            return columns
    return 1


def _wrapped(label):
    """Return the lines of a label; a number stays by the word before it."""
    return textwrap.wrap(re.sub(r" (?=[\d.])", "\u00a0", label), _LABEL)


def _rows(chart):
    """Return the height of each row in inches: it has room for its label and its series."""
    return [max(0.1 + 0.17 * len(_wrapped(label)), 0.12 + 0.09 * len(chart.series))
            for label in chart.labels]


def _dots(axes, chart):
    """Draw one row a label, series below each other in it."""
    rows = _rows(chart)
    edges = list(accumulate(rows, initial=0))
    centers = [(top + bottom) / 2 for top, bottom in pairwise(edges)]
    for place, series in enumerate(chart.series):
        shift = (place - (len(chart.series) - 1) / 2) * 0.085
        at, values, spreads = zip(*series.points, strict=True)
        axes.errorbar(values, [centers[row] + shift for row in at], xerr=_spread(spreads),
                      linestyle="none", label=series.name, **_look(place))
    axes.set_yticks(centers, ["\n".join(_wrapped(label)) for label in chart.labels])
    axes.set_ylim(edges[-1], 0)
    for edge in edges[1:-1]:
        axes.axhline(edge, color=_INK[0], alpha=0.12, linewidth=0.8)
    axes.tick_params("y", length=0)
    axes.grid(axis="x", color=_INK[0], alpha=0.15)
    if chart.log:
        _log(axes)
    axes.set_xlabel(chart.axis, loc="right")
    if chart.mark is not None:
        axes.axvline(chart.mark, color=_INK[0], linestyle=":", linewidth=1.2)


def _log(axes):
    """Make the axis of values logarithmic, with plain numbers, more of them on a short one."""
    from matplotlib.ticker import LogLocator
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()


def _lines(axes, chart):
    """Draw one line a series, over the logarithm of the numbers along it."""
    place = -1
    for series in chart.series:
        place += not series.dashed
        xs, values, spreads = zip(*sorted(series.points), strict=True)
        axes.errorbar(xs, values, yerr=_spread(spreads), label=series.name,
                      linestyle="--" if series.dashed else "-", **_look(place, series.dashed))
    ticks = sorted({point[0] for series in chart.series for point in series.points})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(color=_INK[0], alpha=0.15)
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.axis)
    if chart.mark is not None:
        axes.axhline(chart.mark, color=_INK[0], linestyle=":", linewidth=1.2)


def _spread(spreads):
    return None if set(spreads) == {None} else [spread or 0 for spread in spreads]


def _look(place, hollow=False):
    color = _COLORS[place][0]
    return {"color": color, "marker": _MARKERS[place], "markersize": 5, "linewidth": 1.6,
            "elinewidth": 1, "markerfacecolor": "none" if hollow else color}


def _height(chart):
    names = _names(chart)
    legend = (0.1 + 0.18 * math.ceil(len(names) / _columns(names))) * (len(names) > 1)
    return legend + (0.6 + sum(_rows(chart)) if chart.labels else 2.6)


def drawn(chart):
    """Return the text of an SVG picture in the colors of a light page."""
    # Most pages have no chart.
    from matplotlib import style
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    with style.context(["default", _STYLE]):
        figure = Figure((_WIDTH, _height(chart)), layout="constrained")
        axes = figure.add_subplot()
        (_dots if chart.labels else _lines)(axes, chart)
        axes.tick_params(colors=_INK[0])
        for label in (axes.xaxis.label, axes.yaxis.label):
            label.set_color(_INK[0])
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(_INK[0])
        names = _names(chart)
        handles = [handle for handle, series in zip(axes.containers, chart.series, strict=True)
                   if chart.labels or not series.dashed]
        if len(handles) < len(names):
            handles.append(Line2D([], [], color=_INK[0], linestyle="--"))
        if len(names) > 1:
            figure.legend(handles, names, loc="outside upper left", ncols=_columns(names),
                          frameon=False, labelcolor=_INK[0], handlelength=1.8, columnspacing=1.2,
                          borderaxespad=0)
        picture = io.StringIO()
        figure.savefig(picture, format="svg", transparent=True,
                       metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return _FONT.sub("system-ui, sans-serif", picture.getvalue())


def dark(picture):
    """Return the picture in the colors of a dark page."""
    for light, other in (_INK, *_COLORS):
        picture = picture.replace(light, other)
    return picture


class ChartDirective(SphinxDirective):
    """A picture of a table that follows on the page; the title says the result."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"table": directives.positive_int, "log": directives.flag} | dict.fromkeys(
        ("label", "values", "x", "rows", "brackets", "axis", "mark"), directives.unchanged)

    def run(self):
        """Return the figure: its title, and a picture for each theme."""
        title, page = self.arguments[0], self.env.docname
        text = Path(self.env.doc2path(page)).read_text(encoding="utf-8")
        try:
            (options, rest), = [found[1:] for found in charts(text) if found[0] == title]
            chart = read(options, rest)
        except ValueError as error:
            raise self.error(f"chart of {page}: {error}") from None
        folder = Path(self.env.srcdir) / "_build" / "charts"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{page.replace('/', '-')}-{self.env.new_serialno('chart')}"
        figure = nodes.figure("", nodes.caption(title, title), classes=["chart"])
        picture = drawn(chart)
        for theme, shown in (("light", picture), ("dark", dark(picture))):
            (folder / f"{name}-{theme}.svg").write_text(shown, encoding="utf-8")
            figure += nodes.image(uri=f"/_build/charts/{name}-{theme}.svg", alt=title,
                                  classes=[f"only-{theme}"])
        return [figure]


def setup(app):
    """Add the directive."""
    app.add_directive("chart", ChartDirective)
    return {"parallel_read_safe": True}
