"""Proof that the tests of the chapters can fail.

Copies of a chapter, each with one fault in what it stores, go through pytest with the
options of ``make test``. The cell with the fault must be red, no other, and the
untouched copy green. Faulty figures come from drawing the chapter's own figure again
with one property changed, and are laid beside the old source.
"""

from __future__ import annotations

import copy
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tools import notebooks
from tools.notebook_rules import stored_figures
from tools.repository import ROOT

REAL_CHAPTER = notebooks.CHAPTERS / "networks" / "optimizers.ipynb"

# Wraps the drawing of figures, so that it reaches a figure however the cell shows it.
BEFORE_DRAWING = '''
import matplotlib.figure as _figure
from matplotlib.transforms import Affine2D as _Affine2D
def _letter(texts):
    text = next(t for t in texts if t.get_text() and "$" not in t.get_text())
    old = text.get_text()
    at = max(i for i, letter in enumerate(old) if letter.isalpha())
    text.set_text(old[:at] + ("o" if old[at] == "e" else "e") + old[at + 1:])
def _change(figure):
    axes = figure.axes
    {change}
def _draw(figure, renderer, _plain=_figure.Figure.draw):
    if not hasattr(figure, "_changed"):
        figure._changed = True
        _change(figure)
    return _plain(figure, renderer)
_kept, _figure.Figure.draw = _figure.Figure.draw, _draw
'''
AFTER_DRAWING = "_figure.Figure.draw = _kept"
CURVE = "line = next(l for a in axes for l in a.lines if len(l.get_xdata()) > 2); "
CHANGES = {
    "curve moved by 1%": CURVE
    + "line.set_transform(line.get_transform()"
    + " + _Affine2D().translate(0, 0.01 * line.axes.bbox.height))",
    "line a hair thicker": CURVE + "line.set_linewidth(line.get_linewidth() + 0.1)",
    "letter in title": "_letter([a.title for a in axes])",
    "letter in legend": "_letter([t for a in axes if a.get_legend()"
    + " for t in a.get_legend().get_texts()])",
}
EDITS = ("digit", "SymPy term", "deleted figure", "removed output")
MARKDOWN = "Markdown digit"
Mutants = dict[str, tuple[NotebookNode, int]]
Verdicts = dict[str, dict[int, str]]
Outcome = tuple[Mutants, Verdicts]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def redrawn(chapter: NotebookNode) -> Iterator[tuple[int, str, str]]:
    """Yield (code cell, change, new PNG) for every figure that a change can be made to.

    All figures are drawn in one run: each cell, then the cell again under each change.
    """
    plan: list[tuple[int, str]] = []
    probe = nbformat.v4.new_notebook()
    for number, cell in enumerate(code_cells(chapter)):
        probe.cells.append(new_code_cell(cell.source))
        plan.append((number, ""))
        for change, code in CHANGES.items() if stored_figures(cell.outputs) else ():
            probe.cells += [
                new_code_cell(BEFORE_DRAWING.replace("{change}", code)),
                # A figure without, say, a legend raises while it is drawn.
                new_code_cell(cell.source, metadata={"tags": ["raises-exception"]}),
                new_code_cell(AFTER_DRAWING),
            ]
            plan += [(number, ""), (number, change), (number, "")]
    notebooks.execute(probe, ROOT)
    for (number, change), cell in zip(plan, probe.cells, strict=True):
        figures = stored_figures(cell.outputs)
        if change and figures:
            yield number, change, figures[0]


def with_figure(chapter: NotebookNode, number: int, png: str) -> NotebookNode:
    mutant = copy.deepcopy(chapter)
    for output in code_cells(mutant)[number].outputs:
        if "image/png" in output.get("data", {}):
            output.data["image/png"] = png
            return mutant
    raise LookupError(f"code cell {number} stores no figure")


def another_digit(text: str) -> str:
    """Return ``text`` with its first digit changed, or unchanged without one."""
    for position, letter in enumerate(text):
        if letter.isdecimal():
            return text[:position] + str((int(letter) + 1) % 10) + text[position + 1 :]
    return text


def another_term(text: str) -> str:
    """Return a formula with its first plus or minus flipped, else a digit changed."""
    for position, letter in enumerate(text):
        if letter in "+-":
            return text[:position] + "-+"["+-".index(letter)] + text[position + 1 :]
    return another_digit(text)


def edited(chapter: NotebookNode, edit: str) -> tuple[NotebookNode, int]:
    """Return a copy with the first output that suits ``edit`` changed, and its cell."""
    mutant = copy.deepcopy(chapter)
    for number, cell in enumerate(code_cells(mutant)):
        for position, output in enumerate(cell.outputs):
            data = output.get("data", {})
            if edit == "removed output" and not data.get("image/png"):
                del cell.outputs[position]
            elif edit == "deleted figure" and "image/png" in data:
                del data["image/png"]
            elif edit == "digit" and output.output_type == "stream":
                output.text = another_digit(output.text)
            elif edit == "SymPy term" and "text/latex" in data:
                data["text/latex"] = another_term(data["text/latex"])
            elif edit == "SymPy term" and "$" in data.get("text/markdown", ""):
                data["text/markdown"] = another_term(data["text/markdown"])
            elif edit == MARKDOWN and "text/markdown" in data:
                data["text/markdown"] = another_digit(data["text/markdown"])
            if mutant != chapter:
                return mutant, number
    raise LookupError(f"no output suits {edit!r}")


def make_mutants(chapter: NotebookNode) -> Mutants:
    """Return the faulty copies by name, each with the code cell that must turn red."""
    mutants: Mutants = {}
    for number, change, png in redrawn(chapter):
        mutants.setdefault(change, (with_figure(chapter, number, png), number))
    for edit in EDITS:
        mutants[edit] = edited(chapter, edit)
    return mutants


def shortened(notebook: NotebookNode, cell: int) -> NotebookNode:
    """Return the code cells of ``notebook`` up to and with number ``cell``."""
    short = copy.copy(notebook)
    short.cells = code_cells(notebook)[: cell + 1]
    return short


def stripped(chapter: NotebookNode) -> NotebookNode:
    mutant = copy.deepcopy(chapter)
    for cell in code_cells(mutant):
        cell.outputs, cell.execution_count = [], None
    return mutant


def run_pytest(folder: Path, environment: dict[str, str]) -> Verdicts:
    """Test all notebooks in ``folder`` with the options of ``make test``.

    Returns {notebook: {code cell: message}} of all cells, the message of a green one
    being empty.
    """
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml")]
    command += ["-p", "conftest", "-p", "no:cacheprovider", "-n", "2"]
    command += ["--dist", "loadfile", f"--junitxml={report}", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts: Verdicts = defaultdict(dict)
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("classname", "").removesuffix(".ipynb").split(".")[-1]
        cell = int(case.get("name", "").removeprefix("Cell "))
        faults = [*case.iter("failure"), *case.iter("error")]
        verdicts[name][cell] = "".join(fault.text or "?" for fault in faults)
    return verdicts


def reds(cells: dict[int, str]) -> set[int]:
    return {cell for cell, message in cells.items() if message}


@pytest.fixture(scope="module")
def verdicts(
    tmp_path_factory: pytest.TempPathFactory,
    small_chapter: NotebookNode,
    foreign_kernels: dict[str, str],
) -> Outcome:
    """All mutants and, by name, what one pytest run said of each cell of each copy."""
    small = notebooks.execute(copy.deepcopy(small_chapter), ROOT)
    chapter = small
    if REAL_CHAPTER.exists():
        chapter = nbformat.read(REAL_CHAPTER, as_version=4)
    mutants = make_mutants(chapter)
    last = max(cell for _, cell in mutants.values())
    copies = {"untouched": (chapter, last), "stripped": (stripped(chapter), last)}
    # Few chapters show Markdown, so that this fault is always laid into the small one.
    mutants[MARKDOWN] = edited(small, MARKDOWN)
    folder = tmp_path_factory.mktemp("mutants")
    for name, (notebook, cell) in (mutants | copies).items():
        nbformat.write(shortened(notebook, cell), folder / f"{name}.ipynb")
    return mutants, run_pytest(folder, foreign_kernels)


@pytest.mark.parametrize("name", [*CHANGES, *EDITS, MARKDOWN])
def test_one_fault_turns_its_cell_red(name: str, verdicts: Outcome) -> None:
    mutants, cells = verdicts
    assert name in mutants, f"no output of the chapter allows the change {name!r}"
    assert reds(cells[name]) == {mutants[name][1]}
    if name in CHANGES:
        assert "is not what the code draws" in cells[name][mutants[name][1]]


def test_stripped_outputs_turn_every_cell_red(verdicts: Outcome) -> None:
    cells = verdicts[1]
    assert reds(cells["stripped"]) == set(cells["untouched"])


def test_the_untouched_copy_is_green(verdicts: Outcome) -> None:
    untouched = verdicts[1]["untouched"]
    assert untouched and reds(untouched) == set()
