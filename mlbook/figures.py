"""One style for every figure of the book.

Call ``use_style()`` once, before the first figure. Figures then fit a text column of
688 pixels, are legible in grey (the lines of the cycle differ in dashes as well as in
colour) and stand on white, so that a dark page shows them as they are.

The colours are those that Okabe and Ito (2008) chose to be told apart by everybody.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl

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
