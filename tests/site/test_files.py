"""The files of the built site: links, images, addresses, and nothing from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.site import checks
from tests.site.checks import Site
from tools.repository import ROOT, repository_slug, repository_url

BRANCH = os.environ.get("MLBOOK_BRANCH") or "main"


def test_every_internal_link_leads_to_a_file_and_an_anchor(site: Site) -> None:
    assert checks.broken_links(site) == []


def test_no_page_loads_anything_from_elsewhere(site: Site) -> None:
    assert checks.external_resources(site) == []


def test_every_image_says_what_it_shows(site: Site) -> None:
    assert checks.poor_alternatives(site) == []


def test_launch_and_download_buttons_name_files_that_exist(site: Site) -> None:
    assert checks.wrong_launch_links(site, ROOT, repository_slug(), BRANCH) == []


def test_every_page_leads_to_the_repository(site: Site) -> None:
    assert checks.missing_repository_buttons(site, repository_url()) == []


def test_every_page_knows_its_own_address(site: Site, base: str) -> None:
    assert checks.wrong_addresses(site, base) == []


def test_the_sitemap_lists_every_page(site: Site, base: str) -> None:
    assert checks.sitemap_gaps(site, base) == []


def test_no_page_names_a_folder_of_the_machine(site: Site) -> None:
    assert checks.machine_paths(site, ROOT, Path.home()) == []


def test_mathjax_comes_with_the_site_and_is_small(site: Site) -> None:
    folder = site.root / "_static" / "mathjax"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert (folder / "tex-chtml.js").is_file()
    assert size < 4_000_000, f"MathJax takes {size} bytes"


# The checks themselves: each must see the fault it is there for.

PAGE = """<html><head><link rel="canonical" href="https://o.github.io/n/{page}">
<meta property="og:url" content="https://o.github.io/n/{page}"></head>
<body><div class="article-header-buttons">{buttons}</div>{body}</body></html>"""
REPOSITORY = ("https://github.com/o/n", "https://github.com/o/n/issues/new?title=x")


@pytest.fixture
def make_site(tmp_path: Path) -> Callable[..., Site]:
    """A site of one chapter, sound but for the ``body`` given and the ``branch``."""

    def make(body: str = "", branch: str = "main") -> Site:
        page, notebook = "chapters/a.html", "chapters/a.ipynb"
        links = [*checks.launch_links(notebook, "o/n", branch), *REPOSITORY]
        links.append("../_sources/chapters/a.ipynb")
        buttons = " ".join(f'<a href="{link}">x</a>' for link in links)
        files = {page: PAGE.format(page=page, buttons=buttons, body=body)}
        files["_sources/" + notebook] = files["tree/" + notebook] = "{}"
        files["sitemap.xml"] = (
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            f"<url><loc>https://o.github.io/n/{page}</loc></url></urlset>"
        )
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        return Site(tmp_path, "/n/")

    return make


def test_a_sound_site_passes_every_check(make_site, tmp_path: Path) -> None:
    site = make_site(
        '<p id="here"></p><a href="#here">x</a><a href="/n/chapters/a.html">x</a>'
        '<img src="a.html" alt="a rising curve">'
    )
    assert checks.broken_links(site) == []
    assert checks.external_resources(site) == []
    assert checks.poor_alternatives(site) == []
    assert checks.wrong_launch_links(site, tmp_path / "tree", "o/n", "main") == []
    assert checks.missing_repository_buttons(site, "https://github.com/o/n") == []
    assert checks.wrong_addresses(site, "https://o.github.io/n/") == []
    assert checks.sitemap_gaps(site, "https://o.github.io/n/") == []
    assert checks.machine_paths(site, tmp_path) == []


@pytest.mark.parametrize("body", [
    '<a href="nowhere.html">x</a>',
    '<a href="a.html#nowhere">x</a>',
    '<a href="#nowhere">x</a>',
    '<a href="/elsewhere/chapters/a.html">x</a>',
    '<img src="missing.png" alt="a figure">',
])
def test_a_broken_link_is_seen(make_site, body: str) -> None:
    assert checks.broken_links(make_site(body))


@pytest.mark.parametrize("body", [
    '<script src="https://cdn.example.org/require.min.js"></script>',
    '<img src="//cdn.example.org/x.png" alt="a figure">',
    '<link rel="stylesheet" href="https://fonts.example.org/css">',
    '<script>const URL = "https://unpkg.example.org/thebe"</script>',
    "<style>@import url(https://fonts.example.org/css)</style>",
])
def test_something_from_elsewhere_is_seen(make_site, body: str) -> None:
    assert checks.external_resources(make_site(body))


def test_a_style_sheet_that_loads_from_elsewhere_is_seen(make_site) -> None:
    site = make_site()
    (site.root / "x.css").write_text("a { background: url('https://example.org/x') }")
    assert checks.external_resources(site)


@pytest.mark.parametrize("image", [
    '<img src="a.png">',
    '<img src="a.png" alt="">',
    '<img src="a.png" alt="_build/jupyter_execute/0123.png">',
])
def test_an_image_without_a_text_is_seen(make_site, image: str) -> None:
    assert checks.poor_alternatives(make_site(image))


def test_a_launch_link_to_another_branch_or_file_is_seen(make_site, tmp_path) -> None:
    tree = tmp_path / "tree"
    assert checks.wrong_launch_links(make_site(branch="old"), tree, "o/n", "main")
    assert checks.wrong_launch_links(make_site(), tree / "empty", "o/n", "main")
    assert checks.wrong_launch_links(make_site(), tree, "other/fork", "main")


def test_a_button_for_another_repository_is_seen(make_site) -> None:
    url = "https://github.com/other/fork"
    assert len(checks.missing_repository_buttons(make_site(), url)) == 2


def test_a_wrong_address_and_a_gap_in_the_sitemap_are_seen(make_site) -> None:
    assert checks.wrong_addresses(make_site(), "https://other.github.io/n/")
    assert checks.sitemap_gaps(make_site(), "https://other.github.io/n/")


def test_a_machine_path_is_seen(make_site, tmp_path: Path) -> None:
    assert checks.machine_paths(make_site(f"<p>{tmp_path}/x.py</p>"), tmp_path)
