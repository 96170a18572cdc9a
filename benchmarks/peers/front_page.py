"""The picture of the site's front page, from measured numbers of docs/results.

    python -m benchmarks.peers.front_page [--output docs/_static/front]

docs/results/front_page.csv has the numbers, each with the page that it stands on.
"""

import argparse
import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # after the backend is chosen

NUMBERS = Path("docs/results/front_page.csv")
TITLES = {
    "rows": ("Adult, rows of numbers", "test accuracy, %"),
    "table": ("Adult, the raw table", "test AUC"),
    "images": ("Images, fixed features", "test accuracy, %"),
}
#: Ink and the colors of curves, on a light page and on a dark one.
MODES = {
    "light": ("#2b2f36", ("#0b62c4", "#5aa2ee", "#c4570b", "#777777")),
    "dark": ("#d5dae2", ("#6db3ff", "#2f7fd6", "#ff9d57", "#9a9a9a")),
}


def curves():
    """Return {panel: {series: [(epsilon, value), ...]}}; an epsilon is None without privacy."""
    panels = {}
    with NUMBERS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            epsilon = None if row["epsilon"] == "none" else float(row["epsilon"])
            series = panels.setdefault(row["panel"], {}).setdefault(row["series"], [])
            series.append((epsilon, float(row["value"])))
    return panels


def color_and_marker(series, place, colors):
    """Return what tells a library from its peers; second curves of ours are paler."""
    if series.startswith("dpsk"):
        return colors[min(place, 1)], "o"
    return colors[2], "s"


def drawn(panel, series, mode):
    """Return the figure of one panel."""
    ink, colors = MODES[mode]
    title, measure = TITLES[panel]
    figure, axes = plt.subplots(figsize=(4.2, 3.4), layout="constrained")
    ours = [name for name in series if name.startswith("dpsk")]
    for name, points in series.items():
        if points[0][0] is None:
            axes.axhline(points[0][1], color=colors[3], linestyle="--", linewidth=1, label=name)
            continue
        color, marker = color_and_marker(
            name, ours.index(name) if name in ours else 0, colors)
        line = "-" if len({epsilon for epsilon, _ in points}) > 1 else "none"
        axes.plot(*zip(*points, strict=True), marker=marker, color=color, label=name, linewidth=2,
                  markersize=5, linestyle=line)
    axes.set_xscale("log")
    ticks = sorted({epsilon for points in series.values() for epsilon, _ in points if epsilon})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("epsilon", color=ink)
    axes.set_ylabel(measure, color=ink)
    axes.set_title(title, color=ink, fontsize=11)
    axes.tick_params(colors=ink)
    axes.grid(color=ink, alpha=0.15)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink)
    axes.legend(frameon=False, labelcolor=ink, fontsize=8.5)
    return figure


def main():
    """Write one transparent picture a panel and mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/_static/front"))
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    for panel, series in curves().items():
        for mode in MODES:
            figure = drawn(panel, series, mode)
            figure.savefig(output / f"{panel}_{mode}.png", dpi=150, transparent=True)
            plt.close(figure)


if __name__ == "__main__":
    main()
