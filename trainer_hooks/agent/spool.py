"""Telemetry on this node's disk until the server has it: whole pieces, bounded, the oldest first."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trainer_hooks.publish import sync_folder, write_file

_PIECE = re.compile(r"\d{12}\.jsonl")
_REFUSED = ".refused"


@dataclass(frozen=True)
class Piece:
    """Lines that wait to be sent.

    Attributes:
        path: Where they stand.
        content: The lines.
    """

    path: Path
    content: bytes


class Spool:
    """Pieces of lines in a folder of the agent's own.

    Args:
        folder: The folder, made if absent.
        most_bytes: Largest size of all pieces together, bytes.

    Raises:
        OSError: The folder cannot be made.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in folder.glob("*.new"):  # by an agent that was killed as it wrote
            left.unlink()
        self._last = max((int(path.name[:12]) for path in folder.iterdir() if path.name[:12].isdigit()), default=0)

    @property
    def size_bytes(self) -> int:
        """Bytes that wait, and those that the server refused."""
        size = 0
        for path in self._folder.iterdir():
            with suppress(OSError):
                size += path.stat().st_size
        return size

    def room_bytes(self) -> int:
        """Return how many bytes more there is room for."""
        return max(0, self._most_bytes - self.size_bytes)

    def add(self, content: bytes) -> None:
        """Keep lines; they are on the disk when this returns.

        Raises:
            OSError: The disk refused; nothing was kept.
        """
        path = self._folder / f"{self._last + 1:012d}.jsonl"
        fresh = path.with_suffix(".new")
        try:
            write_file(fresh, content)
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise
        sync_folder(self._folder)
        self._last += 1

    def oldest(self) -> Piece | None:
        """Return the piece that waits longest, or None where none does.

        Raises:
            OSError: It cannot be read.
        """
        names = sorted(path.name for path in self._folder.iterdir() if _PIECE.fullmatch(path.name))
        if not names:
            return None
        path = self._folder / names[0]
        return Piece(path, path.read_bytes())

    def drop(self, piece: Piece) -> None:
        """Let go of a piece that the server has."""
        piece.path.unlink(missing_ok=True)

    def set_aside(self, piece: Piece) -> Path:
        """Move a piece that the server refuses whole out of the way, for people to look at; one is kept, the last."""
        for earlier in self._folder.glob(f"*{_REFUSED}"):
            earlier.unlink(missing_ok=True)
        aside = piece.path.with_suffix(_REFUSED)
        piece.path.replace(aside)
        return aside
