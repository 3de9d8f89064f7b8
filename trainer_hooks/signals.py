"""Signals that announce the end of a job."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

# Signals that end a process without the handlers of `atexit`; Windows lacks the second.
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_last_acts: list[Callable[[], object]] = []


def take_signals(signals: Iterable[signal.Signals], told: Callable[[], None]) -> None:
    """Call a function on signals, and after it the handler that was there before.

    Args:
        signals: Signals to take.
        told: Called inside the handler, so it may do no more than set a flag.

    Raises:
        ValueError: Not called from the main thread.
    """
    for number in signals:
        earlier = signal.getsignal(number)

        def handle(received: int, frame: FrameType | None, earlier: Any = earlier) -> None:
            told()
            if callable(earlier) and earlier is not _end:
                earlier(received, frame)

        signal.signal(number, handle)


def before_ending(act: Callable[[], object]) -> None:
    """Have an action done before SIGTERM or SIGHUP ends the process, where nobody else takes them.

    Outside the main thread signals cannot be taken; the action is then done only if another call could take them.

    Args:
        act: What to do; what it raises is dropped.
    """
    _last_acts.append(act)
    if threading.current_thread() is threading.main_thread():
        for number in _ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)


def not_before_ending(act: Callable[[], object]) -> None:
    """Take an action of `before_ending` back."""
    with suppress(ValueError):
        _last_acts.remove(act)


def _end(received: int, _frame: FrameType | None) -> None:
    for act in tuple(_last_acts):
        with suppress(Exception):
            act()
    # A handler that replaced this one and calls it decides itself how the process goes on.
    if signal.getsignal(received) is _end:
        signal.signal(received, signal.SIG_DFL)
        os.kill(os.getpid(), received)
