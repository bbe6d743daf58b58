/* Three small things that style sheets cannot do. */

// A browser lets no page read another from disk, so there the search shows titles only.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// A box that scrolls must be reachable by keyboard: give each one a tab stop.
const SCROLLING = [
  "div.math", "mjx-container", "pre", ".output", ".pst-scrollable-table-container",
  ".chain p",
].map((box) => `.bd-article ${box}`).join(", ");

function makeReachable() {
  for (const box of document.querySelectorAll(SCROLLING)) {
    if (box.scrollWidth > box.clientWidth && !box.hasAttribute("tabindex")) {
      box.tabIndex = 0;
    }
  }
}

// On paper everything folded is open, and ink is dark on white; afterwards as before.
let opened = [];
let theme = "";
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((box) => { box.open = true; });
  theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
window.addEventListener("afterprint", () => {
  opened.forEach((box) => { box.open = false; });
  document.documentElement.dataset.theme = theme;
});

window.addEventListener("load", () => {
  const rendered = window.MathJax?.startup?.promise ?? Promise.resolve();
  rendered.then(makeReachable);
});
window.addEventListener("resize", makeReachable);
