"""What every chapter must keep to, as checks on a notebook's stored content.

``violations`` returns sentences rather than raising, so that a chapter's author sees
all that is wrong at once. ``figure_difference`` measures how far two figures differ
where they differ most. Nothing here executes a cell.
"""

from __future__ import annotations

import ast
import base64
import io
import re
import statistics
import tokenize

import numpy as np
from nbformat import NotebookNode
from PIL import Image

MAX_CELL_LINES = 25
MAX_MEDIAN_LINES = 5
MAX_LINE_LENGTH = 75
MAX_DIGITS = 8
MIN_EXERCISES = 3

# What nbval passes over and no check of ours makes up for.
NOT_COMPARED = {"image/jpeg", "application/vnd.jupyter.widget-view+json"}

# Side of the square in which two figures are compared, in pixels: about one letter.
TILE = 16
# Root mean square difference of the worst tile, out of 255. The same code on the same
# Matplotlib gives 0; a line of 1.6 instead of 1.5 points gives about 4.
MAX_TILE_DIFFERENCE = 2.0

_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?", re.IGNORECASE)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b", re.IGNORECASE)
_MACHINE_PATH = re.compile(r"/(?:root|home|Users)/|site-packages|ipykernel_\d+")
_SCALAR_REPR = re.compile(r"\bnp\.(?:float|int|uint|complex|bool)\w*\(")
_NBVAL_MARK = re.compile(r"(?:NBVAL|PYTEST_VALIDATE)_\w+")
_NBVAL_TAG = re.compile(r"(?:nbval|pytest-validate)-|raises-exception")
_DIRECTIVE = re.compile(
    r"^ *[`:]{3,}\{(exercise|exercise-start|solution|solution-start)\} *(\S*)[^\n]*"
    r"((?:\n *:[\w-]+:.*)*)",
    re.MULTILINE,
)
_LABEL = re.compile(r":label: *(\S+)")


def violations(notebook: NotebookNode, *, is_case: bool = False) -> list[str]:
    """Return what is wrong with a chapter, as one sentence for each fault.

    ``notebook`` is a chapter as read by ``nbformat``. ``is_case`` marks a case study,
    which may have fewer than three exercises. An empty list means that none was found.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = _run_order(code) + _cell_lengths(code)
    for number, cell in enumerate(code):
        faults = _source(cell.source) + _outputs(cell) + _metadata(cell)
        found += [f"code cell {number}: {fault}" for fault in faults]
    return found + _exercises(notebook, 0 if is_case else MIN_EXERCISES)


def _run_order(code: list[NotebookNode]) -> list[str]:
    counts = [cell.execution_count for cell in code]
    if not code:
        return ["there is no code cell"]
    if counts != list(range(1, len(code) + 1)):
        return [f"not one run from top to bottom: execution counts are {counts}"]
    return []


def _cell_lengths(code: list[NotebookNode]) -> list[str]:
    shown = [c for c in code if "remove-cell" not in c.metadata.get("tags", [])]
    lengths = [len(cell.source.splitlines()) for cell in shown]
    if lengths and statistics.median(lengths) > MAX_MEDIAN_LINES:
        median = statistics.median(lengths)
        return [f"cells are long: the median is {median}, at most {MAX_MEDIAN_LINES}"]
    return []


def _source(source: str) -> list[str]:
    found = []
    lines = source.splitlines()
    if not source.strip():
        return ["it is empty"]
    if len(lines) > MAX_CELL_LINES:
        found.append(f"{len(lines)} lines, at most {MAX_CELL_LINES}")
    longest = max(map(len, lines))
    if longest > MAX_LINE_LENGTH:
        found.append(f"a line of {longest} characters, at most {MAX_LINE_LENGTH}")
    if mark := _NBVAL_MARK.search(source):
        found.append(f"{mark.group()} would switch the comparison off")
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        return found + [f"not plain Python (a magic or shell line?): {error}"]
    if any(map(_is_show, statements[:-1])):
        found.append("show(...) shows nothing: make it the last statement of its cell")
    if "get_ipython" in source:
        found.append("get_ipython is a magic in disguise")
    if _ends_in_semicolon(source):
        found.append("a line ends in a semicolon: end with plt.show() instead")
    return found


def _is_show(statement: ast.stmt) -> bool:
    """Return whether it is ``show(...)``, which a notebook displays in last place only."""
    call = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "id", "") == "show"


def _ends_in_semicolon(source: str) -> bool:
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type != tokenize.COMMENT
    ]
    ends = (tokenize.NEWLINE, tokenize.ENDMARKER)
    return any(a.string == ";" and b.type in ends for a, b in zip(tokens, tokens[1:]))


def _outputs(cell: NotebookNode) -> list[str]:
    found = []
    for output in cell.outputs:
        if output.output_type == "error":
            found.append("it stores an error: catch it and print what it says")
        if output.get("name") == "stderr":
            found.append(f"output on stderr: {output.text.strip()[:80]!r}")
        for kind in NOT_COMPARED & set(output.get("data", {})):
            found.append(f"{kind} is not compared by the tests: store PNG or text")
        for text in output_texts(output):
            found += _text(text)
    return found


def output_texts(output: NotebookNode) -> list[str]:
    """Return all that an output says in characters: streams, text, LaTeX, HTML."""
    texts = [output.text] if output.output_type == "stream" else []
    for kind, value in output.get("data", {}).items():
        if "text/" in kind:  # also the values that glue stores for the prose
            texts.append(value)
    return texts


def _text(text: str) -> list[str]:
    found = []
    for pattern, what in (
        (_ADDRESS, "an object's address"),
        (_MACHINE_PATH, "a path of this machine"),
        (_SCALAR_REPR, "the repr of a NumPy scalar"),
    ):
        if hit := pattern.search(text):
            found.append(f"{what} in the output: {hit.group()}")
    for number in _NUMBER.findall(text):
        if _digits(number) > MAX_DIGITS:
            found.append(f"over-precise: {number} (at most {MAX_DIGITS} digits)")
    return found


def _digits(number: str) -> int:
    """Count the significant digits of a decimal number written out."""
    mantissa = number.lower().split("e")[0]
    return len(mantissa.replace(".", "").lstrip("0"))


def _metadata(cell: NotebookNode) -> list[str]:
    found = []
    for tag in cell.metadata.get("tags", []):
        if _NBVAL_TAG.match(tag):
            found.append(f"the tag {tag} would switch the comparison off")
    alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    if stored_figures(cell.outputs) and not alt.strip():
        found.append("a figure without alt text (metadata mystnb.image.alt)")
    return found


def _exercises(notebook: NotebookNode, least: int) -> list[str]:
    exercises: list[str] = []
    solved: list[str] = []
    prose = [c.source for c in notebook.cells if c.cell_type == "markdown"]
    for kind, argument, options in _DIRECTIVE.findall("\n\n".join(prose)):
        if kind.startswith("solution"):
            solved.append(argument)
        else:
            label = _LABEL.search(options)
            exercises.append(label.group(1) if label else "(no label)")
    found = []
    if len(exercises) < least:
        found.append(f"{len(exercises)} exercises, at least {least}")
    for label in exercises:
        if label not in solved:
            found.append(f"exercise {label} has no solution")
    for label in solved:
        if label not in exercises:
            found.append(f"a solution refers to {label!r}, which is no exercise")
    return found


def stored_figures(outputs: list[NotebookNode]) -> list[str]:
    """Return the PNG figures among a cell's outputs, in base64 as stored."""
    return [o["data"]["image/png"] for o in outputs if "image/png" in o.get("data", {})]


def output_kinds(outputs: list[NotebookNode]) -> list[tuple[str, ...]]:
    """Return what each output is: its stream's name, or its sorted MIME types.

    A stream counts once, where it first appears, because nbval joins its parts.
    """
    kinds: list[tuple[str, ...]] = []
    for output in outputs:
        if output.output_type != "stream":
            kinds.append(tuple(sorted(output.get("data", {}))))
        elif (output.name,) not in kinds:
            kinds.append((output.name,))
    return kinds


def figure_difference(stored: str, drawn: str) -> float:
    """Return how far two PNG figures (base64) differ where they differ most.

    The value is the root mean square over red, green and blue, out of 255, of the worst
    square of ``TILE`` by ``TILE`` pixels at any position. A mean over the whole figure
    would drown one changed letter. Figures of unequal size are infinitely far apart.
    """
    old, new = _pixels(stored), _pixels(drawn)
    if old.shape != new.shape:
        return float("inf")
    squares = ((old - new) ** 2).mean(axis=2)
    side = [min(TILE, length) for length in squares.shape]
    # Sums over all tiles at once: differences of the summed-area table.
    table = np.pad(squares.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    rows = table[side[0] :] - table[: -side[0]]
    sums = rows[:, side[1] :] - rows[:, : -side[1]]
    # The table's rounding can leave a tile of zeros a hair below zero.
    return float(np.sqrt(max(sums.max(), 0.0) / (side[0] * side[1])))


def _pixels(png: str) -> np.ndarray:
    """Return a base64 PNG as float64 (height, width, 3), laid on white."""
    image = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image)
    return np.asarray(ground.convert("RGB"), dtype=float)
