"""Signals that announce the end of a job."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType


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
            if callable(earlier):
                earlier(received, frame)

        signal.signal(number, handle)
