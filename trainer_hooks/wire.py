"""Requests to the node agent and their answers: one JSON object a line, over a Unix socket, one request a connection.

Whoever listens trusts nothing: the peer is named by the kernel (SO_PEERCRED), a line has at most 64 KiB, every read
and write has a deadline, connections and requests are counted per user, and nothing a peer sends becomes a path.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer_hooks.buckets import Buckets
from trainer_hooks.errors import AgentBusy, AgentError, AgentGone, HookError
from trainer_hooks.lines import ASK_RIGHT, LINE_LIMIT_BYTES, dump_line, parse_line, read_line, send, write_line
from trainer_hooks.sockets import listen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Handler = Callable[["Peer", dict[str, Any]], Mapping[str, Any]]

WIRE_VERSION = 1
_LOG = logging.getLogger("trainer_hooks.wire")
_CREDENTIALS = struct.Struct("iII")
_START_AGENT = "Start gridpace-agent on this node, and see its log if it does not stay up."


@dataclass(frozen=True)
class Peer:
    """Who asks, as the kernel says it.

    Attributes:
        pid: Process that opened the connection.
        uid: Its effective user.
        gid: Its effective group.
    """

    pid: int
    uid: int
    gid: int


@dataclass(frozen=True)
class ServerLimits:
    """What strangers may cost the server.

    Attributes:
        deadline_s: Longest time from a connection to its whole request, and again to its whole answer, s.
        connections: Most connections at once.
        connections_per_user: Most connections of one user at once.
        requests_per_s: Requests of one user in the long run, 1/s.
        request_burst: Requests of one user at once, after a rest.
    """

    deadline_s: float = 2.0
    connections: int = 96
    connections_per_user: int = 24
    requests_per_s: float = 200.0
    request_burst: float = 400.0


class Server:
    """Answers requests on a Unix socket, each connection in a thread of its own.

    Args:
        socket_path: Where the socket stands; see `trainer_hooks.sockets.listen` for what is refused there.
        handlers: Operation -> function of the peer and the request's members, which returns the answer's. An entry
            `name.*` takes every operation `name.…` that has no entry of its own.
        mode: Permission bits of the socket.
        gid: Group of the socket; None leaves the process's.
        limits: What strangers may cost.

    Raises:
        AgentError: The socket cannot be made there, or another server has it.
    """

    def __init__(
        self,
        socket_path: Path | str,
        handlers: Mapping[str, Handler],
        *,
        mode: int = 0o660,
        gid: int | None = None,
        limits: ServerLimits | None = None,
    ) -> None:
        self.path = Path(socket_path)
        self.refused = 0
        self.served = 0
        self._handlers = dict(handlers)
        self._limits = limits or ServerLimits()
        self._rates = Buckets(self._limits.requests_per_s, self._limits.request_burst)
        self._open: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._listening = listen(self.path, mode, gid)
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def start(self) -> Server:
        """Answer in a daemon thread from now on."""
        self._thread = threading.Thread(target=self._accept, name="gridpace-accept", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Take no more connections and take the socket away; requests under way are answered."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._listening.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(self._limits.deadline_s)

    def __enter__(self) -> Server:
        return self if self._thread is not None else self.start()

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listening.socket.accept()
            except OSError as error:
                if self._closed.is_set():
                    return
                # out of descriptors, say: the next connection may find some free
                _LOG.warning("gridpace: a connection to %s cannot be taken (%s).", self.path, error)
                time.sleep(0.05)
                continue
            self._admit(connection)

    def _admit(self, connection: socket.socket) -> None:
        try:
            peer = Peer(
                *_CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
            )
        except OSError:
            connection.close()
            return
        refusal = self._refusal(peer)
        if refusal is not None:
            self.refused += 1
            _turn_away(connection, _refused(refusal))
            return
        thread = threading.Thread(target=self._serve, args=(connection, peer), name="gridpace-answer", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._leave(peer)
            connection.close()

    def _refusal(self, peer: Peer) -> AgentError | None:
        """Count the connection in, or say why it is turned away."""
        limits = self._limits
        if not self._rates.take(peer.uid, time.monotonic()):
            return AgentBusy(
                f"requests of user {peer.uid}",
                f"they are more than {limits.requests_per_s:g} a second and {limits.request_burst:g} at once.",
                "Ask less often.",
            )
        with self._lock:
            if self._open[peer.uid] >= limits.connections_per_user or self._open.total() >= limits.connections:
                return AgentBusy(
                    f"connections of user {peer.uid}",
                    f"{self._open[peer.uid]} of {limits.connections_per_user} are open, of all users "
                    f"{self._open.total()} of {limits.connections}.",
                    "Close connections as soon as they are answered.",
                )
            self._open[peer.uid] += 1
        return None

    def _leave(self, peer: Peer) -> None:
        with self._lock:
            self._open[peer.uid] -= 1
            if not self._open[peer.uid]:
                del self._open[peer.uid]

    def _serve(self, connection: socket.socket, peer: Peer) -> None:
        try:
            with connection:
                try:
                    line = read_line(connection, time.monotonic() + self._limits.deadline_s)
                    answer = self._answer(peer, line)
                except HookError as error:
                    answer = _refused(error)
                except OSError:
                    return  # the peer is gone
                except Exception:
                    _LOG.exception("gridpace: a request of process %d (user %d) failed.", peer.pid, peer.uid)
                    answer = _refused(AgentError("the agent", "it failed at this request.", "See its log."))
                write_line(connection, answer, time.monotonic() + self._limits.deadline_s)
                self.served += 1
        except (OSError, HookError):
            _LOG.debug("gridpace: process %d (user %d) did not take its answer.", peer.pid, peer.uid)
        finally:
            self._leave(peer)

    def _answer(self, peer: Peer, line: bytes) -> dict[str, Any]:
        request = parse_line(line, "request")
        version, operation = request.pop("v", None), request.pop("op", None)
        if version != WIRE_VERSION or isinstance(version, bool):
            raise AgentError("request, key v", f"this server speaks version {WIRE_VERSION} only.", ASK_RIGHT)
        if not isinstance(operation, str):
            raise AgentError("request, key op", "it must be a string.", ASK_RIGHT)
        handler = self._handlers.get(operation) or self._handlers.get(f"{operation.split('.')[0]}.*")
        if handler is None:
            raise AgentError(
                f"request, operation {operation[:40]!r}", f"known are {', '.join(sorted(self._handlers))}.", ASK_RIGHT
            )
        if operation not in self._handlers:
            request["op"] = operation
        return {"ok": True, **handler(peer, request)}


def call(socket_path: Path | str, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
    """Ask the server behind a Unix socket.

    Args:
        socket_path: The socket.
        request: Members of the request, `op` among them; the version is added.
        timeout_s: Longest time until the whole answer, s.

    Returns:
        Members of the answer.

    Raises:
        AgentGone: Nobody listens there, or no whole answer came in time.
        AgentBusy: The server refuses for now.
        AgentError: The server refuses; the three parts are its own.
    """
    deadline_s = time.monotonic() + timeout_s
    line = dump_line({"v": WIRE_VERSION, **request})
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(os.fspath(socket_path))
            # turned away before it was read: the refusal is there to be read all the same
            with suppress(BrokenPipeError, ConnectionResetError):
                send(connection, line, deadline_s)
            answer = parse_line(read_line(connection, deadline_s), f"answer of {socket_path}")
    except PermissionError as error:
        raise AgentGone(
            f"agent at {socket_path}",
            "this user may not speak to it.",
            "Join the group of the socket, or have the administrator change it.",
        ) from error
    except (OSError, ValueError) as error:
        raise AgentGone(f"agent at {socket_path}", f"it does not answer ({error}).", _START_AGENT) from error
    if answer.pop("ok", None) is True:
        return answer
    fault = answer.get("error")
    told = fault if isinstance(fault, dict) else {}
    kind = AgentBusy if told.get("again") is True else AgentError
    raise kind(*(str(told.get(part, "(not said)")) for part in ("what", "why", "fix")))


def _refused(error: HookError) -> dict[str, Any]:
    told: dict[str, Any] = {"what": error.what, "why": error.why, "fix": error.fix}
    return {"ok": False, "error": {**told, "again": True} if isinstance(error, AgentBusy) else told}


def _turn_away(connection: socket.socket, answer: dict[str, Any]) -> None:
    """Say why, as far as that costs no waiting."""
    with connection:
        try:
            connection.settimeout(0.0)
            connection.send(dump_line(answer), socket.MSG_NOSIGNAL)
            # unread bytes at the close would take the refusal from the peer
            connection.recv(LINE_LIMIT_BYTES)
        except OSError:
            return
