"""MathJax served from the site itself, so that pages need no network.

The files come from the installed wheel ``django-static-mathjax`` (MathJax 3.2.2) and
are copied when the site is built. Only what the TeX-to-CommonHTML component can ask for
is taken: the component, the TeX extensions it loads on demand, its fonts, and the
accessibility explorer with its English speech rules.
"""

from __future__ import annotations

import shutil
from importlib.metadata import distribution
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

WHEEL = "django-static-mathjax"
FOLDER = "mathjax/static/mathjax/es5"
WANTED = (
    "tex-chtml.js",
    "input/tex/extensions/*.js",
    "output/chtml/fonts/woff-v2/*.woff",
    "a11y/*.js",
    "sre/mathmaps/base.json",
    "sre/mathmaps/en.json",
)


def mathjax_source() -> Path:
    """Return the folder of MathJax's browser files in the installed wheel."""
    folder = Path(distribution(WHEEL).locate_file(FOLDER))
    if not (folder / WANTED[0]).is_file():
        raise ExtensionError(f"{WHEEL} is installed but has no {FOLDER}/{WANTED[0]}")
    return folder


def copy_mathjax(app: Sphinx) -> None:
    """Copy the wanted files to ``_static/mathjax`` of an HTML build."""
    if app.builder.format != "html":
        return
    source = mathjax_source()
    target = Path(app.outdir) / "_static" / "mathjax"
    for pattern in WANTED:
        for file in source.glob(pattern):
            copy = target / file.relative_to(source)
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
