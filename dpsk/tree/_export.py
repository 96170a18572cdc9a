"""Text and plots of a private tree, with the noise on its predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._optional_dependencies import check_matplotlib_support

from dpsk._parameters import check_flag, check_integer, optional
from dpsk.tree._nodes import OneTree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["export_text", "plot_tree"]

#: Half-width of a 95 % band, in standard deviations of a normal distribution.
_BAND = 1.96


def export_text(decision_tree: OneTree, *, feature_names: Sequence[str] | None = None,
                class_names: Sequence[str] | None = None, max_depth: int = 10, spacing: int = 3,
                decimals: int = 2, show_weights: bool = False) -> str:
    """Return a private decision tree as text.

    Parameters
    ----------
    decision_tree : DPDecisionTreeClassifier or DPDecisionTreeRegressor
        Fitted.
    feature_names : sequence of str or None, default=None
        Names of the features. None: those of the table in `fit`, or numbers.
    class_names : sequence of str or None, default=None
        Names of the classes, in the order of `classes_`. None: the classes.
    max_depth : int, default=10
        Levels that are shown.
    spacing : int, default=3
        Spaces per level.
    decimals : int, default=2
        Digits of values.
    show_weights : bool, default=False
        Whether leaves of a classifier show the estimated number of rows of every class.

    Returns
    -------
    text : str
        One line for every side of a split and for every leaf: its value or class, the standard
        deviation of the noise on it, and its noisy number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPDecisionTreeClassifier
    >>> from dpsk.testing import NoiseSeed
    >>> from dpsk.tree import export_text
    >>> X = np.linspace(0, 1, 400)[:, None]
    >>> model = DPDecisionTreeClassifier(50.0, max_depth=1, columns={0: (0, 1)},
    ...                                  random_state=NoiseSeed(0))
    >>> print(export_text(model.fit(X, X[:, 0] >= 0.5), decimals=1))
    |--- feature_0 < 0.5
    |   |--- class: False (1.0 ± 0.0, 199 rows)
    |--- feature_0 >= 0.5
    |   |--- class: True (1.0 ± 0.0, 199 rows)
    """
    check_integer("max_depth", max_depth, low=0, remedy="an int >= 0")
    check_integer("spacing", spacing, low=1, remedy="an int >= 1")
    check_flag("show_weights", show_weights)
    nodes = _nodes(decision_tree, decimals, feature_names, class_names, show_weights)
    lines, step, last = [], "|" + " " * spacing, "|" + "-" * spacing + " "

    def write(node, indent):
        label, split = nodes[node]
        if split is None or indent == max_depth:
            lines.append(step * indent + last + label)
            return
        for side, condition in enumerate(split):
            lines.append(step * indent + last + condition)
            write(2 * node + 1 + side, indent + 1)

    write(0, 0)
    return "\n".join(lines)


def plot_tree(decision_tree: OneTree, *, max_depth: int | None = None,
              feature_names: Sequence[str] | None = None,
              class_names: Sequence[str] | None = None, decimals: int = 2,
              ax: Any = None) -> list[Any]:
    """Draw a private decision tree, with 95 % bands of the noise on its leaves.

    Parameters
    ----------
    decision_tree : DPDecisionTreeClassifier or DPDecisionTreeRegressor
        Fitted.
    max_depth : int or None, default=None
        Levels that are shown; None: all.
    feature_names : sequence of str or None, default=None
        Names of the features. None: those of the table in `fit`, or numbers.
    class_names : sequence of str or None, default=None
        Names of the classes, in the order of `classes_`. None: the classes.
    decimals : int, default=2
        Digits of values.
    ax : matplotlib axes or None, default=None
        None: new ones.

    Returns
    -------
    annotations : list of matplotlib annotations
        Of the nodes.
    """
    check_matplotlib_support("plot_tree")
    import matplotlib.pyplot as plt

    optional(lambda *given: check_integer(*given, low=0, remedy="None, or an int >= 0"))(
        "max_depth", max_depth)
    nodes = _nodes(decision_tree, decimals, feature_names, class_names)
    values, noise = decision_tree._node_values()
    if ax is None:
        _, ax = plt.subplots()
    most = len(decision_tree.tree_.splits) if max_depth is None else max_depth
    places, leaves = {}, []

    def place(node, level):
        """Set the places of a node and of those below; return the first one's."""
        if nodes[node][1] is None or level == most:
            leaves.append(node)
            across = len(leaves) - 0.5
        else:
            across = 0.5 * (place(2 * node + 1, level + 1) + place(2 * node + 2, level + 1))
        places[node] = across, -float(level)
        return across

    place(0, 0)
    found = []
    for node, where in sorted(places.items()):
        if node:
            up = places[(node - 1) // 2]
            ax.plot([up[0], where[0]], [up[1], where[1]], color="0.7", zorder=0)
        text = nodes[node][0] if node in leaves else nodes[node][1][0]
        found.append(ax.annotate(text.replace(" (", "\n("), where, ha="center", va="center",
                                 fontsize="small", bbox={"boxstyle": "round", "fc": "w"}))
    deepest = min(where[1] for where in places.values())
    ax.set(xlim=(0, len(leaves)), ylim=(deepest - 2.0, 0.5))
    ax.set_axis_off()
    panel = ax.inset_axes([0, 0, 1, 0.9 / (2.5 - deepest)])
    shown = values[leaves, -1]
    panel.errorbar(np.arange(len(leaves)) + 0.5, shown, _BAND * noise[leaves], fmt="o", capsize=3)
    panel.set(xlim=(0, len(leaves)), xticks=[], ylabel=(
        f"share of {decision_tree.classes_[-1]}" if is_classifier(decision_tree) else "mean"))
    return found


def _nodes(model, decimals, feature_names, class_names, show_weights=False):
    """Return the label of every node, and the conditions of both its sides, None at a leaf."""
    if not isinstance(model, OneTree):
        raise TypeError(f"decision_tree of type {type(model).__name__}: must be a "
                        "DPDecisionTreeClassifier or a DPDecisionTreeRegressor.")
    check_integer("decimals", decimals, low=0, high=99, remedy="an int in [0, 99]")
    tree = model._fitted_tree()
    features = _names("feature_names", feature_names, [
        each.name if isinstance(each.name, str) else f"feature_{each.name}"
        for each in model._columns])
    classes = _names("class_names", class_names, model.classes_) if is_classifier(model) else ()
    values, noise = model._node_values()
    found = []
    for node, (value, count) in enumerate(zip(values, tree.counts, strict=True)):
        spread, rows = f"± {noise[node]:.{decimals}f}", f"{max(count, 0.0):.0f} rows"
        if is_classifier(model):
            best = int(np.argmax(value))
            label = f"class: {classes[best]} ({value[best]:.{decimals}f} {spread}, {rows})"
            if show_weights:
                held = ", ".join(f"{each:.{decimals}f}" for each in value * max(count, 0.0))
                label = f"weights: [{held}] {label}"
        else:
            label = f"value: {value[0]:.{decimals}f} ({spread}, {rows})"
        level = (node + 1).bit_length() - 1
        place = node + 1 - 2**level
        split = level < len(tree.kept) and tree.kept[level][place]
        found.append((label, _conditions(model, tree.splits[level][place], features)
                      if split else None))
    return found


def _names(parameter, given, usual):
    """Return given names, one for each of the usual ones, which are the default."""
    if given is None:
        return usual
    if isinstance(given, str) or len(given) != len(usual):
        raise ValueError(f"{parameter}={given!r}: must be None, or a list of {len(usual)} names.")
    return given


def _conditions(model, split, features):
    """Return the conditions of the left and of the right side of a split."""
    column, low, _ = split
    described, name = model._columns[column], features[column]
    if described.categories is None:
        below, above = model._bins.condition(column, low)
        return f"{name} {below}", f"{name} {above}"
    known = [*described.categories, "any other"]
    return f"{name} != {known[low]}", f"{name} == {known[low]}"
