"""The repository's address stands in one place: a fork's build follows its own.

A small book, with the real configuration, extensions and front pages, is built under
another address and another branch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.site import checks
from tests.site.checks import Site
from tools.repository import ROOT

COPIED = (
    "_config.yml", "_ext", "_static", "tools", "mlbook/__init__.py", "pyproject.toml",
    "intro.md", "launch.md", "notation.md", "bibliography.md", "references.bib",
)
CONTENTS = """
format: jb-book
root: intro
chapters:
  - file: notation
  - file: launch
  - file: chapters/one
  - file: bibliography
"""
FORK = "https://github.com/Other/fork"
BASE = "https://other.github.io/fork/"


def build(book: Path) -> None:
    """Build the book in ``book`` as the fork would; warnings are errors."""
    environment = os.environ | {"MLBOOK_REPOSITORY": FORK, "MLBOOK_BRANCH": "draft"}
    command = Path(sys.executable).with_name("jupyter-book")
    done = subprocess.run(
        [command, "build", book, "-W", "-n", "--keep-going"],
        env=environment, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small book in a folder of its own, built for the fork."""
    folder = tmp_path_factory.mktemp("fork")
    for name in COPIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    (folder / "_toc.yml").write_text(CONTENTS)
    (folder / "chapters").mkdir()
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        cells=[nbformat.v4.new_markdown_cell("# One\n\nText with $x^2$.")],
    )
    nbformat.write(notebook, folder / "chapters" / "one.ipynb")
    build(folder)
    return folder


@pytest.fixture
def fork(book: Path) -> Site:
    return Site(book / "_build" / "html", "/fork/")


def test_every_link_follows_the_fork(fork: Site, book: Path) -> None:
    assert checks.wrong_launch_links(fork, book, "Other/fork", "draft") == []
    assert checks.missing_repository_buttons(fork, FORK) == []
    assert checks.wrong_addresses(fork, BASE) == []
    assert checks.sitemap_gaps(fork, BASE) == []
    assert checks.broken_links(fork) == []
    assert checks.external_resources(fork) == []


def test_no_page_still_names_the_original(fork: Site) -> None:
    assert f"git clone {FORK}" in fork.soup("launch.html").get_text()
    pages = [(fork.root / page).read_text(encoding="utf-8") for page in fork.pages]
    assert not any("example/mlbook" in page for page in pages)
    assert not any("example.github.io" in page for page in pages)


def test_rebuilding_one_page_keeps_the_sitemap_whole(fork: Site, book: Path) -> None:
    page = book / "launch.md"
    page.write_text(page.read_text(encoding="utf-8") + "\nOne more sentence.\n")
    build(book)
    assert "One more sentence" in (fork.root / "launch.html").read_text("utf-8")
    assert checks.sitemap_gaps(fork, BASE) == []


def test_the_configuration_itself_names_no_address() -> None:
    assert "github" not in (ROOT / "_config.yml").read_text(encoding="utf-8")
