"""What gridpace needs of a machine, looked at one by one."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

_NEEDED_PYTHON = (3, 11)
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"\bextra\s*==")
_LEAST_FREE_BYTES = 100 * 1024 * 1024


@dataclass(frozen=True)
class Finding:
    """One thing looked at.

    Args:
        name: What was looked at.
        good: Whether it is as needed.
        needed: Whether gridpace cannot plan without it.
        told: What was found, and the mend where it is not good.
    """

    name: str
    good: bool
    needed: bool
    told: str


def findings(folder: Path) -> tuple[Finding, ...]:
    """Look at everything.

    Args:
        folder: Folder into which plans would be written.
    """
    looks: tuple[tuple[str, bool, Callable[[], tuple[bool, str]]], ...] = (
        ("python", True, _python),
        ("packages", True, _packages),
        ("solver", True, _solver),
        ("time zones", True, _time_zones),
        ("bundled data", True, _bundled_data),
        ("output folder", True, lambda: _writable(folder)),
        ("cache", False, _cache),
        ("NVML", False, _nvml),
    )
    found = []
    for name, needed, look in looks:
        try:
            good, told = look()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one thing, the others are looked at
            good, told = False, f"{type(error).__name__}: {error}"
        found.append(Finding(name, good, needed, " ".join(told.split())))
    return tuple(found)


def _python() -> tuple[bool, str]:
    here = ".".join(map(str, sys.version_info[:3]))
    wanted = ".".join(map(str, _NEEDED_PYTHON))
    return sys.version_info >= _NEEDED_PYTHON, f"{here} (needs {wanted} or newer)"


def _packages() -> tuple[bool, str]:
    needed = [text for text in requires("gridpace") or () if not _EXTRA.search(text)]
    names = [found[0] for text in needed if (found := _PACKAGE_NAME.match(text))]
    missing = []
    for name in names:
        try:
            version(name)
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return False, f"missing: {', '.join(missing)}; install gridpace again"
    return True, f"gridpace {version('gridpace')} with its {len(names)} packages"


def _solver() -> tuple[bool, str]:
    import highspy
    import pulp

    problem = pulp.LpProblem("doctor", pulp.LpMaximize)
    x, y = pulp.LpVariable("x", 0, 3), pulp.LpVariable("y", 0, 3)
    problem += x + 2 * y
    problem += x + y <= 4
    problem.solve(pulp.HiGHS(msg=False))
    value = pulp.value(problem.objective)
    # x + 2y within the triangle is greatest at x = 1, y = 3.
    return (
        value == 7.0,
        f"HiGHS {highspy.Highs().version()} through PuLP {pulp.__version__}, a small program gives {value}",
    )


def _time_zones() -> tuple[bool, str]:
    from zoneinfo import available_timezones

    count = len(available_timezones())
    return count > 0, f"{count} zones" if count else "no time zone data: install the package tzdata"


def _bundled_data() -> tuple[bool, str]:
    from planner.bundled import data_dir

    return True, str(data_dir())


def _writable(folder: Path) -> tuple[bool, str]:
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    with tempfile.TemporaryFile(dir=there) as stream:
        stream.write(b"gridpace")
    free = shutil.disk_usage(there).free
    return free >= _LEAST_FREE_BYTES, f"{there} can be written, {free / 1024**3:.1f} GiB free"


def _cache() -> tuple[bool, str]:
    from planner.sources.cache import default_folder

    folder = default_folder()
    good, told = _writable(folder)
    return good, f"{folder}: {told}"


def _nvml() -> tuple[bool, str]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return False, f"no NVIDIA driver here ({error}); only a training node needs one"
    try:
        root = "" if os.geteuid() == 0 else "; setting power limits needs root"
        return True, f"driver {pynvml.nvmlSystemGetDriverVersion()}, {pynvml.nvmlDeviceGetCount()} GPUs{root}"
    finally:
        pynvml.nvmlShutdown()
