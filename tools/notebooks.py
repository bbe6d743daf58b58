"""Execute chapters from a clean kernel and store them in one normal form.

``python -m tools.notebooks`` runs every chapter, ``python -m tools.notebooks FILE ...``
those given. A chapter whose cells all succeed is replaced in one step; one that fails
is left as it was and reported. A second run changes nothing.
"""

from __future__ import annotations

import base64
import multiprocessing
import os
import struct
import sys
import uuid
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

from tools.notebook_rules import violations
from tools.repository import ROOT, release_tag, repository_url

CHAPTERS = ROOT / "chapters"
PROCESSES = 2
CELL_TIMEOUT = 120  # seconds, as in the tests
KEPT_METADATA = ("tags", "mystnb")
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# A failing cell, a dead kernel, a time-out, and a file that holds no valid notebook.
REPORTED = (
    CellExecutionError,
    RuntimeError,
    OSError,
    ValueError,
    nbformat.ValidationError,
)
SETUP_ID = "colab-setup"
SETUP_SOURCE = '''\
# Colab has no copy of the book's package: fetch the version of this page.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("mlbook") is None:
    source = "git+{url}@{tag}"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", source]
    subprocess.run(pip, check=True)
'''.rstrip()


def chapter_paths() -> list[Path]:
    """Return every chapter's notebook, in alphabetical order."""
    return sorted(
        path
        for path in CHAPTERS.rglob("*.ipynb")
        if ".ipynb_checkpoints" not in path.parts
    )


def is_case(path: Path) -> bool:
    """Say whether a chapter is a case study, by the folder that it lies in."""
    return path.parent.name == "cases"


def setup_source() -> str:
    """Return the source of the first code cell, which provides ``mlbook`` on Colab."""
    return SETUP_SOURCE.format(url=repository_url(), tag=release_tag())


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run all cells of ``notebook`` in place, in a new kernel working in ``folder``.

    The kernel is that of this Python whatever kernels are registered. Raises
    ``CellExecutionError`` at the first cell that fails. Returns the notebook.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    manager = AsyncKernelManager(
        kernel_name=CURRENT_ENV_KERNEL_NAME,
        kernel_spec_manager=NbvalKernelspecManager(),
    )
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        coalesce_streams=True,  # a print must not split where the kernel was slow
        extra_arguments=["--log-level=ERROR"],  # a kernel's remarks on its transport
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


def refresh_setup(notebook: NotebookNode) -> None:
    """Write the set-up cell in front of the first code cell, or bring it up to date."""
    code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    first = code[0] if code else len(notebook.cells)
    if not code or notebook.cells[first].get("id") != SETUP_ID:
        hidden = {"tags": ["remove-cell"]}
        cell = nbformat.v4.new_code_cell(id=SETUP_ID, metadata=hidden)
        notebook.cells.insert(first, cell)
    notebook.cells[first].source = setup_source()


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Strip ``notebook`` in place down to what the book needs, and return it.

    Kept are sources, outputs, execution counts, cell ids and the metadata that the
    site reads; cells without an id get one.
    """
    for cell in notebook.cells:
        cell.id = cell.get("id") or uuid.uuid4().hex[:8]
        kept = {k: v for k, v in cell.metadata.items() if k in KEPT_METADATA}
        cell.metadata = nbformat.from_dict(kept)
        for output in cell.get("outputs", []):
            _normalise_output(output)
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _normalise_output(output: NotebookNode) -> None:
    if "metadata" in output:
        # "scrapbook" carries the values that the text quotes through glue.
        kept = {k: v for k, v in output.metadata.items() if k == "scrapbook"}
        output.metadata = nbformat.from_dict(kept)
    if "image/png" in output.get("data", {}):
        output.data["image/png"] = _without_notes(output.data["image/png"])


def _without_notes(png: str) -> str:
    """Return a base64 PNG without its text and time chunks, which name the software."""
    data = base64.b64decode(png)
    kept, position = data[:8], 8
    while position < len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        chunk = data[position : position + length + 12]  # length, type, body, checksum
        if chunk[4:8] not in (b"tEXt", b"iTXt", b"zTXt", b"tIME"):
            kept += chunk
        position += len(chunk)
    return base64.b64encode(kept).decode("ascii")


def serialise(notebook: NotebookNode) -> str:
    """Return the text of a valid notebook as it stands in its file."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def run_chapter(path: Path) -> list[str]:
    """Execute and normalise one chapter in place; return the rules that it breaks.

    The file is replaced as a whole after all cells have succeeded; an error leaves it
    untouched.
    """
    notebook = nbformat.read(path, as_version=4)
    refresh_setup(notebook)
    text = serialise(normalise(execute(notebook, path.parent)))
    fresh = path.with_suffix(".ipynb.new")
    fresh.write_text(text, encoding="utf-8")
    os.replace(fresh, path)
    return violations(notebook, is_case=is_case(path))


def _report(path: Path) -> bool:
    try:
        broken = run_chapter(path)
    except REPORTED as error:
        print(f"FAILED {path}: left as it was\n{error}", flush=True)
        return False
    print("\n  ".join([f"ran {path}", *broken]), flush=True)
    return True


def main(arguments: list[str]) -> int:
    """Run the chapters named, or all; return 1 if one of them failed, else 0."""
    paths = [Path(argument).resolve() for argument in arguments] or chapter_paths()
    for path in paths:
        if path.suffix != ".ipynb" or not path.is_file():
            raise SystemExit(f"{path} is no notebook: expected an existing .ipynb file")
    # Fresh processes: a fork of one that runs threads, as pytest's are, may lock up.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=fresh) as processes:
        succeeded = list(processes.map(_report, paths))
    return 0 if all(succeeded) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
