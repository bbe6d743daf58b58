"""Every page of the built site in a browser that cannot reach the network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.site.checks import BUILT, Site

PAGES = Site(BUILT).pages
CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]
FROM_DISK = ["intro.html", "notation.html", *CHAPTERS[:2]]
HITS = "#search-results ul.search li"


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, site: Site, visitor, served: str) -> None:
    assert visitor.faults(served + page) == []


@pytest.mark.parametrize("page", FROM_DISK)
def test_page_from_disk(page: str, site: Site, visitor) -> None:
    assert visitor.formula_faults((site.root / page).as_uri()) == []


def test_the_root_leads_to_the_introduction(site: Site, visitor, served: str) -> None:
    visitor.page.goto(served)
    visitor.page.wait_for_url(served + "intro.html")


@pytest.mark.parametrize("from_disk", [False, True])
def test_search_finds_a_word(site: Site, visitor, served: str, from_disk: bool) -> None:
    root = site.root.as_uri() + "/" if from_disk else served
    page = visitor.open(root + "search.html?q=denominator")
    page.wait_for_selector(HITS)
    assert "Notation" in page.locator(HITS).first.inner_text()
    assert visitor.recorded == []


def test_a_wrong_address_gets_a_whole_page(site: Site, visitor, served: str) -> None:
    page = visitor.open(served + "some/deep/address.html")
    assert page.locator("article h1").inner_text() == "There is no such page"
    assert [f for f in visitor.recorded if "some/deep/address.html" not in f] == []
    page.get_by_role("link", name="introduction").click()
    page.wait_for_url(served + "intro.html")


FOLDED = """
<details><summary>More</summary><p class="inside">Unfolded.</p></details>
<div class="admonition dropdown"><p class="admonition-title">Solution</p>
<p class="inside">Unfolded.</p></div>"""


def test_paper_shows_what_is_folded_and_wraps_code(plant, visitor) -> None:
    page = visitor.open(plant(FOLDED, "launch.html"))
    inside = page.locator(".inside")
    assert [inside.nth(i).is_visible() for i in range(2)] == [False, False]
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert [inside.nth(i).is_visible() for i in range(2)] == [True, True]
    wrapping = "getComputedStyle(document.querySelector('article pre')).whiteSpace"
    assert page.evaluate(wrapping) == "pre-wrap"
    page.emulate_media(media="screen")


# The checks themselves: each must see the fault it is there for.


@pytest.fixture
def plant(site: Site, tmp_path: Path) -> Callable[[str, str], str]:
    """Write a copy of a page with ``faulty`` in it and return its address."""

    def write(faulty: str, page: str) -> str:
        for part in site.root.iterdir():
            (tmp_path / part.name).symlink_to(part)
        text = (site.root / page).read_text(encoding="utf-8")
        assert "</article>" in text
        copy = tmp_path / "planted.html"
        copy.write_text(text.replace("</article>", faulty + "</article>", 1), "utf-8")
        return copy.as_uri()

    return write


PLANTED = {
    r"raw TeX: The step \(m_t": r"<p>The step \(m_t\) is written raw.</p>",
    "raw TeX: The step $v_t": r"<p>The step $v_t$ is written raw.</p>",
    "not rendered": '<span class="math">x + y</span>',
    "asks for https": '<script src="https://cdn.example.org/x.js"></script>',
    "script error": "<script>throw new Error('planted')</script>",
    "console error: planted": "<script>console.error('planted')</script>",
    "wider than 1280": '<div style="width: 1500px; height: 1px">x</div>',
    "wider than 390": '<div style="width: 500px; height: 1px">x</div>',
    "axe, light: image-alt": '<img src="_static/logo.svg">',
    "axe, light: color-contrast": '<p style="color: #bbb">faint on white</p>',
    "axe, dark: color-contrast": '<p style="color: #333">faint on black</p>',
}


def test_planted_faults_are_seen(plant, visitor) -> None:
    """All at once, to open one page only: without them this page has no fault."""
    faults = visitor.faults(plant("".join(PLANTED.values()), "launch.html"))
    for expected in PLANTED:
        assert any(expected in fault for fault in faults), (expected, faults)


@pytest.mark.parametrize("formula", [r"\[ \frac{1} \]", r"\[ \nosuchcommand x \]"])
def test_a_formula_that_mathjax_rejects_is_seen(plant, visitor, formula: str) -> None:
    faulty = f'<div class="math">{formula}</div>'
    faults = visitor.formula_faults(plant(faulty, "intro.html"))
    assert any("MathJax reports" in fault for fault in faults), faults
