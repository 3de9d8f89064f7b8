"""The peers' own virtual environment: they want another pandas than gridpace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

MADE = "requirements-installed.txt"  # a copy of what was installed: nothing is done where it is still what is wanted


class EnvironmentFailedError(RuntimeError):
    """The environment cannot be made, or what runs in it fails."""


def make(folder: Path, requirements: Path) -> Path:
    """Return the Python of an environment with the requirements, made where it is missing or another.

    Raises:
        EnvironmentFailedError: It cannot be made; the sentence says at which step and what that step said last.
    """
    python, made = folder / "bin" / "python", folder / MADE
    wanted = requirements.read_text(encoding="utf-8")
    if python.is_file() and made.is_file() and made.read_text(encoding="utf-8") == wanted:
        return python
    _step(f"cannot make a virtual environment at {folder}", [sys.executable, "-m", "venv", "--clear", str(folder)])
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)]
    _step(f"cannot install {requirements.name} into {folder}", [str(python), *install])
    made.write_text(wanted, encoding="utf-8")
    return python


def ask(python: Path, script: Path, task: str, environment: Mapping[str, str] | None = None) -> str:
    """Return what a script prints, asked by its standard input.

    Args:
        python: Python of the environment.
        script: The script.
        task: What it is asked.
        environment: Variables of its process; those of this one if None.

    Raises:
        EnvironmentFailedError: It ends with a fault.
    """
    return _step(f"{script.name} failed", [str(python), str(script)], task, environment)


def _step(
    failed: str, command: list[str], asked: str | None = None, environment: Mapping[str, str] | None = None
) -> str:
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False, env=environment)
    except OSError as error:
        raise EnvironmentFailedError(f"{failed}: {error}") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise EnvironmentFailedError(f"{failed}: {lines[-1] if lines else f'it ended with {done.returncode}'}")
    return done.stdout
