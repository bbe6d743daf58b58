"""The benchmarks run; what they measure is for a person to read."""

import os
import subprocess
import sys

import pytest

from benchmarks.measure import compare, markdown_table


def test_compare_takes_turns_and_medians():
    calls = []

    def busy(name, loops):
        calls.append(name)
        sum(range(loops))

    found = compare(lambda: busy("ours", 4_000_000), lambda: busy("theirs", 400_000),
                    repeats=3)
    assert calls == ["ours", "theirs"] * 3
    assert found.ratio > 2


def test_table():
    assert markdown_table(["a", "b"], [["1", "2"]]) == (
        "| a | b |\n| --- | --- |\n| 1 | 2 |")


@pytest.mark.parametrize(("name", "options", "rows"), [
    ("adaboost", [], 1), ("boosting", [], 2), ("forest", ["--classes", "2"], 1),
    ("leafwise", [], 2), ("svc", [], 2),
])
def test_benchmark_runs_at_a_small_size(name, options, rows):
    command = [sys.executable, "-m", f"benchmarks.{name}", "--sizes", "60",
               "--repeats", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": "."})
    assert done.stdout.count("\n") == 2 + rows
