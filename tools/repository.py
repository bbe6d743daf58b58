"""The one place that knows where the book's repository lives.

The address stands in ``pyproject.toml`` under ``[project.urls] Repository``. A fork
that builds its own copy sets the environment variable ``MLBOOK_REPOSITORY`` instead
of editing it. The site configuration, the launch buttons and the set-up cells of the
chapters all ask here.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_ADDRESS = re.compile(r"https://[\w.-]+/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


def repository_url() -> str:
    """Return the repository's address, such as ``https://github.com/owner/name``.

    ``MLBOOK_REPOSITORY`` wins over ``pyproject.toml``. Raises ``ValueError`` when the
    address is not of the form ``https://host/owner/name``.
    """
    with open(ROOT / "pyproject.toml", "rb") as file:
        declared = tomllib.load(file)["project"]["urls"]["Repository"]
    url = os.environ.get("MLBOOK_REPOSITORY") or declared
    if not _ADDRESS.fullmatch(url):
        raise ValueError(f"expected https://host/owner/name as repository, got {url!r}")
    return url.rstrip("/").removesuffix(".git")


def repository_slug() -> str:
    """Return ``owner/name`` of the repository."""
    return _ADDRESS.fullmatch(repository_url()).group(1)


def release_tag() -> str:
    """Return the tag that holds this version of the package, such as ``v0.1.0``.

    The version is read from the source of ``mlbook/__init__.py``, so that asking for
    it needs no installed package.
    """
    source = (ROOT / "mlbook" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    if found is None:
        raise ValueError('mlbook/__init__.py has no line __version__ = "..."')
    return "v" + found.group(1)
