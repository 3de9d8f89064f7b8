"""Who may call the service: bearer tokens with roles, of which only digests are kept."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from planner.errors import ConfigError, ExportError, NotPermitted
from planner.service.token_roles import ROLES, Role

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SECRET_BYTES = 32
_LIMIT_BYTES = 4 * 1024 * 1024
_MAKE = "make tokens by `gridpace token NAME --role ROLE --file FILE`"


@dataclass(frozen=True)
class Principal:
    """Who calls.

    Args:
        name: Name of the token.
        roles: What it may do.
    """

    name: str
    roles: frozenset[Role]


LOOPBACK = Principal("loopback", frozenset(ROLES))
"""Whoever calls from this machine where no tokens are set up."""


class TokenBook:
    """The tokens of a file, read again when it changes, so that a token that is taken out ends at once.

    Args:
        path: Text file, one `name role digest` a line; mode 0600.

    Raises:
        ConfigError: It cannot be read, or a line is wrong.
        NotPermitted: Others may read or change it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._known: dict[str, Principal] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read the file if it has changed; errors as for the class."""
        with self._lock:
            try:
                found = self._path.stat()
            except OSError as error:
                raise ConfigError(f"tokens {self._path} cannot be read ({error.strerror})", fix=_MAKE) from error
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp != self._stamp:
                self._known, self._stamp = _read(self._path), stamp

    def find(self, token: str) -> Principal | None:
        """Return whose token it is, or None."""
        digest = hashlib.sha256(token.encode(errors="replace")).hexdigest()
        # How long this takes tells of the digest alone, from which nobody comes to a token.
        return self._known.get(digest)


def add_token(path: Path, name: str, role: Role) -> str:
    """Make a token and enter its digest in the file, made if absent.

    Args:
        path: The file.
        name: Whose it is; letters, digits and . _ @ -.
        role: What it may do.

    Returns:
        The token, which is kept nowhere else.

    Raises:
        ConfigError: The name is none or taken, or the file is wrong.
        ExportError: The file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"token name {name[:64]!r} is not 1 to 64 letters, digits and . _ @ -", fix="name another")
    known = _read(path) if path.exists() else {}
    if any(one.name == name for one in known.values()):
        raise ConfigError(f"{path} has a token named {name!r} already", fix="take its line out first, or name another")
    token = f"gp_{role}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    line = f"{name} {role} {hashlib.sha256(token.encode()).hexdigest()}\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(line)
    except OSError as error:
        raise ExportError(f"{path} cannot be written ({error.strerror})") from error
    return token


def _read(path: Path) -> dict[str, Principal]:
    try:
        mode = path.stat().st_mode
        if stat.S_IMODE(mode) & 0o077:
            raise NotPermitted(
                f"tokens {path} have mode {stat.S_IMODE(mode):04o}, which lets others read or change them",
                fix=f"chmod 600 {path}",
            )
        content = path.read_bytes()[: _LIMIT_BYTES + 1].decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"tokens {path} cannot be read ({error})", fix=_MAKE) from error
    if len(content) > _LIMIT_BYTES:
        raise ConfigError(f"tokens {path} are larger than {_LIMIT_BYTES} bytes", fix="take unused lines out")
    found: dict[str, Principal] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        parts = line.partition("#")[0].split()
        if not parts:
            continue
        role = next((role for role in ROLES if parts[1:2] == [role]), None)
        if len(parts) != 3 or role is None or not _NAME.fullmatch(parts[0]) or not _DIGEST.fullmatch(parts[2]):
            # The line is not shown: somebody may have written a token itself into it.
            raise ConfigError(
                f"line {number} of {path} is not: name, one of {', '.join(ROLES)}, and a SHA-256 in 64 digits",
                fix=_MAKE,
            )
        found[parts[2]] = Principal(parts[0], frozenset({role}))
    return found
