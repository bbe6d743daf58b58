"""One style for every figure of the book.

Call ``use_style()`` once, before the first figure. Figures then fit a text column of
688 pixels, are legible in grey (the lines of the cycle differ in dashes as well as in
colour) and stand on white, so that a dark page shows them as they are.

The colours are those that Okabe and Ito (2008) chose to be told apart by everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl

from mlbook.ensembles.decision_tree import condition, prediction_text
from mlbook.validation import check_choice

MAX_WIDTH = 7.0  # inches

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY, BLACK = "#CC79A7", "#E69F00", "#56B4E9", "#000000"
COLORS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
LINE_STYLES = ("-", "--", "-.", ":", (0, (8, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (2, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # for points, in the order of COLORS

STYLE: dict[str, Any] = {
    "figure.figsize": (6.5, 3.6),
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.prop_cycle": mpl.cycler(color=COLORS, linestyle=LINE_STYLES),
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "image.cmap": "cividis",
    "svg.hashsalt": "mlbook",
}


def use_style() -> None:
    """Set the book's style for all figures that follow."""
    mpl.rcParams.update(STYLE)


def plot_tree(
    model: Any, ax: Any, feature_names: Sequence[str] | None = None,
    layout: str = "down", decimals: int = 2, fontsize: float = 10,
) -> None:
    """Draw a fitted decision tree of ``mlbook.ensembles.decision_tree``.

    An inner node shows its question, for which yes goes left (or comes first), a leaf
    its prediction, both with the number of training rows. Inner nodes are white boxes,
    leaves grey ones.

    Parameters
    ----------
    model : DecisionTreeClassifier or DecisionTreeRegressor
    ax : matplotlib Axes; its frame is switched off
    feature_names : sequence of d strings, optional
    layout : "down", the root on top and the leaves side by side: a leaf needs about an
        inch. "outline": a row for each node, indented by its depth, which fits a narrow
        figure; a node needs a fifth of an inch of height
    decimals : int >= 0, digits behind the point
    fontsize : float, in points
    """
    check_choice("layout", layout, ("down", "outline"))
    model._check_is_fitted()
    tree, down = model.tree_, layout == "down"
    place = _tree_down(tree) if down else _tree_outline(tree)
    ax.set_axis_off()
    for node in range(tree.node_count):
        leaf = tree.is_leaf[node]
        text = (prediction_text(model, node, decimals) if leaf else
                condition(model, node, feature_names, decimals)[0].replace("<=", "\u2264"))
        text += f"{chr(10) if down else ',  '}n = {tree.count[node]}"
        ax.text(*place[node], text, ha="center" if down else "left", va="center",
                fontsize=fontsize, zorder=3, gid=f"node {node}",
                bbox={"boxstyle": "round,pad=0.25", "edgecolor": "0.3",
                      "facecolor": "0.88" if leaf else "white"})
        for child, answer in ((tree.left[node], "yes"), (tree.right[node], "no")):
            if not leaf:
                _draw_branch(ax, place[node], place[child], answer, down, fontsize - 1)
    across, along = zip(*place, strict=True)
    ax.set_xlim(min(across) - (0.5 if down else 0.15),
                max(across) + (0.5 if down else 4.0))
    ax.set_ylim(min(along) - (0.35 if down else 0.6), max(along) + (0.35 if down else 0.6))


def _draw_branch(
    ax: Any, start: tuple[float, float], end: tuple[float, float], answer: str,
    down: bool, fontsize: float,
) -> None:
    """Join a node to its child: by a line with the answer on it, or by an elbow."""
    style = {"color": "0.3", "linestyle": "-", "linewidth": 1, "zorder": 1}
    if not down:
        bend = start[0] + 0.25
        ax.plot([bend, bend, end[0]], [start[1], end[1], end[1]], **style)
        return
    ax.plot([start[0], end[0]], [start[1], end[1]], **style)
    ax.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, answer, ha="center",
            va="center", fontsize=fontsize, zorder=2,
            bbox={"boxstyle": "square,pad=0.1", "edgecolor": "none",
                  "facecolor": "white"})


def _tree_down(tree: Any) -> list[tuple[float, float]]:
    """Place leaves side by side and every other node above the middle of its children."""
    across = [0.0] * tree.node_count
    for number, node in enumerate(n for n in _in_order(tree) if tree.is_leaf[n]):
        across[node] = float(number)
    for node in reversed(range(tree.node_count)):  # children have higher numbers
        if not tree.is_leaf[node]:
            across[node] = (across[tree.left[node]] + across[tree.right[node]]) / 2
    return [(x, -float(depth)) for x, depth in zip(across, tree.depth, strict=True)]


def _tree_outline(tree: Any) -> list[tuple[float, float]]:
    """Place every node in a row of its own, below its parent and further right."""
    row = {node: number for number, node in enumerate(_in_order(tree))}
    return [(0.6 * float(tree.depth[n]), -float(row[n])) for n in range(tree.node_count)]


def _in_order(tree: Any) -> list[int]:
    """Return the nodes, each before those below it, the left ones first."""
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if not tree.is_leaf[node]:
            waiting += [int(tree.right[node]), int(tree.left[node])]
    return order
