"""Whether a process that was seen once still lives."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process that another one with the same number cannot be taken for.

    Attributes:
        pid: Its number; 0 where the kernel cannot name it, as across containers.
        started: When it started, in the kernel's ticks; "" where that is not known.
    """

    pid: int
    started: str


def seen(pid: int) -> Process:
    """Note a process that lives now."""
    facts = _facts(pid)
    return Process(pid, facts[1] if facts else "")


def ended(process: Process) -> bool:
    """Whether it is known to have ended; one that cannot be seen is taken to live."""
    if not process.pid or not process.started:
        return False
    facts = _facts(process.pid)
    return facts is None or facts[0] in {"Z", "X"} or facts[1] != process.started


def _facts(pid: int) -> tuple[str, str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return (fields[0], fields[19]) if len(fields) > 19 else None
