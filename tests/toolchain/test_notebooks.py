"""The runner of ``make notebooks``: what it writes, keeps and refuses to touch."""

from __future__ import annotations

import base64
import copy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tools import notebooks
from tools.notebook_rules import stored_figures, violations
from tools.repository import ROOT, release_tag, repository_slug, repository_url

ADDRESS = "https://github.com/reader/fork"


@pytest.fixture
def chapter(small_chapter: NotebookNode, tmp_path: Path) -> Path:
    """A never executed chapter in a file, with editor's metadata all over it."""
    notebook = copy.deepcopy(small_chapter)
    notebook.metadata["language_info"] = {"name": "python", "version": "3.99"}
    notebook.cells[1].metadata["collapsed"] = True
    notebook.cells[1].metadata["tags"] = ["hide-input"]
    path = tmp_path / "small.ipynb"
    nbformat.write(notebook, path)
    return path


def test_a_run_is_normal_and_a_second_run_changes_nothing(
    chapter: Path, small_chapter: NotebookNode
) -> None:
    assert notebooks.run_chapter(chapter) == []
    first = chapter.read_bytes()
    notebook = nbformat.read(chapter, as_version=4)
    assert notebook.nbformat_minor == 5
    assert notebook.metadata.language_info == {"name": "python"}
    setup, code = [c for c in notebook.cells if c.cell_type == "code"][:2]
    assert setup.metadata == {"tags": ["remove-cell"]}
    assert code.metadata == {"tags": ["hide-input"]}
    kept = [cell.id for cell in notebook.cells if cell.id != setup.id]
    assert kept == [cell.id for cell in small_chapter.cells]
    assert violations(notebook) == []

    assert notebooks.main([str(chapter)]) == 0
    assert chapter.read_bytes() == first
    assert list(chapter.parent.iterdir()) == [chapter], "no temporary file is left"


def test_other_kernels_of_that_name_do_not_matter(
    chapter: Path, foreign_kernels: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "tools.notebooks", str(chapter)]
    subprocess.run(command, cwd=ROOT, env=foreign_kernels, check=True)


def test_stored_figures_do_not_name_the_software(chapter: Path) -> None:
    notebooks.run_chapter(chapter)
    notebook = nbformat.read(chapter, as_version=4)
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    (figure,) = stored_figures(outputs)
    assert b"Software" not in base64.b64decode(figure)
    assert base64.b64decode(figure).endswith(b"IEND\xaeB`\x82")


def test_a_failing_cell_leaves_the_file_untouched(
    chapter: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    notebook = nbformat.read(chapter, as_version=4)
    notebook.cells[2].source = "1 / 0"
    nbformat.write(notebook, chapter)
    before = chapter.read_bytes()
    assert notebooks.main([str(chapter)]) == 1
    assert chapter.read_bytes() == before
    assert "ZeroDivisionError" in capfd.readouterr().out


@pytest.mark.parametrize("text", ["no JSON", '{"nbformat": 4, "cells": [{}]}'])
def test_a_file_that_holds_no_notebook_is_reported_and_kept(
    text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.ipynb"
    path.write_text(text, encoding="utf-8")
    assert notebooks.main([str(path)]) == 1
    assert path.read_text(encoding="utf-8") == text
    assert f"FAILED {path}: left as it was" in capfd.readouterr().out


def test_what_is_no_notebook_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="missing.ipynb is no notebook"):
        notebooks.main([str(tmp_path / "missing.ipynb")])


def test_the_address_can_be_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLBOOK_REPOSITORY", ADDRESS + ".git")
    assert repository_url() == ADDRESS
    assert repository_slug() == "reader/fork"
    assert f"git+{ADDRESS}@{release_tag()}" in notebooks.setup_source()


@pytest.mark.parametrize("address", ["reader/fork", "https://github.com/reader", "x y"])
def test_a_wrong_address_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLBOOK_REPOSITORY", address)
    with pytest.raises(ValueError, match="expected https://host/owner/name"):
        repository_url()


def test_the_setup_cell_installs_only_where_the_package_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr("subprocess.run", lambda command, check: calls.append(command))
    exec(notebooks.setup_source(), {})
    assert calls == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(notebooks.setup_source(), {})
    assert calls[0][1:4] == ["-m", "pip", "install"]
    assert calls[0][-1] == f"git+{repository_url()}@{release_tag()}"
