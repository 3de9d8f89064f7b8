"""A Unix socket put where nobody else can have a hand in it."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trainer_hooks.errors import AgentError

_PATH_LIMIT_BYTES = 107  # sockaddr_un holds 108 with the final zero
_BACKLOG = 128


@dataclass(frozen=True)
class Listening:
    """A listening socket and what keeps its place.

    Attributes:
        path: Where it stands.
        socket: The socket.
    """

    path: Path
    socket: socket.socket
    _inode: int
    _lock: int

    def close(self) -> None:
        """Wake whoever waits for a connection, and take the socket away if it is still this one."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            if self.path.lstat().st_ino == self._inode:
                self.path.unlink()
        self.socket.close()
        os.close(self._lock)


def listen(path: Path, mode: int, gid: int | None) -> Listening:
    """Listen at a path; a socket that a dead process left there is replaced.

    A lock file beside the socket, held as long as the process lives, tells a dead owner from a living one, also from
    one that is stopped.

    Args:
        path: Where the socket shall stand; its folder must exist, belong to this user or to root, and be writable by
            no one else.
        mode: Permission bits.
        gid: Group; None leaves the process's.

    Raises:
        AgentError: The folder is open to others, something else stands at the path, or another process has it.
    """
    _check_folder(path.parent)
    if len(os.fsencode(path)) > _PATH_LIMIT_BYTES:
        raise AgentError(
            f"socket {path}",
            f"its path has {len(os.fsencode(path))} bytes, and a Unix socket's at most {_PATH_LIMIT_BYTES}.",
            "Choose a shorter path.",
        )
    try:
        lock = _lock(path)
    except OSError as error:
        raise AgentError(f"socket {path}", f"its lock cannot be made ({error}).", "Give the folder to it.") from error
    try:
        return _bind(path, mode, gid, lock)
    except BaseException:
        os.close(lock)
        raise


def _check_folder(folder: Path) -> None:
    try:
        facts = folder.lstat()
    except OSError as error:
        raise AgentError(f"folder {folder}", f"it cannot be used ({error}).", "Make it before.") from error
    why = None
    if not stat.S_ISDIR(facts.st_mode):
        why = "it is not a folder itself: a link or a file stands there."
    elif facts.st_uid not in {0, os.geteuid()}:
        why = f"it belongs to user {facts.st_uid}, who could put another socket there."
    elif facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        why = f"its mode is {stat.S_IMODE(facts.st_mode):04o}: others could put another socket there."
    if why:
        raise AgentError(
            f"folder {folder}", why, "Use a folder of mode 0755 of the agent's own, such as systemd's RuntimeDirectory."
        )


def _lock(path: Path) -> int:
    name = path.with_name(f"{path.name}.lock")
    lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise AgentError(
            f"socket {path}", "another process that lives has it.", "End that one first, or choose another path."
        ) from None
    except OSError:
        os.close(lock)
        raise
    return lock


def _bind(path: Path, mode: int, gid: int | None, lock: int) -> Listening:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise AgentError(
                f"socket {path}", "something that is no socket stands there.", "Move it away, or choose another path."
            )
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # The mode a socket has before it is bound is the one it appears with: no one else may connect too early.
        os.fchmod(listening.fileno(), 0o600)
        listening.bind(os.fspath(path))
        if gid is not None:
            os.chown(path, -1, gid, follow_symlinks=False)
        path.chmod(mode)
        listening.listen(_BACKLOG)
        return Listening(path, listening, path.lstat().st_ino, lock)
    except OSError as error:
        listening.close()
        raise AgentError(
            f"socket {path}", f"it cannot be made ({error}).", "Run as a user who may write there and has that group."
        ) from error
