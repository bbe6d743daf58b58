"""Binder chooses the pinned Python and the lean requirements, by repo2docker's word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.repository import ROOT


def test_repo2docker_plans_the_lean_image(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "requirements.txt", "README.md", "Makefile"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("binder", "mlbook"):
        shutil.copytree(ROOT / name, tmp_path / name)
    tool = Path(sys.executable).with_name("jupyter-repo2docker")
    command = [str(tool), "--debug", "--no-build", "--no-run", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    plan = done.stdout + done.stderr
    assert done.returncode == 0, plan
    assert "Building conda environment for python=3.11" in plan
    installs = re.findall(r"pip install .*-r (\S+)", plan)
    assert installs == ['"binder/requirements.txt"']
    assert "RUN ./binder/postBuild" in plan


def test_binder_installs_the_package_itself_last() -> None:
    script = ROOT / "binder" / "postBuild"
    assert os.access(script, os.X_OK)
    assert "pip install --no-deps -e ." in script.read_text(encoding="utf-8")
