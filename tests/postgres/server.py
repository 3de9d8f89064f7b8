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


class Server:
    """A server in a folder. Its user is gridpace, with `PASSWORD`.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        programs = _programs()
        assert programs is not None
        self._programs, self._folder, self._as_user = programs, folder, list[str]()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        secret = folder / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            self._as_user = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"]
            for path in (folder, secret):
                shutil.chown(path, _USER)
        self._call("initdb", "-U", "gridpace", "-A", "scram-sha-256", f"--pwfile={secret}", "-N")

    def start(self) -> None:
        """Start it; returns once it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder} -c fsync=off"
        self._call("pg_ctl", "-l", str(self._folder / "server.log"), "-w", "-o", options, "start")

    def end_at_once(self) -> None:
        """End it as a crash would: nobody is told, nothing is written, and the next start recovers from the log."""
        self._call("pg_ctl", "-m", "immediate", "-w", "stop")

    @property
    def pid(self) -> int:
        """The process from which all of its processes come."""
        return int((self._folder / "data" / "postmaster.pid").read_text().split()[0])

    def _call(self, program: str, *arguments: str) -> None:
        # Into a file: a pipe would stay open in the server, and the reader wait for its end.
        told, command = self._folder / "calls.log", [str(self._programs / program), "-D", str(self._folder / "data")]
        with told.open("ab") as log:
            done = subprocess.run(
                [*self._as_user, *command, *arguments], stdout=log, stderr=log, cwd=self._folder, check=False
            )
        assert done.returncode == 0, told.read_text()


@contextmanager
def server() -> Iterator[Server]:
    """Run a server."""
    folder = Path(tempfile.mkdtemp(prefix="gridpace-pg-"))
    try:
        running = Server(folder)
        running.start()
        try:
            yield running
        finally:
            running.end_at_once()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
