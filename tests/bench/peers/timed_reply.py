"""What every path is measured by: time of building a program and of solving it, and memory; told as JSON.

Runs in the peers' environment too, so it imports nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

HIGHS = {
    "output_flag": False, "threads": 1, "random_seed": 0, "solver": "ipm", "run_crossover": "off",
    "ipm_optimality_tolerance": 1e-8,
}  # fmt: skip
"""Options that all paths solve with."""

Solve = Callable[[], dict[str, float]]


def reply(peer: str, packages: tuple[str, ...], build: Callable[[], Solve]) -> None:
    """Build once, solve once, and print what both took; what solvers print goes to standard error.

    Args:
        peer: Its name.
        packages: Packages whose versions are told.
        build: Makes the program, handed to the solver; returns what solves it and tells its objective and size.
    """
    tell = quiet_until_told()
    held_mib = _peak_mib()
    solve, build_s, build_cpu_s = _timed(build)
    built_mib = _peak_mib()
    found, solve_s, solve_cpu_s = _timed(solve)
    told: dict[str, Any] = {
        "peer": peer,
        "versions": {name: version(name) for name in packages},
        "build_s": build_s,
        "build_cpu_s": build_cpu_s,
        "solve_s": solve_s,
        "solve_cpu_s": solve_cpu_s,
        "held_mib": held_mib,
        "built_mib": built_mib,
        "peak_mib": _peak_mib(),
        **found,
    }
    tell(told)


def quiet_until_told() -> Callable[[dict[str, Any]], None]:
    """Send what solvers print to standard error, and return what prints the one answer to standard output."""
    out = os.dup(1)
    os.dup2(2, 1)
    return lambda told: print(json.dumps(told, allow_nan=False), file=os.fdopen(out, "w"), flush=True)


def solver(highs: Any) -> Solve:
    """Return what solves a program in HiGHS."""

    def solve() -> dict[str, float]:
        for name, value in HIGHS.items():
            if str(highs.setOptionValue(name, value)) != "HighsStatus.kOk":
                raise RuntimeError(f"HiGHS refuses option {name}")
        highs.run()
        status = highs.modelStatusToString(highs.getModelStatus())
        if status != "Optimal":
            raise RuntimeError(f"HiGHS ends with {status}")
        objective = highs.getInfo().objective_function_value
        return {"objective": objective, "columns": highs.getNumCol(), "rows": highs.getNumRow()}

    return solve


def _timed(act: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = act()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def _peak_mib() -> float:
    """Return the most memory that this program held; what getrusage tells begins at what its parent held."""
    (line,) = (one for one in Path("/proc/self/status").read_text(encoding="ascii").splitlines() if "VmHWM" in one)
    return float(line.split()[1]) / 1024.0
