"""A small chapter for the tests of the tools, independent of the book's chapters."""

from __future__ import annotations

import json
import os
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

CELLS = [
    """import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from IPython.display import Markdown""",
    """print(f"mean {np.mean([1, 2, 4]):.4f}")""",
    """w, lam = sp.symbols("w lambda")
(w - 1) ** 2 + lam * w**2""",
    """Markdown("the slope is **-2**")""",
    """fig, ax = plt.subplots(figsize=(5, 3))
x = np.linspace(0, 3, 50)
ax.plot(x, x**2, label="loss")
ax.set(title="A bowl")
ax.legend()
plt.show()""",
]
EXERCISE = """```{{exercise-start}} Title
:label: ex-{0}
```
Do it.
```{{exercise-end}}
```

```{{solution-start}} ex-{0}
:class: dropdown
```
It is done.
```{{solution-end}}
```"""


@pytest.fixture(scope="module")
def small_chapter() -> NotebookNode:
    """Return a chapter that, once executed, keeps every rule. Copy it to change it."""
    cells = [new_markdown_cell("# A small chapter")]
    cells += [new_code_cell(source) for source in CELLS]
    cells[-1].metadata = nbformat.from_dict(
        {"mystnb": {"image": {"alt": "A parabola that opens upwards."}}}
    )
    cells += [new_markdown_cell(EXERCISE.format(number)) for number in range(3)]
    return new_notebook(cells=cells)


@pytest.fixture(scope="module")
def foreign_kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which Jupyter finds a ``python3`` kernel that is none."""
    folder = tmp_path_factory.mktemp("jupyter")
    kernel: Path = folder / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    spec = {"argv": ["false"], "display_name": "Not ours", "language": "python"}
    kernel.write_text(json.dumps(spec), encoding="utf-8")
    return os.environ | {"JUPYTER_PATH": str(folder), "JUPYTER_PREFER_ENV_PATH": "0"}
