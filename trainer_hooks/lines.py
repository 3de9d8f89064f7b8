"""One strict JSON object a line, of bounded length, read and written before a deadline."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from typing import Any

from trainer_hooks.errors import AgentError, CalendarError
from trainer_hooks.strictjson import parse_object

LINE_LIMIT_BYTES = 64 * 1024
ASK_RIGHT = "Ask with `trainer_hooks.wire.call`, or by the protocol in the documentation of the agent."
_CHUNK_BYTES = 16 * 1024


def read_line(connection: socket.socket, deadline_s: float) -> bytes:
    """Read one line.

    Args:
        connection: The socket.
        deadline_s: Monotonic time by which the whole line must be there, s.

    Returns:
        The line without its newline.

    Raises:
        AgentError: It is too long, or something follows it.
        OSError: The deadline has passed, or the peer is gone.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        connection.settimeout(_left_s(deadline_s))
        part = connection.recv(_CHUNK_BYTES)
        if not part:
            raise ConnectionResetError("the connection ended before the line did")
        size += len(part)
        parts.append(part)
        if b"\n" in part:
            break
        if size > LINE_LIMIT_BYTES:
            raise _too_long()
    line, _, rest = b"".join(parts).partition(b"\n")
    if len(line) > LINE_LIMIT_BYTES:
        raise _too_long()
    if rest:
        raise AgentError("request", "more follows its first line.", "Send one request over a connection.")
    return line


def write_line(connection: socket.socket, document: Mapping[str, Any], deadline_s: float) -> None:
    """Write one object as a line.

    Args:
        connection: The socket.
        document: The object.
        deadline_s: Monotonic time by which it must have been taken, s.

    Raises:
        AgentError: It is too long for a line.
        OSError: The deadline has passed, or the peer is gone.
    """
    send(connection, dump_line(document), deadline_s)


def dump_line(document: Mapping[str, Any]) -> bytes:
    """Write an object as its line, newline included.

    Raises:
        AgentError: It is too long for a line.
    """
    line = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(line) > LINE_LIMIT_BYTES:
        raise _too_long()
    return line + b"\n"


def parse_line(line: bytes, subject: str) -> dict[str, Any]:
    """Read an object from its line.

    Args:
        line: The line, with or without its newline.
        subject: Name used in errors.

    Raises:
        AgentError: It is not one strict JSON object.
    """
    try:
        document: dict[str, Any] = parse_object(line, subject).value
    except CalendarError as error:
        raise AgentError(error.what, error.why, ASK_RIGHT) from None
    return document


def _too_long() -> AgentError:
    return AgentError("line", f"it is longer than {LINE_LIMIT_BYTES} bytes.", ASK_RIGHT)


def _left_s(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("the time is up")
    return left_s


def send(connection: socket.socket, content: bytes, deadline_s: float) -> None:
    """Send bytes, all of them before a monotonic time."""
    rest = memoryview(content)
    while rest:
        connection.settimeout(_left_s(deadline_s))
        rest = rest[connection.send(rest, socket.MSG_NOSIGNAL) :]
