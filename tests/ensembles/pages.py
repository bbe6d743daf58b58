"""What a page shows of a library that it cannot import."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any


def library_numbers(page: Path) -> dict[str, Any]:
    """Return the values that a notebook's code assigns to names LIBRARY_..."""
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    source = "\n".join("".join(cell["source"]) for cell in cells)
    found = re.findall(r"^(LIBRARY_\w+) = ([\[{][^\]}]*[\]}])$", source, re.MULTILINE)
    return {name: ast.literal_eval(value) for name, value in found}
