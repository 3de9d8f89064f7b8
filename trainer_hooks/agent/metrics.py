"""What the agent sees and does, in Prometheus' text format, on the loopback interface only."""

from __future__ import annotations

import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from trainer_hooks.errors import AgentError

_UNITS = ("watts", "celsius", "joules", "seconds", "info", "ratio")
_COUNTS = ("claims", "boards", "failures", "requests", "records", "bytes", "bool")
_REQUEST_LIMIT_BYTES = 8192
_DEADLINE_S = 1.0
_LOG = logging.getLogger("trainer_hooks.agent")


@dataclass(frozen=True)
class Metric:
    """One quantity, with a value per set of labels.

    Attributes:
        name: Its name, which ends in its unit; a counter's in `_total` after that.
        kind: `gauge` or `counter`.
        text: One line for people.
        values: Labels and value; a value that is not finite is left out.

    Raises:
        ValueError: The name does not end in a unit.
    """

    name: str
    kind: str
    text: str
    values: tuple[tuple[Mapping[str, str], float], ...]

    def __post_init__(self) -> None:
        base = self.name.removesuffix("_total")
        if not base.endswith(tuple(f"_{unit}" for unit in (*_UNITS, *_COUNTS))):
            raise ValueError(f"The metric {self.name!r} must end in its unit, one of {_UNITS + _COUNTS}.")
        if (self.kind == "counter") != self.name.endswith("_total"):
            raise ValueError(f"The metric {self.name!r} is a {self.kind}; counters alone end in _total.")


def exposition(metrics: Iterable[Metric]) -> str:
    """Write metrics in Prometheus' text format, version 0.0.4."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.text}", f"# TYPE {metric.name} {metric.kind}"]
        for labels, value in metric.values:
            if math.isfinite(value):
                named = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
                lines.append(f"{metric.name}{'{' + named + '}' if named else ''} {value:.10g}")
    return "\n".join(lines) + "\n"


class MetricsServer:
    """Answers GET /metrics on 127.0.0.1, one connection at a time, each within a second.

    Args:
        port: TCP port; 0 takes a free one.
        collect: Returns the metrics.

    Raises:
        AgentError: The port is taken.
    """

    def __init__(self, port: int, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect
        self._stopped = threading.Event()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen(16)
        except OSError as error:
            self._socket.close()
            raise AgentError(
                f"metrics, port {port}", f"it cannot be listened on ({error}).", "Choose another port."
            ) from error
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="gridpace-metrics", daemon=True)

    def start(self) -> None:
        """Begin to answer, in a daemon thread."""
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._stopped.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if not self._stopped.wait(0.1):
                    continue
                return
            with connection, suppress(OSError):
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        deadline_s = time.monotonic() + _DEADLINE_S
        request = b""
        while b"\r\n\r\n" not in request and b"\n\n" not in request:
            connection.settimeout(max(deadline_s - time.monotonic(), 0.001))
            part = connection.recv(_REQUEST_LIMIT_BYTES)
            request += part
            if not part or len(request) > _REQUEST_LIMIT_BYTES or time.monotonic() > deadline_s:
                return
        path = request.split(b" ", 2)[1:2]
        if not request.startswith(b"GET ") or path not in ([b"/metrics"], [b"/"]):
            status, body = "404 Not Found", "GET /metrics\n"
        else:
            status, body = "200 OK", self._body()
        content = body.encode("utf-8")
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        )
        connection.settimeout(_DEADLINE_S)
        connection.sendall(head.encode("ascii") + content)

    def _body(self) -> str:
        try:
            return exposition(self._collect())
        except Exception:
            _LOG.exception("gridpace-agent: the metrics cannot be collected.")
            return ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
