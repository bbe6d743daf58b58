"""CPU time of two functions, taken in turns."""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """Median CPU seconds of ours and theirs."""

    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Ours over theirs; below 1 ours is faster."""
        return self.ours / self.theirs


def compare(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 5
) -> Comparison:
    """Run both ``repeats`` times in turns, so that a busy moment meets both alike."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for function, column in zip((ours, theirs), seconds):
            start = time.process_time()
            function()
            column.append(time.process_time() - start)
    return Comparison(*map(statistics.median, seconds))


def peak_megabytes(function: Callable[[], object]) -> float:
    """Largest memory that Python and NumPy held while ``function`` ran, in MB."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def read_cases(
    description: str | None, cases: list[tuple[str, int, int]], kinds: tuple[str, ...]
) -> list[tuple[str, int, int, int, int]]:
    """Read the command line: (kind, n, d, trees, repeats) of each line of a table.

    ``--sizes`` replaces the given ``cases`` by all kinds at these n, with 20 features.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--sizes", type=int, nargs="+", help="instead of the book's")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.sizes:
        cases = [(kind, n, 20) for n in options.sizes for kind in kinds]
    return [(*case, options.trees, options.repeats) for case in cases]


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table of text cells."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
