"""Every chapter keeps the rules, has its module and its test, and is in normal form."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import yaml

from tools import notebooks
from tools.notebook_rules import violations
from tools.repository import ROOT

CHAPTERS = notebooks.chapter_paths()
NAMES = [path.relative_to(notebooks.CHAPTERS).as_posix() for path in CHAPTERS]
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=NAMES)


def listed_chapters() -> list[str]:
    """Return the chapters of the table of contents, as ``part/name``."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = contents.get("parts", []) + [{"chapters": contents.get("chapters", [])}]
    files = [entry["file"] for part in parts for entry in part["chapters"]]
    files = [file.removesuffix(".ipynb") for file in files]
    return [f.removeprefix("chapters/") for f in files if f.startswith("chapters/")]


@each_chapter
def test_the_rules_are_kept(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    broken = violations(notebook, is_case=notebooks.is_case(path))
    assert not broken, "\n".join(broken)


@each_chapter
def test_the_file_is_in_normal_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    normal = notebooks.normalise(nbformat.reads(text, as_version=4))
    assert notebooks.serialise(normal) == text, "run: make notebooks"


@each_chapter
def test_the_setup_cell_names_the_repository_and_this_release(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert first.source == notebooks.setup_source(), "run: make notebooks"


def test_the_contents_list_every_chapter_and_no_other() -> None:
    assert sorted(listed_chapters()) == sorted(n.removesuffix(".ipynb") for n in NAMES)


@pytest.mark.parametrize("chapter", listed_chapters())
def test_a_chapter_has_its_module_and_its_test(chapter: str) -> None:
    part, name = chapter.split("/")
    module = ROOT / "mlbook" / part / f"{name}.py"
    test = ROOT / "tests" / part / f"test_{name}.py"
    if part == "cases" and not module.exists():
        return  # a case study may do with the modules of the chapters before it
    assert module.is_file() and test.is_file()
