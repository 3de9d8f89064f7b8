"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from trainer_hooks.errors import CalendarError

POINTER = "current"
CALENDARS = "calendars"
"""Folder of published calendars in the folder that `gridpace plan` writes."""
_STAGED = re.compile(r"\.[A-Za-z0-9_-]+\.[0-9a-f]{16}")
_LEFT_BEHIND_S = 3600.0  # no one takes that long from staging to the rename: whoever staged it was killed
# Files secured at the same time share one write of the file system's journal, most of what each alone waits for.
_WRITERS = 32
_FREE_SPACE = "Nothing half-written was left and the calendar in force is unchanged; free space or fix the folder."


def publish_folder(root: Path, name: str, files: Mapping[str, bytes], *, in_force: bool = True) -> Path:
    """Put a folder of files in place by one rename, then swap the pointer `current` to it.

    An equal folder already in place is kept; a different one under the same name is never replaced.

    Args:
        root: Folder that holds the published folders; made if absent.
        name: Name of the new folder.
        files: Relative path -> content.
        in_force: Whether the pointer is swapped.

    Returns:
        The published folder.

    Raises:
        CalendarError: The disk refused (full, read-only, ...), or another folder bears the name.
    """
    target = root / name
    # Readers may run as other users, so the folders keep the ordinary mode that mkdtemp would narrow.
    staging = root / f".{name}.{secrets.token_hex(8)}"
    pointer = root / f".{POINTER}.{secrets.token_hex(8)}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            _write_tree(staging, files)
            # Another publisher may have won the race; then its folder is the one compared below.
            with suppress(FileExistsError):
                _rename_new(staging, target)
            sync_folder(root)
        if _tree(target) != dict(files):
            raise CalendarError(
                str(target),
                "another calendar with the same id is already published there.",
                "A published calendar never changes: give the new one another id.",
            )
        if in_force:
            write_file(pointer, f"{name}\n".encode("ascii"))
            pointer.replace(root / POINTER)
            sync_folder(root)
        _sweep(root)
    except OSError as error:
        raise CalendarError(
            str(target), f"the calendar cannot be written ({error.strerror or error}).", _FREE_SPACE
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        with suppress(OSError):
            pointer.unlink(missing_ok=True)
    return target


def _sweep(root: Path) -> None:
    """Remove what processes that were killed have staged."""
    with suppress(OSError):
        for entry in root.iterdir():
            if _STAGED.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _LEFT_BEHIND_S:
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink()


def _write_tree(folder: Path, files: Mapping[str, bytes]) -> None:
    # Loaded here, because a training that only reads its calendar has no use for it.
    from concurrent.futures import ThreadPoolExecutor

    folder.mkdir()
    parents = {folder, *((folder / file).parent for file in files)}
    for parent in sorted(parents):
        parent.mkdir(exist_ok=True)
    with ThreadPoolExecutor(_WRITERS) as writers:
        # The first refusal ends the walk, which takes back what has not begun.
        list(writers.map(write_file, [folder / file for file in files], files.values()))
    for parent in parents:
        sync_folder(parent)


def write_file(path: Path, content: bytes) -> None:
    """Write a file that is not there yet, to the disk.

    Raises:
        OSError: The disk refused, or it is there.
    """
    with path.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _rename_new(staging: Path, target: Path) -> None:
    try:
        staging.rename(target)
    except OSError as error:
        if target.exists():
            raise FileExistsError(str(target)) from error
        raise


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk.

    Raises:
        OSError: The disk refused.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
