"""Where calendars are published: a folder, or a web server that hands out that folder."""

from __future__ import annotations

import string
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trainer_hooks.strictjson import read_bytes

_PLAIN = frozenset(string.ascii_letters + string.digits + ".-")


@dataclass(frozen=True)
class Fetched:
    """A file as it was fetched.

    Attributes:
        content: Its bytes.
        etag: The server's name of this state of it; empty if it gives none.
    """

    content: bytes
    etag: str = ""


@dataclass(frozen=True)
class Looked:
    """What a look at the pointer came to.

    Attributes:
        pointer: The pointer; None if it is still in the state known.
        waits: Whether the server holds such requests until there is something new: then the next look may follow at
            once, and costs nothing.
        was_cut: Whether the request was cut off as it waited: by a proxy that allows less, or a server that ends.
    """

    pointer: Fetched | None
    waits: bool = False
    was_cut: bool = False


class Origin(Protocol):
    """Hands out files by their path below the published folder."""

    def get(self, relative: str, limit_bytes: int, etag: str = "") -> Fetched | None:
        """Fetch a file.

        Args:
            relative: Path below the published folder.
            limit_bytes: Largest size accepted, bytes.
            etag: State known already; empty if none is.

        Returns:
            The file; None if it is still in that state.

        Raises:
            CalendarError: It cannot be had.
        """

    def look(self, relative: str, limit_bytes: int, etag: str, wait_s: float) -> Looked:
        """Fetch a file as soon as it is in another state than the one known.

        Args:
            relative: Path below the published folder.
            limit_bytes: Largest size accepted, bytes.
            etag: State known already; empty if none is.
            wait_s: Longest wait for another one, s; 0 waits for none.

        Raises:
            CalendarError: It cannot be had.
        """


def flat_name(relative: str) -> str:
    """Return a path below the published folder as the name of one file, for stores that know no folders.

    Such as a ConfigMap of Kubernetes, whose keys are letters, digits, `.`, `-` and `_`. No two paths share a name.
    """
    return "".join(sign if sign in _PLAIN else f"_{ord(sign):02X}" for sign in relative)


class FolderOrigin:
    """A folder on this node, or mounted here; its files may lie side by side under their flat names.

    Args:
        root: Folder with the pointer `current`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, relative: str, limit_bytes: int, etag: str = "") -> Fetched | None:
        """See `Origin`; a file's state is what it holds."""
        del etag
        flat = self._root / flat_name(relative)
        return Fetched(read_bytes(flat if flat.is_file() else self._root / relative, limit_bytes))

    def look(self, relative: str, limit_bytes: int, etag: str, wait_s: float) -> Looked:
        """See `Origin`; a folder tells nobody of what changes in it."""
        del wait_s
        return Looked(self.get(relative, limit_bytes, etag))
