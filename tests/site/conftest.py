"""The built site, its address, and a browser to open it with."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.site.checks import BUILT, Site
from tools.repository import repository_slug


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the built site where there is none."""
    if (BUILT / "intro.html").is_file():
        return
    skip = pytest.mark.skip(reason="the site is not built: run `make book` first")
    for item in items:
        if "site" in getattr(item, "fixturenames", ()):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def base() -> str:
    """The public address of the site, from the address of its repository."""
    owner, name = repository_slug().split("/")
    return f"https://{owner.lower()}.github.io/{name}/"


@pytest.fixture(scope="session")
def site(base: str) -> Site:
    return Site(BUILT, urlsplit(base).path)


@pytest.fixture(scope="session")
def browser() -> Iterator:
    sync_api = pytest.importorskip("playwright.sync_api")
    from tests.site.browser import find_chromium, launch_arguments

    executable = find_chromium()
    if executable is None:
        pytest.skip("no Chromium found: install one, or name it in CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=executable, args=launch_arguments()
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def visitor(browser) -> Iterator:
    from tests.site.browser import Visitor

    tab = Visitor(browser)
    yield tab
    tab.context.close()


@pytest.fixture(scope="module")
def served(site: Site) -> Iterator[str]:
    from tests.site.browser import serving

    with serving(site.root, site.prefix) as address:
        yield address
