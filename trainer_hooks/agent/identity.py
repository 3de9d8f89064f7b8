"""What the kernel knows of a process that asks: its user, and the control groups and Slurm job that it runs in.

A job's number is taken from the control group that slurmd puts the job into, never from the environment, which the
process can write. The pattern starts at the root of the hierarchy, because below their own slice users may make
groups of any name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer_hooks.wire import Peer

_SLURM = re.compile(
    r"/slurm(?:_[\w.-]+)?/uid_\d+/job_(\d+)(?:/.*)?"  # control groups of the first version
    r"|/system\.slice/(?:[\w.-]+_)?slurmstepd\.scope/job_(\d+)(?:/.*)?",  # and of the second
    re.ASCII,
)


@dataclass(frozen=True)
class Identity:
    """Who asks.

    Attributes:
        uid: User.
        cgroups: Paths of its control groups.
        slurm_jobs: Numbers of the Slurm jobs that own them.
    """

    uid: int
    cgroups: frozenset[str]
    slurm_jobs: frozenset[int]


def identify(peer: Peer, proc: Path = Path("/proc")) -> Identity:
    """Look a peer up.

    Args:
        peer: The peer.
        proc: Where the kernel tells of processes.

    Returns:
        Its identity. Where the process is gone, or its number is another user's by now, only the user is known, who
        was asked for at the connection.
    """
    folder = proc / str(peer.pid)
    try:
        lines = (folder / "cgroup").read_text("utf-8", "replace").splitlines()
        # asked for after the file was read: a number that was given to another user's process is found out
        same = folder.stat().st_uid == peer.uid
    except OSError:
        lines, same = [], False
    # A named hierarchy, such as systemd's of the first version, is one that users may have been given.
    entries = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    paths = frozenset(entry[2] for entry in entries if not entry[1].startswith("name=")) if same else frozenset()
    matches = [_SLURM.fullmatch(path) for path in paths]
    return Identity(peer.uid, paths, frozenset(int(found[1] or found[2]) for found in matches if found))
