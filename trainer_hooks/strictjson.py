"""JSON from strangers: bounded, typed, and every fault named by file and key."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn

from trainer_hooks.errors import CalendarError

REWRITE = "Publish the calendar again with `gridpace plan`, or restore the file from where it was published."
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?(Z|[+-]\d\d:\d\d)", re.ASCII)


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """Read a whole regular file that may not be larger than a limit.

    Args:
        path: File to read.
        limit_bytes: Largest size accepted, bytes.

    Returns:
        The file's bytes.

    Raises:
        CalendarError: The file is absent, unreadable, not a regular file, or too large.
    """
    try:
        # Without O_NONBLOCK a named pipe put in the file's place would block the training forever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise CalendarError(str(path), "it is not a regular file.", REWRITE)
            content = stream.read(limit_bytes + 1)
    except (OSError, ValueError) as error:
        raise CalendarError(str(path), f"it cannot be read ({error}).", REWRITE) from error
    if len(content) > limit_bytes:
        raise CalendarError(str(path), f"it is larger than the limit of {limit_bytes} bytes.", REWRITE)
    return content


def parse_object(content: bytes, file: str) -> Node:
    """Parse bytes as one JSON object, refusing what JSON leaves open.

    Args:
        content: UTF-8 text of the document.
        file: Name used in errors.

    Returns:
        The object, ready for typed access.

    Raises:
        CalendarError: Not UTF-8, not JSON, truncated, nested too deep, NaN or Infinity, a key given twice, or
            the document is not an object.
    """

    def refuse_constant(constant: str) -> NoReturn:
        raise CalendarError(file, f"{constant} is not a number of JSON.", REWRITE)

    def refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twin = next(key for key in keys if keys.count(key) > 1)
            raise CalendarError(file, f"the key {twin!r} stands twice in one object.", REWRITE)
        return found

    try:
        document = json.loads(content.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=refuse_twins)
    except RecursionError as error:
        raise CalendarError(file, "it is nested too deep.", REWRITE) from error
    except ValueError as error:
        raise CalendarError(file, f"it is not whole, valid JSON ({error}).", REWRITE) from error
    return Node(document, file, "").expect_object()


class Node:
    """One value inside a document, which knows where it stands."""

    __slots__ = ("file", "key", "value")

    def __init__(self, value: Any, file: str, key: str) -> None:
        self.value = value
        self.file = file
        self.key = key

    def fault(self, why: str) -> CalendarError:
        """Make the error for this place."""
        return CalendarError(f"{self.file}, key {self.key or '(whole document)'}", why, REWRITE)

    def child(self, key: str) -> Node:
        """Get a member, or null where it is absent."""
        return Node(self.value.get(key), self.file, f"{self.key}.{key}" if self.key else key)

    def _need(self, key: str) -> Node:
        if key not in self.value:
            raise self.child(key).fault("it is missing.")
        return self.child(key)

    def expect_object(self) -> Node:
        """Return the node itself if it holds an object."""
        if not isinstance(self.value, dict):
            raise self.fault(f"it must be an object, not {type(self.value).__name__}.")
        return self

    def object(self, key: str) -> Node:
        """Get a member that must be an object."""
        return self._need(key).expect_object()

    def items(self) -> Iterator[tuple[str, Node]]:
        """Walk the members of an object."""
        for key in self.value:
            yield key, self.child(key)

    def list(self, key: str) -> tuple[Node, ...]:
        """Get a member that must be a list, as nodes."""
        node = self._need(key)
        if not isinstance(node.value, list):
            raise node.fault(f"it must be a list, not {type(node.value).__name__}.")
        return tuple(Node(value, self.file, f"{node.key}[{i}]") for i, value in enumerate(node.value))

    def optional_list(self, key: str) -> tuple[Node, ...]:
        """Get a member that must be a list where it is there, as nodes; none where it is absent."""
        return self.list(key) if key in self.value else ()

    def as_text(self) -> str:
        """Return the value as text that can be encoded."""
        if not isinstance(self.value, str):
            raise self.fault(f"it must be a string, not {type(self.value).__name__}.")
        try:
            self.value.encode()
        except UnicodeEncodeError:
            raise self.fault("it holds a lone surrogate, which is not a character.") from None
        return self.value

    def as_number(self) -> float:
        """Return the value as a finite float."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fault(f"it must be a number, not {type(value).__name__}.")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.fault("it must be a finite number.")
        return number

    def text(self, key: str) -> str:
        """Get a member that must be a string."""
        return self._need(key).as_text()

    def optional_text(self, key: str) -> str | None:
        """Get a member that must be a string or null."""
        node = self._need(key)
        return None if node.value is None else node.as_text()

    def number(self, key: str) -> float:
        """Get a member that must be a finite number."""
        return self._need(key).as_number()

    def optional_number(self, key: str) -> float | None:
        """Get a member that must be a finite number or null."""
        node = self._need(key)
        return None if node.value is None else node.as_number()

    def integer(self, key: str) -> int:
        """Get a member that must be a whole number."""
        value = self._need(key).value
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.child(key).fault(f"it must be a whole number, not {type(value).__name__}.")
        return value

    def time(self, key: str) -> datetime:
        """Get a member that must be a timestamp with its offset; returned in UTC."""
        text = self.text(key)
        fault = self.child(key).fault(f"{text[:40]!r} must be a time such as 2024-05-13T00:00:00Z, with its offset.")
        if not _TIME.fullmatch(text):
            raise fault
        try:
            return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
        except (ValueError, OverflowError):
            raise fault from None


def time_text(time: datetime) -> str:
    """Write a timezone-aware instant as UTC text that ends in Z."""
    return time.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def number_text(number: float) -> float:
    """Round to the six decimals that files carry, without a negative zero."""
    return round(float(number), 6) + 0.0


def dump_object(document: dict[str, Any]) -> bytes:
    """Write an object the one canonical way: given key order, one list item of objects a line, ASCII.

    Args:
        document: JSON-ready object.

    Returns:
        Bytes that depend on the values alone and end with a newline.
    """

    def member(value: Any) -> str:
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n  " + ",\n  ".join(_one_line(item) for item in value) + "\n ]"
        return _one_line(value)

    lines = [f" {_one_line(key)}: {member(value)}" for key, value in document.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


def _one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
