"""Secrets in files: readable by their owner alone, and never part of a sentence."""

from __future__ import annotations

from pathlib import Path

from trainer_hooks.agent.sections import check_owner
from trainer_hooks.errors import AgentError, CalendarError
from trainer_hooks.strictjson import read_bytes

_LIMIT_BYTES = 4096


class Secret:
    """Bytes that do not show themselves.

    Args:
        content: The bytes.
    """

    __slots__ = ("content",)

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __repr__(self) -> str:
        return "Secret(...)"


def read_secret(path: Path, shortest_bytes: int) -> Secret:
    """Read a secret from its file, without white space around it.

    Args:
        path: The file; its mode must be 0600 or less.
        shortest_bytes: Least length, bytes.

    Raises:
        AgentError: The file is open to others, cannot be read, or is too short.
    """
    check_owner(path, allow_read=False)
    try:
        content = read_bytes(path, _LIMIT_BYTES).strip()
    except CalendarError as error:
        raise AgentError(error.what, error.why, "Write the secret into it, mode 0600.") from error
    return secret_from(content, str(path), shortest_bytes)


def read_token(path: Path, shortest_bytes: int) -> Secret:
    """Read a bearer token from its file; see `read_secret`.

    Raises:
        AgentError: As there, or it is none that a header of HTTP can carry.
    """
    return _sendable(read_secret(path, shortest_bytes), str(path))


def token_from(content: bytes, subject: str, shortest_bytes: int) -> Secret:
    """Return a bearer token; see `secret_from`.

    Raises:
        AgentError: As there, or it is none that a header of HTTP can carry.
    """
    return _sendable(secret_from(content, subject, shortest_bytes), subject)


def _sendable(token: Secret, subject: str) -> Secret:
    # What carries it later would refuse it in a sentence that shows it.
    if any(not 0x21 <= sign <= 0x7E for sign in token.content):
        raise AgentError(
            subject,
            "its token has a blank, a second line or a sign that is not printable ASCII.",
            "Write the token alone, in one line.",
        )
    return token


def secret_from(content: bytes, subject: str, shortest_bytes: int) -> Secret:
    """Return a secret.

    Args:
        content: Its bytes.
        subject: Where it stood.
        shortest_bytes: Least length, bytes.

    Raises:
        AgentError: It is too short.
    """
    if len(content) < shortest_bytes:
        raise AgentError(
            subject,
            f"its secret has {len(content)} bytes, fewer than {shortest_bytes}.",
            f"Make one: `openssl rand -hex {max(shortest_bytes, 32)}`.",
        )
    return Secret(content)
