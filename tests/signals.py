"""Processes that meet signals as one started from a terminal does, whatever started the tests."""

from __future__ import annotations

import signal


def as_from_a_terminal() -> None:
    """Undo what a background shell or nohup makes its children ignore; for `preexec_fn`."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
