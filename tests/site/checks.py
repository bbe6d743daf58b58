"""What must hold in the files of a built site, page by page, without a browser.

Each check takes a ``Site`` and returns a list of sentences, one for each thing that is
wrong. An empty list means that all is well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from bs4 import BeautifulSoup

from tools.repository import ROOT

BUILT = ROOT / "_build" / "html"
# Pages that Sphinx makes by itself. They have no source and no place in the sitemap.
GENERATED = {"404.html", "genindex.html", "index.html", "prf-prf.html", "search.html"}
LOADING_LINKS = {
    "stylesheet", "preload", "modulepreload", "prefetch", "icon", "preconnect",
    "dns-prefetch", "manifest",
}
ELSEWHERE = ("http:", "https:", "//", "mailto:", "data:")
REMOTE = re.compile(r"(?:https?:)?//[\w.-]+\.\w+")
REMOTE_IN_CSS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])(?:https?:)?//[^)'\"]+")


@dataclass
class Site:
    """A built site: its folder, and the path under which it will be served."""

    root: Path
    prefix: str = "/"
    _pages: dict[str, BeautifulSoup] = field(default_factory=dict)

    @cached_property
    def pages(self) -> list[str]:
        """Every HTML file but the redirect at the root, relative to it."""
        files = sorted(self.root.rglob("*.html"))
        names = [file.relative_to(self.root).as_posix() for file in files]
        return [n for n in names if n != "index.html" and not n.startswith("_static/")]

    @cached_property
    def documents(self) -> list[str]:
        """The pages that a source of the book stands behind."""
        return [page for page in self.pages if page not in GENERATED]

    def soup(self, page: str) -> BeautifulSoup:
        """Return the parsed ``page``."""
        if page not in self._pages:
            text = (self.root / page).read_text(encoding="utf-8")
            self._pages[page] = BeautifulSoup(text, "html.parser")
        return self._pages[page]

    def locate(self, page: str, address: str) -> tuple[Path, str]:
        """Return the file and the anchor that ``address`` on ``page`` leads to."""
        parts = urlsplit(address)
        path = unquote(parts.path)
        if path.startswith(self.prefix):
            return self.root / path.removeprefix(self.prefix), unquote(parts.fragment)
        if path.startswith("/"):
            return self.root / "outside-the-site" / path[1:], unquote(parts.fragment)
        file = (self.root / page).parent / path if path else self.root / page
        return file.resolve(), unquote(parts.fragment)


def broken_links(site: Site) -> list[str]:
    """Internal links whose file or anchor does not exist."""
    problems = []
    for page in site.pages:
        for tag in site.soup(page).find_all(["a", "link", "img", "script", "source"]):
            address = tag.get("href") or tag.get("src")
            if not address or address.startswith(ELSEWHERE):
                continue
            if fault := _link_fault(site, page, address):
                problems.append(f"{page}: {address} {fault}")
    return problems


def _link_fault(site: Site, page: str, address: str) -> str:
    file, anchor = site.locate(page, address)
    if file.is_dir():
        file = file / "index.html"
    if not file.is_file():
        return "leads to no file"
    if not anchor or file.suffix != ".html":
        return ""
    target = file.relative_to(site.root.resolve()).as_posix()
    found = site.soup(target).find(attrs={"id": anchor})
    return "" if found or anchor == "top" else f"has no anchor in {target}"


def external_resources(site: Site) -> list[str]:
    """Scripts, styles, fonts or images that a page would load from elsewhere."""
    problems = []
    for page in site.pages:
        soup = site.soup(page)
        loaded = [tag.get("src") for tag in soup.find_all(src=True)]
        loaded += [tag.get("data") for tag in soup.find_all("object", data=True)]
        loaded += [
            tag["href"] for tag in soup.find_all("link", href=True)
            if LOADING_LINKS & set(tag.get("rel", []))
        ]
        problems += [f"{page}: loads {a}" for a in loaded if REMOTE.match(a)]
        for tag in soup.find_all(["script", "style"], src=False):
            for found in REMOTE.findall(tag.get_text()):
                problems.append(f"{page}: an inline script or style names {found}")
    for sheet in sorted(site.root.rglob("*.css")):
        for found in REMOTE_IN_CSS.findall(sheet.read_text(encoding="utf-8")):
            problems.append(f"{sheet.relative_to(site.root)}: loads {found}")
    return problems


def poor_alternatives(site: Site) -> list[str]:
    """Images without a text that says what they show."""
    problems = []
    for page in site.pages:
        for image in site.soup(page).find_all("img"):
            alt = (image.get("alt") or "").strip()
            if len(alt) < 5 or "/" in alt or re.search(r"\.(png|svg|jpe?g)$", alt):
                problems.append(f"{page}: {image.get('src')} has the text {alt!r}")
    return problems


def buttons(site: Site, page: str) -> list[str]:
    """Return where the buttons above the text of ``page`` lead."""
    links = site.soup(page).select(".article-header-buttons a[href]")
    return [link["href"] for link in links]


def missing_repository_buttons(site: Site, url: str) -> list[str]:
    """Pages without a button for the repository or for reporting a mistake."""
    problems = []
    for page in site.documents:
        links = [link.split("?")[0] for link in buttons(site, page)]
        missing = {url, url + "/issues/new"} - set(links)
        problems += [f"{page}: no button for {address}" for address in sorted(missing)]
    return problems


def wrong_launch_links(site: Site, tree: Path, slug: str, branch: str) -> list[str]:
    """Chapters whose launch or download buttons are missing or lead astray."""
    problems = []
    for page in site.documents:
        notebook = Path(page).with_suffix(".ipynb").as_posix()
        if not (site.root / "_sources" / notebook).is_file():
            continue
        links = buttons(site, page)
        launch = [a for a in links if "mybinder.org" in a or "colab." in a]
        if launch != launch_links(notebook, slug, branch):
            problems.append(f"{page}: the launch links are {launch}")
        if not (tree / notebook).is_file():
            problems.append(f"{page}: {notebook} is not in the tree")
        if not any(a.endswith("_sources/" + notebook) for a in links):
            problems.append(f"{page}: no button to download {notebook}")
    return problems


def launch_links(notebook: str, slug: str, branch: str) -> list[str]:
    """Return the addresses that open ``notebook`` on Binder and on Colab."""
    return [
        f"https://mybinder.org/v2/gh/{slug}/{branch}?urlpath=lab/tree/{notebook}",
        f"https://colab.research.google.com/github/{slug}/blob/{branch}/{notebook}",
    ]


def wrong_addresses(site: Site, base: str) -> list[str]:
    """Pages whose canonical or social address is not their own under ``base``."""
    problems = []
    for page in site.documents:
        soup = site.soup(page)
        canonical = soup.find("link", rel="canonical")
        social = soup.find("meta", property="og:url")
        for tag, key in ((canonical, "href"), (social, "content")):
            if tag is None or tag[key] != base + page:
                problems.append(f"{page}: {tag} is not {base + page}")
    return problems


def sitemap_gaps(site: Site, base: str) -> list[str]:
    """Pages missing from the sitemap, and entries without a page."""
    tree = ElementTree.parse(site.root / "sitemap.xml")
    listed = {e.text for e in tree.iter() if e.tag.endswith("}loc")}
    wanted = {base + page for page in site.documents}
    lacking = [f"the sitemap lacks {a}" for a in sorted(wanted - listed)]
    return lacking + [f"the sitemap names {a}" for a in sorted(listed - wanted)]


def machine_paths(site: Site, *paths: Path) -> list[str]:
    """Pages that name a folder of the machine they were built on."""
    return [f"{page}: names {path}" for page in site.pages for path in paths
            if str(path) in (site.root / page).read_text(encoding="utf-8")]
