"""A hub in a training process, for nodes without an agent: one rank of each node serves the others."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer_hooks.agreement.hub import Hub
from trainer_hooks.errors import AgentError
from trainer_hooks.wire import Server, ServerLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer_hooks.agreement.coordinator import Timing
    from trainer_hooks.agreement.link import Link
    from trainer_hooks.wire import Peer

# The others on the socket are ranks of the same user.
_LIMITS = ServerLimits(connections=1024, connections_per_user=1024, requests_per_s=1e5, request_burst=1e5)


def socket_path(job: str) -> Path:
    """Return where the ranks of a job meet on this node: in a folder that only this user can enter.

    Raises:
        AgentError: Someone else has put something in its place.
    """
    folder = Path(tempfile.gettempdir()) / f"gridpace-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
        raise AgentError(
            f"folder {folder}", "it is not this user's alone.", "Remove it, or set TMPDIR to a folder of your own."
        )
    return folder / f"{hashlib.sha256(job.encode()).hexdigest()[:16]}.sock"


class HostedHub:
    """A hub and its socket in this process.

    Args:
        path: The socket.
        timing: How long things may take.
        links: See `Hub`.

    Raises:
        AgentError: Another process has the socket.
    """

    def __init__(self, path: Path, timing: Timing, links: Mapping[str, Link] | None = None) -> None:
        self._timeout_s = timing.timeout_s
        self._server = Server(path, {"agree.*": self._handle}, mode=0o600, limits=_LIMITS)
        # Who has the socket has the folder too: what a process that was killed left there is cleared away.
        self._folder = path.with_suffix(".words")
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        self.hub = Hub(self._folder, timing=timing, links=links)
        self._server.start()

    def close(self) -> None:
        """End, but not before an `exit` has reached all ranks of the node, as far as they live and answer in time."""
        deadline_s = time.monotonic() + self._timeout_s
        while self.hub.waits_for(os.getpid()) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        self._server.close()
        self.hub.close()
        self._folder.rmdir()

    def _handle(self, peer: Peer, message: dict[str, Any]) -> dict[str, Any]:
        return self.hub.handle(peer, message)
