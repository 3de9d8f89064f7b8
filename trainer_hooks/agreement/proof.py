"""Messages between nodes that only those who know a secret can write, alter or repeat.

Both sides prove the secret on numbers that the other has just drawn; from both numbers comes a key for this connection.
Each frame carries a code over its direction, its place in the connection and its content, so that a frame that was
forged, altered, left out, repeated or sent back ends the connection. Frames are not secret: they hold step counts.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

from trainer_hooks.errors import AgentError, CalendarError
from trainer_hooks.strictjson import parse_object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

FRAME_LIMIT_BYTES: Final = 4 * 1024 * 1024
SECRET_SHORTEST_BYTES: Final = 16
_NONCE_BYTES = 32
_MAC_BYTES = 32
_PLACE = struct.Struct(">cQ")
_LENGTH = struct.Struct(">I")
_ONE_KEY = "Give all nodes of a job the same secret, and see who else reaches this port."


class Channel:
    """One proven connection.

    Args:
        connection: The socket; both sides are proven when this returns.
        secret: What both know.
        opens: Whether this side opened the connection.
        timeout_s: Longest time for one frame, or for the proof, s.

    Raises:
        AgentError: The other side does not know the secret.
        OSError: The other side is gone, or too slow.
    """

    def __init__(self, connection: socket.socket, secret: bytes, *, opens: bool, timeout_s: float) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._sent = self._received = 0
        self._ours, self._theirs = (b"o", b"a") if opens else (b"a", b"o")
        deadline_s = time.monotonic() + timeout_s
        drawn = secrets.token_bytes(_NONCE_BYTES)
        if opens:
            theirs = self._receive(_NONCE_BYTES, deadline_s)
            self._send(drawn + _code(secret, b"opens", theirs, drawn), deadline_s)
            self._check(self._receive(_MAC_BYTES, deadline_s), _code(secret, b"answers", drawn, theirs))
            self._key = _code(secret, b"key", theirs, drawn)
        else:
            self._send(drawn, deadline_s)
            answer = self._receive(_NONCE_BYTES + _MAC_BYTES, deadline_s)
            theirs = answer[:_NONCE_BYTES]
            self._check(answer[_NONCE_BYTES:], _code(secret, b"opens", drawn, theirs))
            self._send(_code(secret, b"answers", theirs, drawn), deadline_s)
            self._key = _code(secret, b"key", drawn, theirs)

    def write(self, message: Mapping[str, Any]) -> None:
        """Send one message.

        Raises:
            AgentError: It is too long.
            OSError: The other side is gone, or too slow.
        """
        content = json.dumps(message, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
        if len(content) > FRAME_LIMIT_BYTES:
            raise AgentError(
                "message to a node", f"it is longer than {FRAME_LIMIT_BYTES} bytes.", "Use fewer ranks on a node."
            )
        code = _code(self._key, _PLACE.pack(self._ours, self._sent), content)
        self._sent += 1
        self._send(_LENGTH.pack(len(content)) + code + content, time.monotonic() + self._timeout_s)

    def read(self, wait_s: float) -> dict[str, Any]:
        """Receive one message.

        Args:
            wait_s: Longest time until it begins, s.

        Raises:
            AgentError: It is not from the other side, not in its place, too long, or no JSON.
            OSError: None came, or the other side is gone.
        """
        head = self._receive(_LENGTH.size + _MAC_BYTES, time.monotonic() + wait_s)
        (length,) = _LENGTH.unpack(head[: _LENGTH.size])
        if length > FRAME_LIMIT_BYTES:
            raise AgentError("message of a node", f"it is longer than {FRAME_LIMIT_BYTES} bytes.", _ONE_KEY)
        content = self._receive(length, time.monotonic() + self._timeout_s)
        self._check(head[_LENGTH.size :], _code(self._key, _PLACE.pack(self._theirs, self._received), content))
        self._received += 1
        try:
            message: dict[str, Any] = parse_object(content, "message of a node").value
        except CalendarError as error:
            raise AgentError(error.what, error.why, _ONE_KEY) from None
        return message

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    @staticmethod
    def _check(code: bytes, expected: bytes) -> None:
        if not hmac.compare_digest(code, expected):
            raise AgentError("message of a node", "it was not written by one who knows the secret.", _ONE_KEY)

    def _send(self, content: bytes, deadline_s: float) -> None:
        self._connection.settimeout(max(deadline_s - time.monotonic(), 1e-3))
        self._connection.sendall(content)

    def _receive(self, length: int, deadline_s: float) -> bytes:
        content = bytearray()
        while len(content) < length:
            self._connection.settimeout(max(deadline_s - time.monotonic(), 1e-3))
            part = self._connection.recv(min(length - len(content), 65536))
            if not part:
                raise ConnectionResetError("the other node ended the connection")
            content += part
        return bytes(content)


def _code(key: bytes, *parts: bytes) -> bytes:
    return hmac.new(key, b"".join(_LENGTH.pack(len(part)) + part for part in parts), hashlib.sha256).digest()
