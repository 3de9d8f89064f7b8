"""A provider on the loopback that is slow, cut, broken, busy or gone, and how it is asked; no real network."""

from __future__ import annotations

import contextlib
import socket
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler

from planner.sources.http import Http
from planner.sources.request import Request

NOW = datetime(2024, 5, 13, 12, tzinfo=UTC)
GOOD = b'{"value": 42}'


def say(status=200, body=GOOD, **headers):
    def act(handler):
        handler.send_response(status)
        for name, value in {"Content_Length": len(body), "Content_Type": "application/json", **headers}.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def silent(handler):
    handler.server.gone.wait(5.0)


def dripping(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    while not handler.server.gone.wait(0.05):
        handler.wfile.write(b" ")


def cut_chunks(handler):
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"d\r\n" + GOOD[:5])


def hang_up(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.headers)
        act = server.acts[min(len(server.asked), len(server.acts)) - 1]
        with contextlib.suppress(OSError):  # the client has gone, as it should
            act(self)

    def log_message(self, *args):
        pass


def ask(server, cache=None, *, now=NOW, offline=False, ttl=timedelta(0), asked=None, scheme="http", **limits):
    url = f"{scheme}://127.0.0.1:{server.server_address[1]}/data"
    request = Request("Provider", "carbon of X", url, (("zone", "X"),), ttl, **asked or {})
    given = {"budget_s": 3.0, "connect_s": 0.5, "read_s": 0.3, "backoff_s": 0.01, **limits}
    http = Http(cache=cache, offline=offline, clock=lambda: now, **given)
    return http.get(request, lambda payload: payload["value"], http.deadline())
