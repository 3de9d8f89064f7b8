"""One request at a time for one answer, between threads and between processes: who waits takes what the first got."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOCKS = 64  # two keys that share a lock wait for each other, no more
_LOOK_S = 0.02


@contextmanager
def single_flight(folder: Path, key: str, deadline: float) -> Iterator[bool]:
    """Hold the lock of a key; yields False where it could not be had before the deadline, or the disk refuses.

    Args:
        folder: Where the lock files stand; made when first needed.
        key: What is asked.
        deadline: Until when to wait, on the monotonic clock, s.
    """
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") % _LOCKS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f"flight-{number:02d}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield False
        return
    try:
        yield _locked(handle, deadline)
    finally:
        os.close(handle)  # the lock goes with it


def _locked(handle: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() + _LOOK_S > deadline:
                return False
            time.sleep(_LOOK_S)
        except OSError:
            return False  # a file system without locks
        else:
            return True
