"""The figures' style: widths, font sizes, and lines that differ without colour."""

import io
import subprocess
import sys
import warnings
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from mlbook import figures
from mlbook.ensembles.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor


@pytest.fixture(autouse=True)
def styled():
    with mpl.rc_context():
        figures.use_style()
        yield
        plt.close("all")


def luminance(color):
    rgb = np.array(mpl.colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def plot_all():
    figure, axes = plt.subplots()
    for k in range(len(figures.COLORS)):
        axes.plot([0, 1], [k, k + 1], label=f"line {k}")
    axes.set(xlabel=r"$\beta_1$", ylabel="error", title="Title")
    axes.legend()
    return figure


def test_lines_of_the_cycle_differ_in_grey():
    """Each pair differs in its dashes, whatever becomes of the colours."""
    lines = plot_all().axes[0].lines
    dashes = [str(line._unscaled_dash_pattern) for line in lines]
    assert all(first != second for first, second in combinations(dashes, 2))
    assert len(set(figures.COLORS)) == len(figures.MARKERS) == len(dashes) == 7
    assert len(set(figures.MARKERS)) == 7


def test_colours_stand_out_from_white_paper():
    for color in figures.COLORS:
        contrast = 1.05 / (luminance(color) + 0.05)
        assert contrast > 2.1, color
    for color in figures.COLORS[:3]:
        assert 1.05 / (luminance(color) + 0.05) > 3, color


def test_size_and_type():
    rc = mpl.rcParams
    assert rc["figure.figsize"][0] <= figures.MAX_WIDTH == 7.0
    assert 100 <= rc["figure.dpi"] == rc["savefig.dpi"] <= 130
    sizes = "font.size axes.titlesize axes.labelsize xtick.labelsize ytick.labelsize"
    assert min(rc[name] for name in [*sizes.split(), "legend.fontsize"]) >= 9
    assert plot_all().canvas.get_width_height()[0] == round(6.5 * 110)


def test_white_background():
    image = plt.imread(io.BytesIO(png(plot_all())))
    assert image[0, 0].tolist() == image[-1, -1].tolist() == [1, 1, 1, 1]


def test_twice_is_once():
    before = dict(mpl.rcParams)
    figures.use_style()
    assert dict(mpl.rcParams) == before


def test_same_picture_twice_without_a_word(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        first, second = png(plot_all()), png(plot_all())
    assert first == second
    assert b"Software" not in first
    assert capfd.readouterr() == ("", "")


def test_only_figures_imports_matplotlib_and_importing_it_opens_no_backend():
    code = """
import importlib, pkgutil, sys, mlbook
for module in pkgutil.walk_packages(mlbook.__path__, "mlbook."):
    if module.name != "mlbook.figures":
        importlib.import_module(module.name)
assert "matplotlib" not in sys.modules, "matplotlib was imported"
import mlbook.figures
assert "matplotlib.pyplot" not in sys.modules, "pyplot was imported"
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(figures.__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stderr


def grown(n_leaves, regression=False):
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = X[:, 0] + np.sin(3 * X[:, 1])
    if regression:
        return DecisionTreeRegressor(max_leaf_nodes=n_leaves).fit(X, y)
    words = np.array(["early", "in time", "late"])[np.digitize(y, [-0.5, 0.8])]
    return DecisionTreeClassifier(max_leaf_nodes=n_leaves, min_samples_leaf=5).fit(
        X, words)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize(("layout", "n_leaves", "size"), [
    ("down", 6, (7.0, 3.8)), ("down", 3, (3.5, 2.4)), ("outline", 8, (3.5, 3.6)),
    ("outline", 12, (7.0, 5.2))])
def test_the_boxes_of_a_tree_lie_apart_and_inside(layout, n_leaves, size, regression):
    model = grown(n_leaves, regression)
    figure, ax = plt.subplots(figsize=size)
    figures.plot_tree(model, ax, ["length", "width"], layout=layout)
    figure.canvas.draw()
    boxes = {text.get_gid(): text.get_bbox_patch().get_window_extent()
             for text in ax.texts if text.get_gid()}
    assert len(boxes) == model.tree_.node_count == 2 * n_leaves - 1
    for first, second in combinations(boxes.values(), 2):
        assert not first.overlaps(second)
    width, height = figure.canvas.get_width_height()
    for box in boxes.values():
        assert 0 <= box.x0 and box.x1 <= width and 0 <= box.y0 and box.y1 <= height
    assert min(text.get_fontsize() for text in ax.texts) >= 9


@pytest.mark.parametrize("layout", ["down", "outline"])
def test_the_boxes_of_a_tree_say_what_its_nodes_do(layout):
    model = DecisionTreeClassifier().fit([[0.0, 5], [1, 5], [4, 5]], ["a", "a", "b"])
    _, ax = plt.subplots()
    figures.plot_tree(model, ax, ["length", "width"], layout=layout)
    between = {"down": "\n", "outline": ",  "}[layout]
    said = {text.get_gid(): text.get_text() for text in ax.texts if text.get_gid()}
    assert said == {"node 0": f"length \u2264 2.50{between}n = 3",
                    "node 1": f"a{between}n = 2", "node 2": f"b{between}n = 1"}
    places = {text.get_gid(): text.get_position() for text in ax.texts}
    if layout == "down":  # yes to the left
        assert places["node 1"][0] < places["node 0"][0] < places["node 2"][0]
        answers = [text for text in ax.texts if not text.get_gid()]
        assert [text.get_text() for text in answers] == ["yes", "no"]
        assert answers[0].get_position()[0] < answers[1].get_position()[0]
    else:  # yes first
        assert places["node 0"][1] > places["node 1"][1] > places["node 2"][1]


def test_a_tree_is_drawn_only_when_fitted_and_in_a_known_layout():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="layout must be one of 'down', 'outline'"):
        figures.plot_tree(grown(3), ax, layout="up")
    with pytest.raises(ValueError, match="not fitted yet"):
        figures.plot_tree(DecisionTreeClassifier(), ax)
