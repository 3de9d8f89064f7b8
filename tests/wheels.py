"""Wheels built from the checkout, and environments with nothing but them."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path


def build_wheel(source: Path, out: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source],
        check=True,
        capture_output=True,
        text=True,
    )
    (wheel,) = out.glob("*.whl")
    return wheel


def empty_environment(folder: Path, *requirements: str | Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True, capture_output=True)
    return python
