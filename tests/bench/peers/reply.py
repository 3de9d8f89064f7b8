"""How a peer is asked: task in by stdin, answer out by stdout. It runs in the peers' own environment, beside a script.

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


class Loops(Protocol):
    """The reference loops as a peer has them."""

    def solve(self, state: dict[str, Any]) -> None:
        """Solve a state."""

    def told(self) -> dict[str, float]:
        """Return what the last solution found; names end in their unit."""


def reply(peer: str, packages: tuple[str, ...], build: Callable[[dict[str, Any]], Loops]) -> None:
    """Solve every state of the task, and time it from its neighbour on.

    Args:
        peer: Its name.
        packages: It and what it stands on; their versions are told.
        build: Task -> its loops.
    """
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    task = json.load(sys.stdin)
    loops = build(task)
    states = task["states"]
    answers: list[dict[str, float]] = []
    for state in states:
        loops.solve(state)
        answers.append(loops.told())
    seconds: list[float] = []
    for _ in range(task["rounds"]):
        for state in states:
            start = time.perf_counter()
            loops.solve(state)
            seconds.append(time.perf_counter() - start)
    versions = {name: version(name) for name in packages}
    json.dump({"peer": peer, "versions": versions, "states": answers, "seconds": seconds}, sys.stdout)
