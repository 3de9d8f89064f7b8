"""One meter per physical GPU and node: whoever holds a board's lock counts its joules.

A lock belongs to a process and ends with it, however it ends, so that none is left behind by a crash; a file that
is still there means nothing. A forked data loader does not inherit it.
"""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

NODE = "node"
_FOLDERS = (Path("/run/lock"), Path("/dev/shm"), Path("/tmp"))  # noqa: S108 - files are opened with care
_NAME = re.compile(r"[^A-Za-z0-9-]")


class _Held(NamedTuple):
    pid: int
    descriptor: int


# A POSIX lock is shared by all that one process opens, so that two meters of one process need this book beside it.
_held: dict[Path, _Held] = {}


def lock_folder() -> Path:
    """Return a folder of this node, not of the network, in which processes of one user meet."""
    return next((folder for folder in _FOLDERS if os.access(folder, os.W_OK | os.X_OK)), _FOLDERS[-1])


class MeterLocks:
    """The things of this node that this process alone meters.

    Args:
        folder: Where the lock files stand; every process of the node, also in containers, should see the same.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine: set[Path] = set()
        self.fault: OSError | None = None

    def take(self, names: Iterable[str]) -> tuple[str, ...]:
        """Claim what nobody else meters.

        Args:
            names: UUIDs of boards, or `NODE`.

        Returns:
            Those that this process now meters. Where no lock can be made all are, and `fault` says why: to count a
            board twice shows, to count it never does not.
        """
        return tuple(name for name in names if self._take(name))

    def release(self) -> None:
        """Let everything go."""
        for path in self._mine:
            held = _held.pop(path, None)
            if held is not None and held.pid == os.getpid():
                os.close(held.descriptor)
        self._mine.clear()

    def _take(self, name: str) -> bool:
        path = self._folder / f"gridpace-meter-{os.getuid()}-{_NAME.sub('_', name)}.lock"
        held = _held.get(path)
        if held is not None and held.pid == os.getpid():
            return path in self._mine
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            self.fault = error
            return True
        if os.fstat(descriptor).st_uid != os.getuid():
            # Someone else put it there, and could hold it for ever.
            os.close(descriptor)
            self.fault = PermissionError(f"{path} belongs to another user")
            return True
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            self.fault = error
            return True
        _held[path] = _Held(os.getpid(), descriptor)
        self._mine.add(path)
        return True
