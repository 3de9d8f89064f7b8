"""Signals that announce the end of a job."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

# Signals that end a process without the handlers of `atexit`; Windows lacks the second.
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_LOOK_ON_S = 0.5
_AGAIN_S = 0.05
_last_acts: list[Callable[[], object]] = []


def take_signals(signals: Iterable[signal.Signals], told: Callable[[], None]) -> None:
    """Call a function on signals, and after it the handler that was there before.

    Args:
        signals: Signals to take.
        told: Called inside the handler, so it may do no more than set a flag.

    Raises:
        ValueError: Not called from the main thread.
    """
    owner_pid = os.getpid()
    for number in signals:
        earlier = signal.getsignal(number)

        def handle(received: int, frame: FrameType | None, earlier: Any = earlier) -> None:
            if os.getpid() != owner_pid:
                # A forked child, such as a data loader's worker, inherits this handler and is to end as without it.
                signal.signal(received, signal.SIG_DFL)
                os.kill(os.getpid(), received)
                return
            told()
            if callable(earlier) and earlier is not _end:
                earlier(received, frame)

        signal.signal(number, handle)


def before_ending(act: Callable[[], object]) -> None:
    """Have an action done before SIGTERM or SIGHUP ends the process, where nobody else takes them.

    The handler only tells a thread, which does what is to be done, and then the signal takes its course. The handler
    looks on for a moment; where the thread needs a lock that the interrupted code holds, that code goes on until it has
    let go of it. Outside the main thread signals cannot be taken; the action is then done only if another call could
    take them.

    Args:
        act: What to do; what it raises is dropped.
    """
    _last_acts.append(act)
    _ending.done = False
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            _ending.watch()
            signal.signal(number, _end)


def not_before_ending(act: Callable[[], object]) -> None:
    """Take an action of `before_ending` back."""
    with suppress(ValueError):
        _last_acts.remove(act)


class _Ending:
    """The thread that does the last acts, and the pipe by which it is told to."""

    def __init__(self) -> None:
        self.done = False
        self.pid = 0
        self._told = 0

    def watch(self) -> None:
        """Start the thread, once in each process."""
        if self.pid != os.getpid():
            read, self._told = os.pipe()
            self.done, self.pid = False, os.getpid()
            threading.Thread(target=self._wait, args=(read,), name="gridpace-ending", daemon=True).start()

    def begin(self, received: int) -> None:
        """Have the last acts done, and look on for a moment."""
        self.done = False
        os.write(self._told, bytes((received,)))
        deadline_s = time.monotonic() + _LOOK_ON_S
        while not self.done and time.monotonic() < deadline_s:
            time.sleep(0.001)

    def _wait(self, read: int) -> None:
        while received := os.read(read, 1):
            for act in tuple(_last_acts):
                with suppress(Exception):
                    act()
            self.done = True
            while self.done and signal.getsignal(received[0]) is _end:
                # To the main thread itself, so that a call it sleeps in is interrupted; again, because a signal that
                # comes just before such a call does not.
                signal.pthread_kill(threading.main_thread().ident or 0, received[0])
                time.sleep(_AGAIN_S)


_ending = _Ending()


def _end(received: int, _frame: FrameType | None) -> None:
    # A handler that replaced this one and calls it decides itself how the process goes on.
    is_last = signal.getsignal(received) is _end
    if _ending.pid == os.getpid() and not (_ending.done and is_last):
        _ending.begin(received)
    elif is_last:
        signal.signal(received, signal.SIG_DFL)
        os.kill(os.getpid(), received)
