"""A PostgreSQL server of this machine's package, on loopback, in one folder."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_USER = "postgres"  # the server refuses to run as root; the package brings this user
PASSWORD = "pa:ss/w@rd %"


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return None if on_path is None else Path(on_path).resolve().parent


def missing() -> str:
    """Return why a server cannot be started here, or nothing."""
    if _programs() is None:
        return "PostgreSQL is not installed; apt-get install postgresql"
    try:
        pwd.getpwnam(_USER)
    except KeyError:
        return "" if os.geteuid() else f"PostgreSQL does not run as root, and there is no user {_USER}"
    return ""


@contextmanager
def server() -> Iterator[int]:
    """Run a server; yields its port. Its user is gridpace, with `PASSWORD`."""
    programs = _programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="gridpace-pg-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secret = folder / "password"
    secret.write_text(PASSWORD)
    as_user = []
    if os.geteuid() == 0:
        as_user = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"]
        for path in (folder, secret):
            shutil.chown(path, _USER)

    def call(*command: str) -> None:
        # Into a file: a pipe would stay open in the server, and the reader wait for its end.
        with (folder / "calls.log").open("ab") as log:
            done = subprocess.run([*as_user, *command], stdout=log, stderr=log, cwd=folder, check=False)
        assert done.returncode == 0, (folder / "calls.log").read_text()

    data, log = str(folder / "data"), str(folder / "server.log")
    call(str(programs / "initdb"), "-D", data, "-U", "gridpace", "-A", "scram-sha-256", f"--pwfile={secret}", "-N")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    call(str(programs / "pg_ctl"), "-D", data, "-l", log, "-w", "-o", options, "start")
    try:
        yield port
    finally:
        call(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)
