"""Proof that the tests of the chapters can fail.

Copies of a chapter, with faults in what some cells store, go through pytest with the
options of ``make test``. The cells with a fault must be red, no other, and the
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
EDITS = ("digit", "SymPy term", "Markdown digit", "deleted figure", "removed output")
Outputs = list[NotebookNode]
# For each fault, the code cells that can bear it, with what they would then store.
Faults = dict[str, list[tuple[int, Outputs]]]
# What pytest said of each code cell of a notebook; nothing, where it was green.
Verdicts = dict[int, str]
# The faults of each copy by cell; the verdicts of all copies by name.
Outcome = tuple[list[dict[int, str]], dict[str, Verdicts]]


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


def with_figure(outputs: Outputs, png: str) -> Outputs:
    """Return a copy of a cell's outputs with its first figure replaced."""
    faulty = copy.deepcopy(outputs)
    figure = next(o for o in faulty if "image/png" in o.get("data", {}))
    figure.data["image/png"] = png
    return faulty


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


def edited(outputs: Outputs, edit: str) -> Outputs:
    """Return a copy of a cell's outputs, the first one that suits ``edit`` changed."""
    faulty = copy.deepcopy(outputs)
    for position, output in enumerate(faulty):
        data = output.get("data", {})
        if edit == "removed output" and "image/png" not in data:
            del faulty[position]
        elif edit == "deleted figure" and "image/png" in data:
            del data["image/png"]
        elif edit == "digit" and output.output_type == "stream":
            output.text = another_digit(output.text)
        elif edit == "Markdown digit" and "text/markdown" in data:
            data["text/markdown"] = another_digit(data["text/markdown"])
        elif edit == "SymPy term" and "text/latex" in data:
            data["text/latex"] = another_term(data["text/latex"])
        elif edit == "SymPy term" and "$" in data.get("text/markdown", ""):
            data["text/markdown"] = another_term(data["text/markdown"])
        if faulty != outputs:
            break
    return faulty


def possible_faults(chapter: NotebookNode) -> Faults:
    cells = code_cells(chapter)
    faults: Faults = defaultdict(list)
    for number, change, png in redrawn(chapter):
        faults[change].append((number, with_figure(cells[number].outputs, png)))
    for number, cell in enumerate(cells):
        for edit in EDITS:
            faulty = edited(cell.outputs, edit)
            if faulty != cell.outputs:
                faults[edit].append((number, faulty))
    return faults


def packed(faults: Faults) -> list[dict[int, tuple[str, Outputs]]]:
    """Share the faults out among few copies, each cell bearing at most one.

    Returns for each copy {code cell: (fault, outputs)}. The rarest fault chooses first.
    """
    copies: list[dict[int, tuple[str, Outputs]]] = []
    for name in sorted(faults, key=lambda name: len(faults[name])):
        if all(number in shared for shared in copies for number, _ in faults[name]):
            copies.append({})
        shared = next(c for c in copies if any(n not in c for n, _ in faults[name]))
        number, outputs = next(f for f in faults[name] if f[0] not in shared)
        shared[number] = (name, outputs)
    return copies


def with_outputs(
    chapter: NotebookNode, faulty: dict[int, tuple[str, Outputs]], last: int
) -> NotebookNode:
    """Return the code cells up to and with ``last``, some with other outputs."""
    mutant = copy.deepcopy(chapter)
    mutant.cells = code_cells(mutant)[: last + 1]
    for number, (_, outputs) in faulty.items():
        mutant.cells[number].outputs = outputs
    return mutant


def stripped(chapter: NotebookNode, last: int) -> NotebookNode:
    mutant = with_outputs(chapter, {}, last)
    for cell in mutant.cells:
        cell.outputs, cell.execution_count = [], None
    return mutant


def run_pytest(folder: Path, environment: dict[str, str]) -> dict[str, Verdicts]:
    """Test all notebooks in ``folder`` with the options of ``make test``.

    Returns the verdicts by the notebooks' names.
    """
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml")]
    command += ["-p", "conftest", "-p", "no:cacheprovider", "-n2"]
    command += ["--dist", "loadfile", f"--junitxml={report}", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts: dict[str, Verdicts] = defaultdict(dict)
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("classname", "").removesuffix(".ipynb").split(".")[-1]
        cell = int(case.get("name", "").removeprefix("Cell "))
        faults = [*case.iter("failure"), *case.iter("error")]
        verdicts[name][cell] = "".join(fault.text or "?" for fault in faults)
    return verdicts


def reds(verdicts: Verdicts) -> set[int]:
    return {cell for cell, message in verdicts.items() if message}


@pytest.fixture(scope="module")
def outcome(
    tmp_path_factory: pytest.TempPathFactory,
    small_chapter: NotebookNode,
    foreign_kernels: dict[str, str],
) -> Outcome:
    """The faults of each copy by cell, and what one pytest run said of all copies."""
    if REAL_CHAPTER.exists():
        chapter = nbformat.read(REAL_CHAPTER, as_version=4)
    else:
        chapter = notebooks.execute(copy.deepcopy(small_chapter), ROOT)
    copies = packed(possible_faults(chapter))
    last = max(max(faulty) for faulty in copies)
    notebook_of = {
        str(number): with_outputs(chapter, faulty, max(faulty))
        for number, faulty in enumerate(copies)
    }
    notebook_of["untouched"] = with_outputs(chapter, {}, last)
    notebook_of["stripped"] = stripped(chapter, min(min(faulty) for faulty in copies))
    folder = tmp_path_factory.mktemp("copies")
    for name, notebook in notebook_of.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")
    names = [{cell: name for cell, (name, _) in faulty.items()} for faulty in copies]
    return names, run_pytest(folder, foreign_kernels)


@pytest.mark.parametrize("name", [*CHANGES, *EDITS])
def test_a_fault_turns_its_cell_red(name: str, outcome: Outcome) -> None:
    copies, verdicts = outcome
    messages = [
        verdicts[str(number)][cell]
        for number, faulty in enumerate(copies)
        for cell in faulty
        if faulty[cell] == name
    ]
    assert messages, f"no output of the chapter can bear the fault {name!r}"
    assert messages[0]
    if name in CHANGES:
        assert "is not what the code draws" in messages[0]


def test_no_other_cell_is_red(outcome: Outcome) -> None:
    copies, verdicts = outcome
    for number, faulty in enumerate(copies):
        assert reds(verdicts[str(number)]) == set(faulty)


def test_stripped_outputs_turn_every_cell_red(outcome: Outcome) -> None:
    stripped_copy = outcome[1]["stripped"]
    assert stripped_copy and reds(stripped_copy) == set(stripped_copy)


def test_the_untouched_copy_is_green(outcome: Outcome) -> None:
    untouched = outcome[1]["untouched"]
    assert untouched and reds(untouched) == set()
