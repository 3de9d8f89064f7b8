"""A peer's answer, read with distrust, and its distance from ours."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass
from typing import Any

TEMPERATURE_K = 0.1  # two property packages, and friction heat counted in the exchangers or in the pumps
HEAT_SHARE = 0.002
POWER_SHARE = 0.01
AIR_SHARE = 0.02  # the air flow is what is solved for: it carries every other difference
_NEEDED = ("rack_return_c", "facility_return_c", "rack_pump_kw", "facility_pump_kw")


class BadAnswerError(ValueError):
    """What a peer printed is no answer."""


@dataclass(frozen=True)
class Answer:
    """What a peer found.

    Args:
        peer: Its name.
        versions: Versions of it and of what it stands on.
        states: Per state, values by name; names end in their unit.
        seconds: Time of each solve, s.
    """

    peer: str
    versions: dict[str, str]
    states: tuple[dict[str, float], ...]
    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """Median time of a solve, s."""
        return statistics.median(self.seconds)

    @property
    def best_s(self) -> float:
        """Shortest time of a solve, s."""
        return min(self.seconds)


@dataclass(frozen=True)
class Difference:
    """The largest distance of a peer from ours in one value.

    Args:
        name: The value.
        largest: In K for temperatures, else over our value.
        allowed: What counts as equal, in the same unit.
    """

    name: str
    largest: float
    allowed: float

    @property
    def equal(self) -> bool:
        """Whether the two agree."""
        return self.largest <= self.allowed


def read_answer(text: str, n_states: int, rounds: int) -> Answer:
    """Return a peer's answer.

    Args:
        text: What it printed.
        n_states: States that it was asked.
        rounds: Times that it was asked to solve them all.

    Raises:
        BadAnswerError: It is no JSON object of the agreed form, lacks a value or has one that cannot be.
    """
    try:
        told = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadAnswerError(f"no JSON: {error}; it begins {text[:80]!r}") from None
    if not isinstance(told, dict) or set(told) != {"peer", "versions", "states", "seconds"}:
        raise BadAnswerError(f"peer, versions, states and seconds are wanted, not {text[:80]!r}")
    peer, versions = told["peer"], told["versions"]
    if not isinstance(peer, str) or not isinstance(versions, dict):
        raise BadAnswerError("peer must be a name and versions an object")
    states, seconds = _list(told["states"], "states", n_states), _list(told["seconds"], "seconds", n_states * rounds)
    if not all(isinstance(state, dict) for state in states):
        raise BadAnswerError("every state must be an object")
    for i, state in enumerate(states):
        lacking = [name for name in _NEEDED if name not in state]
        if lacking:
            raise BadAnswerError(f"state {i} lacks {', '.join(lacking)}")
        for name, value in state.items():
            _number(value, f"{name} of state {i}", least=0.0)
    for i, value in enumerate(seconds):
        if _number(value, f"time {i}", least=0.0) == 0.0:
            raise BadAnswerError(f"time {i} is 0 s; nothing is solved in no time")
    return Answer(peer, {str(k): str(v) for k, v in versions.items()}, tuple(states), tuple(map(float, seconds)))


def differences(own: list[dict[str, float]], answer: Answer) -> list[Difference]:
    """Return the largest distance in every value that both give, in the order of ours.

    Raises:
        ValueError: The two speak of different numbers of states.
    """
    both = [name for name in own[0] if all(name in state for state in answer.states)]
    found = []
    for name in both:
        pairs = [(ours[name], theirs[name]) for ours, theirs in zip(own, answer.states, strict=True)]
        if name.endswith("_c"):
            found.append(Difference(name, max(abs(theirs - ours) for ours, theirs in pairs), TEMPERATURE_K))
        else:
            largest = max(abs(theirs / ours - 1.0) for ours, theirs in pairs)
            found.append(Difference(name, largest, _allowed_share(name)))
    return found


def ratio(theirs_s: float, ours_s: float) -> float:
    """Return how many of our solves fit into one of theirs."""
    return theirs_s / ours_s


def _allowed_share(name: str) -> float:
    if name == "air_kg_per_s":
        return AIR_SHARE
    return HEAT_SHARE if name.startswith("heat") else POWER_SHARE


def _list(value: Any, name: str, length: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        count = len(value) if isinstance(value, list) else "no list"
        raise BadAnswerError(f"{name} must be a list of {length}, not {count}")
    return value


def _number(value: Any, name: str, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
        raise BadAnswerError(f"{name} is {value!r}; a number of {least:g} or more is wanted")
    return float(value)
