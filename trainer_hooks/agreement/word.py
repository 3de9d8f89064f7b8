"""One number in a small file that all ranks of a node have mapped: it changes when the hub has something to say."""

from __future__ import annotations

import mmap
import os
import secrets
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.errors import AgentError

if TYPE_CHECKING:
    from typing import Final

_NUMBER: Final = struct.Struct("<q")


class WordFile:
    """The hub's side: it writes with a system call, so that a file cut short by someone else cannot end the hub.

    Args:
        folder: Where the file is made, under a name of its own.
        gid: Group that may read it; None leaves the process's.

    Raises:
        AgentError: The file cannot be made.
    """

    def __init__(self, folder: Path, gid: int | None) -> None:
        self.path = folder / f"word-{secrets.token_hex(8)}"
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise self._fault(error) from error
        try:
            if gid is not None:
                os.fchown(self._file, -1, gid)
                os.fchmod(self._file, 0o640)
            os.pwrite(self._file, _NUMBER.pack(0), 0)
        except OSError as error:
            self.close()  # ranks ask again and again: each try would leave one open file more
            raise self._fault(error) from error

    def _fault(self, error: OSError) -> AgentError:
        return AgentError(f"word {self.path}", f"it cannot be made ({error}).", "Give the hub a folder with room.")

    def write(self, number: int) -> None:
        """Write the number; a disk without room is met by the ranks' own looks."""
        with suppress(OSError):
            os.pwrite(self._file, _NUMBER.pack(number), 0)

    def close(self) -> None:
        """Take the file away; a rank that has it mapped keeps what it reads."""
        with suppress(OSError):
            os.close(self._file)
            self.path.unlink()


class Word:
    """A rank's side: reading costs some tenths of a microsecond.

    Args:
        path: The file.

    Raises:
        AgentError: It cannot be mapped.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                self._map = mmap.mmap(file, _NUMBER.size, prot=mmap.PROT_READ)
            finally:
                os.close(file)
        except (OSError, ValueError) as error:
            raise AgentError(
                f"word {path}", f"it cannot be mapped ({error}).", "Let the ranks share the hub's folder."
            ) from error

    def read(self) -> int:
        """Return the number."""
        number: int = _NUMBER.unpack_from(self._map, 0)[0]
        return number
