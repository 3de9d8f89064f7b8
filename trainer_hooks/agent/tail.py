"""The telemetry that trainings of this node append to their files, read on from where it was read last."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path

from trainer_hooks.errors import CalendarError
from trainer_hooks.strictjson import dump_object, parse_object, read_bytes

_LOG = logging.getLogger("trainer_hooks.agent")
_SCHEMA = "gridpace.telemetry-read/1"
_STATE_LIMIT_BYTES = 16 * 1024 * 1024
_LINE_LIMIT_BYTES = 64 * 1024
_MOST_FILES = 10_000


@dataclass(frozen=True)
class Taken:
    """Lines that were read, and how far the files have been read with them.

    Attributes:
        content: Whole lines.
        offsets: Device and inode of a file -> bytes read of it.
    """

    content: bytes
    offsets: dict[str, int]


class Tail:
    """Reads what has been appended to the `*.jsonl` files of a folder.

    The trainings' users own these files, so nothing of them is trusted: links, pipes and devices are passed over, and
    so are lines that are too long for a record.

    Args:
        folder: Where trainings write, also into folders of its own one level down.
        state: File in which is kept how far each file was read.
    """

    def __init__(self, folder: Path, state: Path) -> None:
        self._folder = folder
        self._state = state
        self._offsets = self._load()
        self._told_many = False

    def take(self, most_bytes: int) -> Taken:
        """Read whole lines that have come since.

        Args:
            most_bytes: About how many bytes at most.

        Returns:
            The lines; they come again until `keep` is told of them.
        """
        parts: list[bytes] = []
        offsets: dict[str, int] = {}
        size = 0
        for path in self._files():
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                with os.fdopen(descriptor, "rb") as stream:
                    facts = os.fstat(descriptor)
                    if not stat.S_ISREG(facts.st_mode):
                        continue
                    name = f"{facts.st_dev}-{facts.st_ino}"
                    begin = self._offsets.get(name, 0)
                    if begin > facts.st_size:
                        begin = 0  # another file stands in its place
                    offsets[name] = begin
                    if begin < facts.st_size and size < most_bytes:
                        stream.seek(begin)
                        most = most_bytes - size
                        lines, offsets[name] = _lines(stream.read(most + _LINE_LIMIT_BYTES), begin, most)
                        parts += lines
                        size += sum(map(len, lines))
        return Taken(b"".join(parts), offsets)

    def keep(self, taken: Taken) -> None:
        """Note that lines are in safe hands; files that are there no more are forgotten.

        Raises:
            OSError: The disk refused; they come again then.
        """
        if taken.offsets == self._offsets:
            return
        entries = [{"file": name, "offset": offset} for name, offset in sorted(taken.offsets.items())]
        fresh = self._state.with_name(f"{self._state.name}.new")
        fresh.write_bytes(dump_object({"schema": _SCHEMA, "files": entries}))
        fresh.replace(self._state)
        self._offsets = taken.offsets

    def _files(self) -> list[Path]:
        found: list[Path] = []
        folders = [self._folder]
        with suppress(OSError), os.scandir(self._folder) as entries:
            folders += [Path(one.path) for one in entries if one.is_dir(follow_symlinks=False)]
        for folder in folders:
            with suppress(OSError), os.scandir(folder) as entries:
                found += [Path(one.path) for one in entries if one.name.endswith(".jsonl")]
        if len(found) > _MOST_FILES:
            if not self._told_many:
                _LOG.warning(
                    "gridpace-agent: %s has %d files of telemetry; the %d written last are read. Clear out ended jobs.",
                    self._folder,
                    len(found),
                    _MOST_FILES,
                )
                self._told_many = True
            found = nlargest(_MOST_FILES, found, key=_written_s)
        return sorted(found)

    def _load(self) -> dict[str, int]:
        if not self._state.exists():
            return {}
        try:
            document = parse_object(read_bytes(self._state, _STATE_LIMIT_BYTES), str(self._state))
            files = [node.expect_object() for node in document.list("files")]
            return {node.text("file"): max(0, node.integer("offset")) for node in files}
        except CalendarError as error:
            # Read from the begin again: a record that is sent twice counts once.
            _LOG.warning("gridpace-agent: telemetry is read from its begin again: %s", error)
            return {}


def _written_s(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _lines(content: bytes, begin: int, most_bytes: int) -> tuple[list[bytes], int]:
    """Return whole lines of what was read, and where to read on; what is too long for a record is passed over."""
    lines: list[bytes] = []
    at = size = 0
    while size < most_bytes:
        end = content.find(b"\n", at) + 1
        if not end:
            return lines, begin + (len(content) if len(content) - at > _LINE_LIMIT_BYTES else at)
        if content[at:end].strip() and end - at <= _LINE_LIMIT_BYTES:
            lines.append(content[at:end])
            size += end - at
        at = end
    return lines, begin + at
