"""What must hold when a page of the built site is opened in a browser.

``Visitor`` opens pages in headless Chromium with every road to the outside closed, and
``faults`` lists what is wrong with the page as a reader would meet it.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import Browser, Page, Route

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

READY = """async () => {
  if (window.MathJax?.startup) await MathJax.startup.promise;
  await document.fonts.ready;
}"""

FORMULAS = r"""() => {
  const faults = [];
  for (const node of document.querySelectorAll("article .math")) {
    if (!node.querySelector("mjx-container")) {
      faults.push("a formula is not rendered: " + node.textContent.slice(0, 60));
    }
  }
  const wrong = "mjx-merror, [data-mjx-error], mjx-container [style*='color: red']";
  for (const node of document.querySelectorAll(wrong)) {
    faults.push("MathJax reports an error: " + node.outerHTML.slice(0, 100));
  }
  const raw = new RegExp([
    "\\\\[(\\[]", "[$][$]", "\\\\(begin|frac|sum|mathbf|text)\\b",
    "[$][^$\\n]*[\\\\^_][^$\\n]*[$]",
  ].join("|"));
  const text = document.createTreeWalker(document.querySelector("main"), 4);
  while (text.nextNode()) {
    const parent = text.currentNode.parentElement;
    if (raw.test(text.currentNode.data)
        && !parent.closest("pre, code, script, style, mjx-container")) {
      faults.push("raw TeX: " + text.currentNode.data.trim().slice(0, 60));
    }
  }
  for (const font of document.fonts) {
    if (font.status === "error") faults.push("a font is missing: " + font.family);
  }
  return faults;
}"""

UNFOLD = """() => {
  for (const box of document.querySelectorAll("article details")) box.open = true;
  const closed = document.querySelectorAll("article .toggle-hidden .toggle-button");
  for (const button of closed) button.click();
}"""

OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const wide = [...document.querySelectorAll("main *")].filter(
    (node) => node.getBoundingClientRect().right > width + 1);
  const names = wide.slice(-3).map((n) => n.tagName + "." + n.className);
  return ["the page is wider than " + width + " px: " + names.join(", ")];
}"""

# A chapter has fifteen thousand elements, most of them inside formulas, which are
# MathJax's own, or coloured words of code. Axe takes most of a minute over them. So it
# looks at the page without formulas and with one word of each colour in each kind of
# block; cells of code that keep no such word go altogether.
THIN = """() => {
  for (const box of document.querySelectorAll("mjx-container")) box.replaceChildren();
  const seen = new Set();
  for (const word of document.querySelectorAll("article pre span[class]")) {
    const kind = word.className + " in " + word.closest("pre").parentNode.className;
    if (seen.has(kind)) word.replaceWith(...word.childNodes);
    seen.add(kind);
  }
  for (const cell of document.querySelectorAll(".cell_input")) {
    if (!cell.querySelector("pre span[class]")) cell.remove();
  }
}"""

AXE = """async (rules) => {
  const found = await axe.run({resultTypes: ["violations"], ...rules});
  return found.violations
    .filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(" ")]);
}"""
SET_THEME = "(theme) => { document.documentElement.dataset.theme = theme; }"
CONTRAST_ONLY = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


def find_chromium() -> str | None:
    """Return the path of a Chromium or Chrome, or None. ``CHROMIUM`` names one."""
    named = os.environ.get("CHROMIUM")
    found = [path for name in NAMES if (path := shutil.which(name))]
    candidates = [named] if named else [*found, MAC]
    return next((path for path in candidates if Path(path).is_file()), None)


def launch_arguments() -> list[str]:
    """Return Chromium's command line: root may not use its sandbox."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


@contextmanager
def serving(root: Path, prefix: str) -> Iterator[str]:
    """Serve ``root`` under ``prefix`` on this machine and yield the address.

    What is not there is answered, as on GitHub Pages, with the site's own 404.html.
    """

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            if not path.startswith(prefix):
                return str(root / "outside-the-site")
            return super().translate_path("/" + path.removeprefix(prefix))

        def send_error(self, code: int, *_: object) -> None:
            body = (root / "404.html").read_bytes()
            self.send_response(code)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    def handler(*arguments: object) -> Handler:
        return Handler(*arguments, directory=str(root))

    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
        server.shutdown()


class Visitor:
    """One browser tab that records what goes wrong and lets no request out."""

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(
            viewport=WIDE, color_scheme="light", reduced_motion="reduce"
        )
        self.context.route("**/*", self._keep_inside)
        self.page: Page = self.context.new_page()
        self.recorded: list[str] = []
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda e: self.recorded.append(f"script error: {e}"))
        self.axe = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")

    def _keep_inside(self, route: Route) -> None:
        url = route.request.url
        if url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:")):
            route.continue_()
        else:
            self.recorded.append(f"asks for {url}")
            route.abort()

    def _note_console(self, message) -> None:
        if message.type == "error":
            where = message.location.get("url", "")
            self.recorded.append(f"console error: {message.text} ({where})")

    def open(self, address: str) -> Page:
        """Open ``address`` afresh and wait until its mathematics stands."""
        self.recorded.clear()
        self.page.set_viewport_size(WIDE)
        self.page.goto(address)
        self.page.evaluate(READY)
        return self.page

    def formula_faults(self, address: str) -> list[str]:
        """Open ``address`` and list console errors and faults in its formulas."""
        page = self.open(address)
        return page.evaluate(FORMULAS) + self.recorded

    def faults(self, address: str) -> list[str]:
        """Open ``address`` and list everything that is wrong with it."""
        problems = self.formula_faults(address)
        self.page.evaluate(UNFOLD)
        problems += self.page.evaluate(OVERFLOW)
        self.page.set_viewport_size(PHONE)
        problems += self.page.evaluate(OVERFLOW)
        self.page.set_viewport_size(WIDE)
        self.page.evaluate(THIN)
        self.page.evaluate(self.axe)
        problems += self._violations({}, "light")
        problems += self._violations(CONTRAST_ONLY, "dark")
        return problems

    def _violations(self, rules: dict, theme: str) -> list[str]:
        self.page.evaluate(SET_THEME, theme)
        found = self.page.evaluate(AXE, rules)
        return [f"axe, {theme}: {rule}: {html}" for rule, html in found]
