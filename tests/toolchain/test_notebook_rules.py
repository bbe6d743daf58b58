"""Each rule of a chapter, held to a chapter that breaks just this one."""

from __future__ import annotations

import base64
import copy
import io

import numpy as np
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output
from PIL import Image

from tools import notebooks
from tools.notebook_rules import (
    MAX_TILE_DIFFERENCE,
    TILE,
    figure_difference,
    output_kinds,
    violations,
)


@pytest.fixture(scope="module")
def executed(small_chapter: NotebookNode) -> NotebookNode:
    return notebooks.execute(copy.deepcopy(small_chapter), notebooks.ROOT)


@pytest.fixture
def chapter(executed: NotebookNode) -> NotebookNode:
    return copy.deepcopy(executed)


def test_a_proper_chapter_breaks_no_rule(chapter: NotebookNode) -> None:
    assert violations(chapter) == []


SOURCES = {
    "%matplotlib inline": "not plain Python",
    "!ls": "not plain Python",
    "x?": "not plain Python",
    "get_ipython().system('ls')": "a magic in disguise",
    "x = 1;": "ends in a semicolon",
    "show(step)\nx = 1": "show(...) shows nothing",
    "x = 1;  # quiet\ny = 2": "ends in a semicolon",
    "# NBVAL_IGNORE_OUTPUT\nx = 1": "NBVAL_IGNORE_OUTPUT would switch",
    "\n".join(["x = 1"] * 26): "26 lines, at most 25",
    "x = '" + 80 * "a" + "'": "a line of 86 characters, at most 75",
    "": "it is empty",
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_faulty_source_is_named(source: str, chapter: NotebookNode) -> None:
    chapter.cells[2].source = source
    (found,) = violations(chapter)
    assert SOURCES[source] in found and found.startswith("code cell 1:")


@pytest.mark.parametrize(
    "source", ["x = 1; y = 2", "print('a;')", "text = '''a;\nb;'''", "5 % 3", "'100%'"]
)
def test_a_lawful_source_passes(source: str, chapter: NotebookNode) -> None:
    chapter.cells[2].source = source
    assert violations(chapter) == []


TEXTS = {
    "<Tree object at 0x7f2a8c1d>": "an object's address",
    "saved to /home/someone/x": "a path of this machine",
    "np.float64(0.5)": "the repr of a NumPy scalar",
    "0.3333333333333333": "over-precise: 0.3333333333333333",
    "1.23456789e-05": "over-precise: 1.23456789e-05",
    "loss=-12.3456789": "over-precise: 12.3456789",
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", ["stream", "text/plain", "text/latex", "text/html"])
def test_a_faulty_output_is_named(kind: str, text: str, chapter: NotebookNode) -> None:
    if kind == "stream":
        output = new_output("stream", text=text)
    else:
        output = new_output("display_data", data={kind: text})
    chapter.cells[2].outputs = [output]
    (found,) = violations(chapter)
    assert TEXTS[text] in found


@pytest.mark.parametrize(
    "text", ["1.2345678", "0.00012345678", "123456789012", "v1.14.0 of 2026", "1e-12"]
)
def test_a_lawful_output_passes(text: str, chapter: NotebookNode) -> None:
    chapter.cells[2].outputs = [new_output("stream", text=text)]
    assert violations(chapter) == []


def test_values_for_the_prose_are_output_too(chapter: NotebookNode) -> None:
    data = {"application/papermill.record/text/plain": "0.3333333333333333"}
    chapter.cells[2].outputs = [new_output("display_data", data=data)]
    (found,) = violations(chapter)
    assert "over-precise" in found


def test_what_is_not_compared_is_refused(chapter: NotebookNode) -> None:
    chapter.cells[2].outputs = [new_output("display_data", data={"image/jpeg": ""})]
    (found,) = violations(chapter)
    assert "image/jpeg is not compared" in found


def test_standard_error_and_errors_are_named(chapter: NotebookNode) -> None:
    chapter.cells[2].outputs = [
        new_output("stream", name="stderr", text="Warning: overflow"),
        new_output("error", ename="ValueError", evalue="no", traceback=[]),
    ]
    found = "\n".join(violations(chapter))
    assert "output on stderr: 'Warning: overflow'" in found
    assert "it stores an error" in found


@pytest.mark.parametrize(
    "counts", [[1, 2, 4, 5, 6], [2, 1, 3, 4, 5], [1, 2, 3, 4, None]]
)
def test_one_run_from_top_to_bottom(counts: list, chapter: NotebookNode) -> None:
    code = [cell for cell in chapter.cells if cell.cell_type == "code"]
    for cell, count in zip(code, counts, strict=True):
        cell.execution_count = count
    (found,) = violations(chapter)
    assert "not one run from top to bottom" in found


def test_long_cells_throughout_are_named(chapter: NotebookNode) -> None:
    for cell in chapter.cells:
        if cell.cell_type == "code":
            cell.source = "\n".join(["x = 1"] * 6)
    (found,) = violations(chapter)
    assert "the median is 6" in found


def test_metadata(chapter: NotebookNode) -> None:
    figure = next(c for c in chapter.cells if "mystnb" in c.metadata)
    figure.metadata = NotebookNode(tags=["nbval-skip"])
    found = "\n".join(violations(chapter))
    assert "the tag nbval-skip would switch the comparison off" in found
    assert "a figure without alt text" in found


def test_exercises(chapter: NotebookNode) -> None:
    unsolved = chapter.cells.pop()
    assert "2 exercises, at least 3" in violations(chapter)
    assert violations(chapter, is_case=True) == []
    unsolved.source = unsolved.source.split("```{solution-start}")[0]
    chapter.cells.append(unsolved)
    assert violations(chapter) == ["exercise ex-2 has no solution"]
    chapter.cells.append(new_markdown_cell("::::{solution} ex-2\nDone.\n::::"))
    assert violations(chapter) == []
    unlike = "````{exercise}\n:class: x\n:label: a\n````"
    chapter.cells.append(new_markdown_cell(unlike))
    assert violations(chapter) == ["exercise a has no solution"]
    chapter.cells[-1].source = "```{solution} nowhere\n```"
    (found,) = violations(chapter)
    assert "'nowhere', which is no exercise" in found


def test_a_stream_counts_once_among_the_kinds() -> None:
    parts = [
        new_output("stream", text="a"),
        new_output("display_data", data={"text/plain": "b", "image/png": ""}),
        new_output("stream", text="c"),
    ]
    assert output_kinds(parts) == [("stdout",), ("image/png", "text/plain")]


def png(pixels: np.ndarray) -> str:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode("ascii")


@pytest.mark.parametrize("corner", [(0, 0), (8, 40), (84, 134), (41, 7)])
def test_the_difference_is_that_of_the_worst_tile_wherever_it_lies(
    corner: tuple[int, int],
) -> None:
    white = np.full((100, 150, 3), 255, dtype=np.uint8)
    spotted = white.copy()
    row, column = corner
    spotted[row : row + TILE, column : column + TILE] -= 10
    assert figure_difference(png(white), png(spotted)) == pytest.approx(10)
    assert figure_difference(png(spotted), png(spotted)) == 0


def test_figures_of_unequal_or_tiny_size() -> None:
    small, other = (np.zeros((5, n, 3), dtype=np.uint8) for n in (5, 6))
    assert figure_difference(png(small), png(other)) > MAX_TILE_DIFFERENCE
    assert figure_difference(png(small), png(small + np.uint8(9))) == pytest.approx(9)


def test_transparent_figures_are_compared_on_white() -> None:
    clear = np.zeros((20, 20, 4), dtype=np.uint8)
    white = np.full((20, 20, 3), 255, dtype=np.uint8)
    assert figure_difference(png(clear), png(white)) == 0
