"""The states of a Governor, and how they stand in its records.

RUN / CAP     the training runs; in CAP under a limit that the calendar asks for
DRAIN         a pause is due: the ranks agree on a step, and stop there with nothing outstanding
SAVE          the checkpoint that the pause needs is being written
HOLD / WAIT   at the step boundary, in a hold window, or in an off window that is waited out
RESUME        the first step after a hold
EXIT          saved; the loop should end
SAFE          no valid calendar: the limit found at the start is restored, the training runs free
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from typing import Final

GovernorState = Literal["run", "cap", "drain", "hold", "wait", "save", "resume", "exit", "safe"]

# Records tell what the time was spent on; on the way into a pause and out of it the training still trains.
RECORDED: Final[dict[GovernorState, str]] = {
    "run": "run",
    "cap": "run",
    "drain": "run",
    "hold": "hold",
    "wait": "wait",
    "save": "save",
    "resume": "run",
    "exit": "exit",
    "safe": "safe",
}
WORKING: Final = frozenset({"run", "cap", "drain", "save", "resume", "safe"})
