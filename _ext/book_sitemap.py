"""``sitemap.xml`` with every page of the book.

Written from the list of all documents rather than from the pages written in this run,
so that rebuilding one page leaves the sitemap whole.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from sphinx.application import Sphinx

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """Write the sitemap after a successful HTML build."""
    if exception is not None or app.builder.name != "html":
        return
    urlset = ElementTree.Element("urlset", xmlns=NAMESPACE)
    for page in sorted(app.env.found_docs):
        location = app.config.html_baseurl + app.builder.get_target_uri(page)
        ElementTree.SubElement(ElementTree.SubElement(urlset, "url"), "loc").text = (
            location
        )
    ElementTree.indent(urlset)
    ElementTree.ElementTree(urlset).write(
        Path(app.outdir) / "sitemap.xml", encoding="utf-8", xml_declaration=True
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
