"""Node agents that poll, in one process: few lines of Python for each request, so that it is not what is measured.

Started by `tests.bench.service`; it is told what to do as JSON on standard input, and prints what it saw as JSON.
Offered load does not wait for answers: each request has its instant, and its time counts from there.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass, field

_READ_BYTES = 65536
_UNCHANGED = b"HTTP/1.1 304 "
_NEW = b"HTTP/1.1 200 "
_END = b"\r\n\r\n"
_LAST_S = 5.0
_MOST_OPEN = 8000  # connections at once; the rest of an overload is told as not asked


@dataclass
class _Line:
    """A connection: what waits for it, and since when what it has sent was due."""

    port: int
    sock: socket.socket | None = None
    waiting: deque[tuple[float, int]] = field(default_factory=deque)
    due_s: float = 0.0
    agent: int = -1
    got: bytes = b""


class Agents:
    """Agents that ask in turn, each at its own instant.

    Args:
        told: `ports` to spread over; `tokens`; the calendar `known` to all of them; the `path`; `rate`, 1/s; how many
            `connections` to keep open, 0 for a new one each time; `seconds` and before them `warm_s`.
    """

    def __init__(self, told: dict) -> None:
        self._told = told
        self._fresh = not told["connections"]
        lines = (
            f"GET {told['path']} HTTP/1.1",
            "Host: 127.0.0.1",
            "Accept-Encoding: identity",
            "User-Agent: gridpace",
            f"Connection: {'close' if self._fresh else 'keep-alive'}",
            "Authorization: Bearer ",
        )
        self._head = "\r\n".join(lines).encode()
        self._tokens = [one.encode() for one in told["tokens"]]
        self._known = [told["known"].encode()] * len(self._tokens)
        self._poll = select.epoll()
        self._busy: dict[int, _Line] = {}
        ports = told["ports"]
        self._lines = [_Line(ports[k % len(ports)]) for k in range(told["connections"])]
        for line in self._lines:
            self._connect(line)
        self.waits_s: list[float] = []
        self.late_s: list[float] = []
        self.statuses: dict[str, int] = {}
        self._first_known = self._known[0]
        self.new_s: dict[int, float] = {}
        self.old_s: dict[int, float] = {}

    def run(self) -> dict:
        """Ask until the time is over; returns what was seen."""
        told, gap_s = self._told, 1.0 / self._told["rate"]
        begin = time.perf_counter() + 0.1
        measured = begin + told["warm_s"]
        end = measured + told["seconds"]
        number, used_s = 0, 0.0
        due = begin
        while True:
            now = time.perf_counter()
            while due <= now and due < end:
                if due >= measured and not used_s:
                    used_s = time.process_time()
                if due >= measured:
                    self.late_s.append(now - due)
                self._ask(due, number)
                number += 1
                due = begin + number * gap_s
                if number & 7 == 0:
                    now = time.perf_counter()
            if due >= end and (not self._open() or now > end + _LAST_S):
                break
            self._hear(max(0.0, min(due, end + _LAST_S) - time.perf_counter()), measured)
        asked = round(told["seconds"] * told["rate"])
        waits = sorted(self.waits_s)
        return {
            "answered": len(waits),
            "asked": asked,
            "statuses": self.statuses,
            "p50_s": _share(waits, 0.5),
            "p99_s": _share(waits, 0.99),
            "p999_s": _share(waits, 0.999),
            "sent_late_p99_s": _share(sorted(self.late_s), 0.99),
            "cpu_s": time.process_time() - used_s,
            "changed": [(self.new_s[port], self.old_s[port]) for port in self.new_s],
        }

    def _open(self) -> bool:
        return any(line.due_s or line.waiting for line in (self._busy.values() if self._fresh else self._lines))

    def _ask(self, due: float, number: int) -> None:
        agent = number % len(self._tokens)
        if self._fresh and len(self._busy) >= _MOST_OPEN:
            self.statuses["not asked"] = self.statuses.get("not asked", 0) + 1
            return
        if self._fresh:
            line = _Line(self._told["ports"][number % len(self._told["ports"])])
            self._connect(line)
        else:
            line = self._lines[agent % len(self._lines)]
            if line.due_s:
                line.waiting.append((due, agent))
                return
        self._send(line, due, agent)

    def _connect(self, line: _Line) -> None:
        line.sock = sock = socket.socket()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(("127.0.0.1", line.port))
        sock.settimeout(0.0)
        self._busy[sock.fileno()] = line
        self._poll.register(sock.fileno(), select.EPOLLIN)

    def _send(self, line: _Line, due: float, agent: int) -> None:
        line.due_s, line.agent, line.got = due, agent, b""
        line.sock.send(b'%s%s\r\nIf-None-Match: "%s"\r\n\r\n' % (self._head, self._tokens[agent], self._known[agent]))

    def _hear(self, wait_s: float, measured: float) -> None:
        for number, _ in self._poll.poll(wait_s):
            line = self._busy[number]
            try:
                found = line.sock.recv(_READ_BYTES)
            except ConnectionError:
                found = b""
            line.got += found
            if not found:
                self._lost(line, number)
            elif line.due_s and _is_whole(line.got):
                self._heard(line, number, measured)

    def _heard(self, line: _Line, number: int, measured: float) -> None:
        now, got = time.perf_counter(), line.got
        if not got.startswith(_UNCHANGED) or line.due_s >= measured:
            status = got[9:12].decode("ascii")
            self.statuses[status] = self.statuses.get(status, 0) + 1
        if line.due_s >= measured:
            self.waits_s.append(now - line.due_s)
        if got.startswith(_NEW):
            self._known[line.agent] = got.partition(_END)[2].strip()
            self.new_s.setdefault(line.port, now)
        elif self._known[line.agent] is self._first_known:
            self.old_s[line.port] = now
        line.due_s = 0.0
        if self._fresh:
            self._close(line, number)
        elif line.waiting:
            self._send(line, *line.waiting.popleft())

    def _lost(self, line: _Line, number: int) -> None:
        if line.due_s:
            self.statuses["lost"] = self.statuses.get("lost", 0) + 1
            line.due_s = 0.0
        self._close(line, number)
        if not self._fresh:
            self._connect(line)
            if line.waiting:
                self._send(line, *line.waiting.popleft())

    def _close(self, line: _Line, number: int) -> None:
        del self._busy[number]
        self._poll.unregister(number)
        line.sock.close()


def _is_whole(got: bytes) -> bool:
    head, end, body = got.partition(_END)
    if not end:
        return False
    if got.startswith(_UNCHANGED):
        return True
    _, found, length = head.lower().partition(b"content-length:")
    return not found or len(body) >= int(length.split(b"\r\n")[0])


def _share(values: list[float], share: float) -> float:
    return values[int(share * len(values))] if values else float("nan")


if __name__ == "__main__":
    agents = Agents(json.load(sys.stdin))
    print("ready", flush=True)
    print(json.dumps(agents.run()))
    os._exit(0)  # thousands of sockets need not be closed one by one
