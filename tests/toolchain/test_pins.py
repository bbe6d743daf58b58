"""The pins agree: the three locks, the running environment, the package's bounds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.repository import ROOT, release_tag

OUR_PACKAGE = "mlbook"
ORACLES = (
    "scikit-learn scipy pandas xgboost xgboost-cpu lightgbm playwright "
    "axe-playwright-python jupyter-repo2docker hypothesis torch"
).split()


def read(path: str) -> list[Requirement]:
    """Return the requirements of a file of ours, without those that it includes."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and line[0] not in "#-"]


def pins(path: str) -> dict[str, str]:
    """Return {canonical name: version} of a lock, for this platform or another."""
    found = {}
    for requirement in read(path):
        (specifier,) = requirement.specifier
        assert specifier.operator == "==" and "*" not in specifier.version, requirement
        name = canonicalize_name(requirement.name)
        assert name not in found, f"{path} pins {name} twice"
        found[name] = specifier.version
    return found


BOOK = pins("requirements.txt") | pins("requirements-mathjax.txt")
TESTS = pins("tests/requirements.txt")
BINDER = pins("binder/requirements.txt")
with open(ROOT / "pyproject.toml", "rb") as file:
    PROJECT = tomllib.load(file)["project"]
DEPENDENCIES = [Requirement(text) for text in PROJECT["dependencies"]]


def needed(names: list[str]) -> Iterator[str]:
    """Yield ``names`` and all that they need in this environment, canonically."""
    # MathJax's wheel is installed for its files alone, without what it names.
    seen, waiting = set(), [canonicalize_name(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        for text in distribution(name).requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(canonicalize_name(requirement.name))


def here(path: str) -> list[str]:
    """Return the names that a lock pins on this platform."""
    wanted = [r for r in read(path) if r.marker is None or r.marker.evaluate()]
    return [canonicalize_name(requirement.name) for requirement in wanted]


def test_the_locks_do_not_contradict_each_other() -> None:
    includes = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8")
    assert "\n-r ../requirements.txt\n" in includes
    assert not set(TESTS) & set(BOOK), "a package is pinned in both locks"
    assert BINDER.items() <= BOOK.items()


@pytest.mark.parametrize(
    "path", ["requirements.txt", "requirements-mathjax.txt", "tests/requirements.txt"]
)
def test_this_environment_holds_what_is_pinned(path: str) -> None:
    wanted = {name: (BOOK | TESTS)[name] for name in here(path)}
    installed = {}
    for name in wanted:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "missing"
    assert installed == wanted


@pytest.mark.parametrize(
    ("path", "lock"),
    [
        ("requirements.txt", BOOK),
        ("tests/requirements.txt", BOOK | TESTS),
        ("binder/requirements.txt", BINDER),
    ],
)
def test_a_lock_leaves_no_dependency_open(path: str, lock: dict[str, str]) -> None:
    assert sorted(set(needed(here(path))) - set(lock)) == []


def test_the_book_does_without_the_oracles() -> None:
    assert not set(ORACLES) & set(BOOK)


def test_jupyter_book_stays_below_2() -> None:
    assert Version(BOOK["jupyter-book"]) < Version("2")


def test_the_package_accepts_the_pins() -> None:
    assert sorted(r.name for r in DEPENDENCIES) == ["matplotlib", "numpy", "sympy"]
    for requirement in DEPENDENCIES:
        assert requirement.specifier.contains(BOOK[requirement.name]), requirement


def test_the_version_is_the_same_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (cited,) = re.findall(r"^version: (.+)$", citation, re.MULTILINE)
    assert f"v{cited}" == release_tag() == f"v{version(OUR_PACKAGE)}"
