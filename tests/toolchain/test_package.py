"""The package as others install it: what its wheel holds and what it asks for."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tools.repository import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built with the pinned setuptools from a copy of what it is made of."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "mlbook", source / "mlbook", ignore=ignored)
    # Folders that lie beside the package in a checkout must not be swept in.
    for name in ("tests", "tools"):
        (source / name).mkdir()
        (source / name / "__init__.py").touch()
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index"]
    command += ["--no-deps", "--no-build-isolation"]
    command += ["--wheel-dir", str(source / "dist"), str(source)]
    subprocess.run(command, check=True)
    (built,) = (source / "dist").iterdir()
    return zipfile.ZipFile(built)


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(
    wheel: zipfile.ZipFile,
) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "mlbook").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == files


def test_the_wheel_asks_for_three_packages(wheel: zipfile.ZipFile) -> None:
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    metadata = HeaderParser().parsestr(wheel.read(name).decode("utf-8"))
    requires = sorted(r.split(">")[0] for r in metadata.get_all("Requires-Dist"))
    assert requires == ["matplotlib", "numpy", "sympy"]
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert [n for n in wheel.namelist() if n.endswith("licenses/LICENSE")]


def test_the_unpacked_wheel_imports_outside_the_checkout(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    wheel.extractall(tmp_path)
    code = "import sys; sys.path.insert(0, '.'); import mlbook; print(mlbook.__file__)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert Path(done.stdout.strip()) == tmp_path / "mlbook" / "__init__.py", done.stderr
