"""Everything on the site that depends on where its repository lives.

The address comes from ``tools.repository``; the branch that the launch buttons name is
``main`` unless ``MLBOOK_BRANCH`` says otherwise. Pages name the address through the
substitutions ``{{ repository_link }}``, ``{{ clone_commands }}`` and so on.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import quote

from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.repository import release_tag, repository_slug, repository_url  # noqa: E402

NOT_FOUND = """\
<h1>There is no such page</h1>
<p>The address may have changed, or a chapter may have moved to another part.
The table of contents beside this text and the search box above it list every
page there is; the <a href="{prefix}intro.html">introduction</a> is a good place
to start again.</p>
"""


def launch_branch() -> str:
    """Return the branch or tag that the launch links name."""
    return os.environ.get("MLBOOK_BRANCH") or "main"


def site_url(slug: str) -> str:
    """Return where GitHub Pages serves the repository ``slug`` ("owner/name")."""
    owner, name = slug.split("/")
    return f"https://{owner.lower()}.github.io/{name}/"


def code_block(language: str, *lines: str) -> str:
    """Return ``lines`` as a fenced block, which a substitution can stand for."""
    return "\n".join([f"```{language}", *lines, "```"])


def substitutions(year: str) -> dict[str, str]:
    """Return what pages may write as ``{{ name }}``."""
    url, slug, tag = repository_url(), repository_slug(), release_tag()
    branch = quote(launch_branch(), safe="")
    binder = f"https://mybinder.org/v2/gh/{slug}/{branch}?urlpath=lab"
    return {
        "tag": tag,
        "repository_link": f"[{slug}]({url})",
        "issue_link": f"[issue]({url}/issues/new)",
        "binder_link": f"[Binder]({binder})",
        "clone_commands": code_block(
            "sh", f"git clone {url}", f"cd {slug.split('/')[1]}", "make book"
        ),
        "install_command": code_block("sh", f"pip install git+{url}@{tag}"),
        "citation": code_block(
            "bibtex",
            "@software{mlbook,",
            "  author  = {{The mlbook authors}},",
            "  title   = {mlbook: machine learning, every step checked},",
            f"  version = {{{tag.removeprefix('v')}}},",
            f"  year    = {{{year}}},",
            f"  url     = {{{url}}},",
            "}",
        ),
    }


def set_addresses(app: Sphinx, config: Config) -> None:
    """Fill in the settings that hold an address, before anything reads them."""
    site = site_url(repository_slug())
    prefix = "/" + site.split("/", 3)[3]
    config.html_baseurl = site
    config.ogp_site_url = site
    config.notfound_urls_prefix = prefix
    config.notfound_context = {
        "title": "Page not found",
        "body": NOT_FOUND.format(prefix=prefix),
    }
    config.html_theme_options["repository_url"] = repository_url()
    config.html_theme_options["repository_branch"] = launch_branch()
    config.myst_substitutions = substitutions(config.copyright)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension. Runs early: others read the settings it fills in."""
    app.connect("config-inited", set_addresses, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
