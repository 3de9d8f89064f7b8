"""TCP between the hubs of a job's nodes."""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from trainer_hooks.agreement.proof import SECRET_SHORTEST_BYTES, Channel
from trainer_hooks.errors import AgentError, AgentGone, HookError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

    Answer = Callable[[dict[str, Any]], Mapping[str, Any]]

_LOG = logging.getLogger("trainer_hooks.link")
TIMEOUT_S: Final = 2.0
_IDLE_S = 60.0
_AGAIN_S = 0.05
_CONNECTIONS = 4096


def check_secret(secret: bytes) -> None:
    """Refuse a secret that can be guessed.

    Raises:
        AgentError: It is too short.
    """
    if len(secret) < SECRET_SHORTEST_BYTES:
        raise AgentError(
            "secret of the nodes",
            f"it has {len(secret)} bytes, fewer than {SECRET_SHORTEST_BYTES}.",
            "Draw one: head -c 32 /dev/urandom | base64",
        )


class Link:
    """The way to another node's hub; a connection that broke is made again at the next exchange.

    Args:
        host: Name or address of the node.
        port: Its port.
        secret: What all nodes of the job know.
        timeout_s: Longest time for a connection, and for an answer, s.

    Raises:
        AgentError: The secret is too short.
    """

    def __init__(self, host: str, port: int, secret: bytes, timeout_s: float = TIMEOUT_S) -> None:
        check_secret(secret)
        self._place = (host, port)
        self._secret = secret
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._channel: Channel | None = None
        self._closed = False

    def exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a message and return the answer.

        Raises:
            AgentError: The other hub refuses, or does not know the secret.
            AgentGone: It does not answer.
        """
        with self._lock:
            try:
                if self._channel is None:
                    self._channel = self._connect()
                self._channel.write(message)
                answer = self._channel.read(self._timeout_s)
            except (OSError, HookError) as error:
                self._drop()
                if isinstance(error, HookError):
                    raise
                where = f"hub at {self._place[0]}, port {self._place[1]}"
                raise AgentGone(where, f"it does not answer ({error}).", "See whether rank 0's node runs.") from error
        if "error" in answer:
            raise AgentError("hub of rank 0's node", f"it refuses: {str(answer['error'])[:300]}", "See its log.")
        return answer

    def close(self) -> None:
        """End the connection for good."""
        with self._lock:
            self._closed = True
            self._drop()

    def _drop(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _connect(self) -> Channel:
        if self._closed:
            raise ConnectionAbortedError("this node has ended it")
        connection = socket.create_connection(self._place, self._timeout_s)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return Channel(connection, self._secret, opens=True, timeout_s=self._timeout_s)
        except BaseException:
            connection.close()
            raise


class LinkServer:
    """Answers the hubs of other nodes, each in a daemon thread of its own.

    Args:
        host: Address to listen at.
        port: Port; 0 takes a free one.
        secret: What all nodes of the job know.
        answer: Returns the answer to a message; a `HookError` of it is told to the other node.
        timeout_s: Longest time for a proof, and for one message, s.

    Raises:
        AgentError: The secret is too short, or nothing can listen there.
    """

    def __init__(self, host: str, port: int, secret: bytes, answer: Answer, timeout_s: float = TIMEOUT_S) -> None:
        check_secret(secret)
        self._secret = secret
        self._answer = answer
        self._timeout_s = timeout_s
        self._places = threading.BoundedSemaphore(_CONNECTIONS)
        self._open: set[socket.socket] = set()
        self._closed = False
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listening = socket.create_server((host, port), family=family, backlog=_CONNECTIONS)
        except OSError as error:
            raise AgentError(
                f"hub at {host}, port {port}",
                f"it cannot listen ({error}).",
                "Choose another port, or an address that is this node's.",
            ) from error
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, name="gridpace-nodes", daemon=True).start()

    def close(self) -> None:
        """Take no more connections and end those there are."""
        self._closed = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in tuple(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(_AGAIN_S)  # out of descriptors, say: the next connection may find some free
                continue
            if not self._places.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection,), name="gridpace-node", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._open.add(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            channel = Channel(connection, self._secret, opens=False, timeout_s=self._timeout_s)
            while not self._closed:
                message = channel.read(_IDLE_S)
                try:
                    answer = self._answer(message)
                except HookError as error:
                    answer = {"error": str(error)}
                channel.write(answer)
        except HookError as error:
            _LOG.warning("gridpace: a connection from another node is ended: %s", error)
        except OSError:
            _LOG.debug("gridpace: another node has ended its connection.")
        finally:
            self._open.discard(connection)
            connection.close()
            self._places.release()
