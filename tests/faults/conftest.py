"""Providers on the loopback for all tests of faults."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from http.server import ThreadingHTTPServer

import pytest

from tests.loopback import Handler


@pytest.fixture
def provider():
    """Starts a provider that does one act after another and then repeats the last."""
    servers = []

    def start(*acts, tls=None):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.acts, server.asked, server.gone = acts, [], threading.Event()
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.gone.set()
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def self_signed(tmp_path_factory):
    """How a server speaks TLS whose certificate nobody has signed."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the program openssl is not there to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    named = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
    subprocess.run([openssl, "req", "-x509", *curve, *named, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context
