"""What ranks and hubs tell each other: whole states, the newest of which counts."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from trainer_hooks.agreement.wish import Wish
from trainer_hooks.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

Phase = Literal["idle", "ask", "prepare", "commit", "save", "hold", "exit"]
Mark = Literal["none", "seen", "ack", "at", "saved", "unsaved", "left", "gone"]
Outcome = Literal["none", "done", "unsaved", "aborted"]

PHASES: Final[tuple[Phase, ...]] = ("idle", "ask", "prepare", "commit", "save", "hold", "exit")
MARKS: Final[tuple[Mark, ...]] = ("none", "seen", "ack", "at", "saved", "unsaved", "left", "gone")
OUTCOMES: Final[tuple[Outcome, ...]] = ("none", "done", "unsaved", "aborted")
_TOKEN = re.compile(r"[0-9a-f]{16}")
_COUNT_LIMIT = 2**53
_SPEAK_RIGHT = "Use the same version of the hooks on all nodes of a job."


@dataclass(frozen=True)
class Report:
    """Where one rank stands.

    Attributes:
        rank: Its number, from 0.
        incarnation: Identity of its process; a rank that starts again has another.
        version: Grows with each report of one incarnation.
        step: Steps it has done.
        wish: What it wants.
        settled: The last round that it knows to have ended.
        epoch: The round that `mark` belongs to; 0 for none.
        mark: How far it is in that round. `seen`: it has said its step. `ack`: it will not go past the step named.
            `at`: it has stopped there. `saved`, `unsaved`: its checkpoint is written, or could not be. `left`: it goes
            on. `gone`: its loop ends.
    """

    rank: int
    incarnation: str
    version: int
    step: int
    wish: Wish
    settled: int
    epoch: int
    mark: Mark


@dataclass(frozen=True)
class Order:
    """Where the agreement stands.

    Attributes:
        hub: Identity of the hub that decides; one that starts again has another and knows nothing of the one before.
        number: Grows with each change.
        epoch: The round under way, or the last one.
        phase: See `trainer_hooks.agreement`.
        step: The step S at which all stop, from `prepare` on.
        outcome: How the last round ended, when `idle`.
        why: That in words.
    """

    hub: str
    number: int
    epoch: int
    phase: Phase
    step: int
    outcome: Outcome
    why: str


def report_document(report: Report) -> dict[str, Any]:
    """Write a report as members of a JSON object."""
    return {**asdict(report), "wish": int(report.wish)}


def order_document(order: Order) -> dict[str, Any]:
    """Write an order as members of a JSON object."""
    return asdict(order)


def report_from(document: Any) -> Report:
    """Read a report.

    Raises:
        AgentError: It is not one.
    """
    members = _members(document, "report")
    return Report(
        rank=_count(members, "rank"),
        incarnation=token(members, "incarnation"),
        version=_count(members, "version"),
        step=_count(members, "step"),
        wish=Wish(_one_of(members, "wish", tuple(int(wish) for wish in Wish))),
        settled=_count(members, "settled"),
        epoch=_count(members, "epoch"),
        mark=_one_of(members, "mark", MARKS),
    )


def order_from(document: Any) -> Order:
    """Read an order.

    Raises:
        AgentError: It is not one.
    """
    members = _members(document, "order")
    why = members.get("why")
    if not isinstance(why, str):
        raise _fault("why", "it must be a string.")
    return Order(
        hub=token(members, "hub"),
        number=_count(members, "number"),
        epoch=_count(members, "epoch"),
        phase=_one_of(members, "phase", PHASES),
        step=_count(members, "step"),
        outcome=_one_of(members, "outcome", OUTCOMES),
        why=why[:500],
    )


def token(members: Mapping[str, Any], key: str) -> str:
    """Read an identity: 16 hexadecimal digits.

    Raises:
        AgentError: It is not one.
    """
    value = members.get(key)
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise _fault(key, "it must be 16 hexadecimal digits.")
    return value


def count(members: Mapping[str, Any], key: str, low: int, high: int) -> int:
    """Read a whole number within bounds.

    Raises:
        AgentError: It is not one.
    """
    value = members.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _fault(key, f"it must be a whole number from {low} to {high}.")
    return value


def _count(members: Mapping[str, Any], key: str) -> int:
    return count(members, key, 0, _COUNT_LIMIT)


def _one_of(members: Mapping[str, Any], key: str, choices: tuple[Any, ...]) -> Any:
    value = members.get(key)
    if isinstance(value, bool) or value not in choices:
        raise _fault(key, f"it must be one of {', '.join(str(choice) for choice in choices)}.")
    return value


def _members(document: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise _fault(what, "it must be an object.")
    return document


def _fault(key: str, why: str) -> AgentError:
    return AgentError(f"agreement, key {key}", why, _SPEAK_RIGHT)
