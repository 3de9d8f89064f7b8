"""How a meter's cost is taken, the same way for each: it runs in that meter's own environment, beside a script.

Neither gridpace nor its tests are there: it stands on the standard library alone.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Protocol

CHECKED_S = 1.0  # a window whose joules are told, so that a meter that reads nothing does not look quick


class Meter(Protocol):
    """A meter of all boards, started."""

    def begin(self) -> None:
        """Begin a window."""

    def end(self) -> float:
        """End it; return its joules."""

    def step(self) -> None:
        """Do what the meter does in a training step that it accounts for."""

    def close(self) -> None:
        """End the meter."""


def reply(peer: str, packages: tuple[str, ...], start: Callable[[], Meter]) -> None:
    """Time the start of a meter, its windows and its steps, and print them as JSON.

    Args:
        peer: Its name.
        packages: It and what it stands on; their versions are told.
        start: Imports and starts it.
    """
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    task: dict[str, Any] = json.load(sys.stdin)
    begin_s = time.perf_counter()
    meter = start()
    started_s = time.perf_counter() - begin_s

    def window() -> None:
        meter.begin()
        meter.end()

    windows_s = _times_s(window, task["windows"], task["longest_s"])
    steps_s = _times_s(meter.step, task["steps"], task["longest_s"])
    meter.begin()
    begin_s = time.perf_counter()
    time.sleep(CHECKED_S)
    energy_j, checked_s = meter.end(), time.perf_counter() - begin_s
    meter.close()
    answer = {
        "peer": peer,
        "versions": {name: version(name) for name in packages},
        "started_s": started_s,
        "windows_s": windows_s,
        "steps_s": steps_s,
        "power_w": energy_j / checked_s,
    }
    sys.__stdout__.write(json.dumps(answer) + "\n")


def _times_s(deed: Callable[[], object], times: int, longest_s: float) -> list[float]:
    """Return how long a deed takes, after a first time, until it was done so often or for so long."""
    deed()
    seconds: list[float] = []
    ends_s = time.perf_counter() + longest_s
    while len(seconds) < times and time.perf_counter() < ends_s:
        begin_s = time.perf_counter()
        deed()
        seconds.append(time.perf_counter() - begin_s)
    return seconds
