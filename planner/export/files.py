"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from planner.errors import ExportError, GridpaceError, NotPermitted
from trainer_hooks.publish import write_file

_STAGED = re.compile(r"\.gridpace-[0-9a-f]{12}-\d+")
_LEFT_BEHIND_S = 3600.0  # no one takes that long from staging to the rename: whoever staged it was killed


@contextmanager
def staged_files(files: Mapping[Path, bytes]) -> Iterator[None]:
    """Write files beside their places, run the body, then rename them all into place.

    A fault while writing, or in the body, leaves every file as it was before, and no folder that was not there.

    Args:
        files: Path -> content; folders are made if absent.

    Raises:
        ExportError: The disk refused (full, read-only, a file where a folder should be).
        NotPermitted: The user may not write there.
    """
    mark = secrets.token_hex(6)
    staging = {path: path.with_name(f".gridpace-{mark}-{i}") for i, path in enumerate(files)}
    absent: set[Path] = set()
    try:
        for path, content in files.items():
            try:
                absent.update(folder for folder in path.parents if not folder.exists())
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                write_file(staging[path], content)
            except OSError as error:
                raise _refused(path, error) from error
        yield
        for path, temporary in staging.items():
            try:
                temporary.replace(path)
            except OSError as error:
                raise _refused(path, error) from error
        for folder in {path.parent for path in files}:
            _sweep(folder)
    finally:
        for temporary in staging.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        for folder in sorted(absent, reverse=True):
            with suppress(OSError):  # one that holds a file stays
                folder.rmdir()


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write files by temporary file and rename.

    Args:
        files: Path -> content; folders are made if absent.

    Raises:
        ExportError: The disk refused; nothing half-written remains.
        NotPermitted: The user may not write there.
    """
    with staged_files(files):
        pass


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed have staged in a folder."""
    with suppress(OSError):
        for entry in folder.iterdir():
            if _STAGED.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _LEFT_BEHIND_S:
                entry.unlink()


def _refused(path: Path, error: OSError) -> GridpaceError:
    kind = NotPermitted if isinstance(error, PermissionError) else ExportError
    return kind(
        f"{path} cannot be written ({error.strerror or error})",
        why="nothing half-written was left",
        fix="free space or name another folder, then run the command again",
    )
