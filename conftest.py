"""Make nbval compare what it leaves out: figures, cells never run, kinds of output."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from nbval.plugin import IPyNbCell

from tools.notebook_rules import (
    MAX_TILE_DIFFERENCE,
    figure_difference,
    output_kinds,
    stored_figures,
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Add our comparison to that of nbval, which comes first."""
    result = yield
    if isinstance(item, IPyNbCell):
        _check_cell(item)
    return result


def _check_cell(item: IPyNbCell) -> None:
    if item.cell.execution_count is None:
        item.raise_cell_error("The cell was never run: its outputs are missing")
    stored, drawn = output_kinds(item.cell.outputs), output_kinds(item.test_outputs)
    if stored != drawn:
        item.raise_cell_error(f"Outputs stored: {stored}; outputs now: {drawn}")
    pairs = zip(stored_figures(item.cell.outputs), stored_figures(item.test_outputs))
    for number, (old, new) in enumerate(pairs):
        difference = figure_difference(old, new)
        if difference > MAX_TILE_DIFFERENCE:
            item.raise_cell_error(
                f"Figure {number} is not what the code draws: its worst tile differs "
                f"by {difference:.1f} of 255, at most {MAX_TILE_DIFFERENCE} is allowed"
            )
