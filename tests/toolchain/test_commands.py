"""The commands agree with the README, and refuse an unsuitable Python clearly."""

from __future__ import annotations

import subprocess
import sys

from tools.repository import ROOT

CHECK = ROOT / "tools" / "check_python.py"


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def check_python(change: str) -> str:
    """Run the check of the interpreter after ``change``; return what it says."""
    code = f"import sys, runpy; {change}; runpy.run_path({str(CHECK)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


def test_the_continuous_run_is_the_readme_s_test_command() -> None:
    assert "make test\n" in read("README.md")
    assert read(".ci/run").rstrip().splitlines()[-1] == "exec make test"


def test_every_documented_command_exists() -> None:
    documented = subprocess.run(
        ["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for target in ("book", "serve", "test", "test-site", "notebooks", "clean"):
        assert f"make {target} " in documented
        assert f"\n{target}:" in read("Makefile")


def test_this_python_will_do() -> None:
    assert check_python("pass") == ""


def test_a_python_too_old_or_too_new_is_refused_with_its_version() -> None:
    for version in ((3, 10, 4), (3, 14, 0)):
        said = check_python(f"sys.version_info = {version}")
        assert "needs Python 3.11, 3.12 or 3.13" in said
        assert "is 3.%d" % version[1] in said


def test_a_missing_venv_module_is_named_with_the_remedy() -> None:
    said = check_python("sys.modules['ensurepip'] = None")
    assert "apt-get install python3-venv" in said
