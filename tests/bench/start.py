"""What `gridpace --help` costs, and what it loads."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from tests.bench.machine import describe, table

HEAVY = ("pandas", "pulp", "numpy", "plotly", "pydantic", "highspy")


def main(arguments: list[str]) -> None:
    """Print the table; takes no options."""
    if arguments:
        sys.exit(f"start takes no options, not {arguments}")
    times = []
    for _ in range(11):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "planner.cli", "--help"], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    code = f"import sys, planner.cli; print(*[m for m in {HEAVY} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    print(describe(), end="\n\n")
    print(
        table(
            ["gridpace --help", "median", "highest of 11"],
            [["processor time, s (at most 0.3)", f"{statistics.median(times):.3f}", f"{max(times):.3f}"]],
        )
    )
    print(f"\nof {', '.join(HEAVY)} it loads: {', '.join(loaded) or 'none'}")
