"""Mends markup that keeps a screen reader from reading a page as it is meant.

Docutils marks the bibliography as a list whose children are no list items. Without the
role the entries are read one after another.
"""

from __future__ import annotations

from sphinx.application import Sphinx

CITATIONS = '<div role="list" class="citation-list">'


def mend_citations(
    app: Sphinx, page: str, template: str, context: dict, doctree: object
) -> None:
    """Drop the role of the list of citations from the body of ``page``."""
    if "body" in context:
        plain = CITATIONS.replace('role="list" ', "")
        context["body"] = context["body"].replace(CITATIONS, plain)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("html-page-context", mend_citations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
