"""Run tests against copies of the package, one copy after another.

Reads from standard input a JSON list of jobs, pairs of a folder that holds a copy of
``mlbook`` and a list of node ids of tests below the root given as the only argument.
Prints one verdict for each job as a JSON list. All jobs share one process, so that
NumPy, pytest and the oracles are imported once; the package and the tests are forgotten
in between.
"""

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(sys.argv[1])


class Recorder:
    """A pytest plugin that keeps what became of each test."""

    def __init__(self):
        self.passed, self.assertions, self.other_errors = [], [], []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.excinfo is None:
            if call.when == "call":
                self.passed.append(item.nodeid)
        elif call.when == "call" and call.excinfo.errisinstance(
            (AssertionError, pytest.fail.Exception)
        ):
            self.assertions.append(item.nodeid)
        else:
            self.other_errors.append(call.excinfo.typename)
        return report

    def pytest_collectreport(self, report):
        if report.failed:
            self.other_errors.append("collection error")


def forget_package_and_tests():
    for name in list(sys.modules):
        if name.partition(".")[0] in ("mlbook", "tests"):
            del sys.modules[name]
    importlib.invalidate_caches()


def run(folder, tests):
    forget_package_and_tests()
    sys.path.insert(0, folder)
    recorder = Recorder()
    options = ["-q", "-c", os.devnull, f"--rootdir={ROOT}", "--import-mode=importlib"]
    options += ["--noconftest", "--tb=no", "-p", "no:cacheprovider"]
    options += ["-p", "no:unraisableexception"]  # it collects garbage five times a run
    pytest.main([*options, *(f"{ROOT / test}" for test in tests)], plugins=[recorder])
    sys.path.remove(folder)
    package = getattr(sys.modules.get("mlbook"), "__file__", None)
    return {**vars(recorder), "package": package}


def main():
    jobs = json.load(sys.stdin)
    # What pytest prints is not part of the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    json.dump([run(folder, tests) for folder, tests in jobs], answer)


if __name__ == "__main__":
    main()
