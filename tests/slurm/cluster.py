"""A Slurm cluster of one node on loopback: munged, slurmctld and slurmd of this machine's package, in one folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "scancel")
_START_S = 30.0
_SERVICE_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

_CONF = """\
ClusterName=gridpace
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
KillWait=5
MinJobAge=300
PrologFlags=Alloc
{extra}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 State=UNKNOWN
PartitionName=hall-a Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Return why a cluster cannot be started here, or nothing."""
    absent = [name for name in _PROGRAMS if shutil.which(name, path=_SERVICE_PATH) is None]
    if absent:
        return f"Slurm is not installed ({', '.join(absent)}); apt-get install slurm-wlm munge"
    return "" if os.geteuid() == 0 else "slurmd needs root to start jobs"


@dataclass(frozen=True)
class Cluster:
    """A running cluster.

    Attributes:
        folder: Its configuration, state and logs.
    """

    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        """Environment in which Slurm's commands find it."""
        return {**os.environ, "PATH": _SERVICE_PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *command: str, check: bool = True, **variables: str) -> str:
        """Run a command against the cluster and return what it printed."""
        done = subprocess.run(
            command, env=self.environ | variables, capture_output=True, text=True, timeout=60, check=False
        )
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def jobs(self) -> list[dict[str, str]]:
        """Return every job that the controller knows, as it tells them."""
        lines = self.run("scontrol", "show", "job", "--oneliner").splitlines()
        return [dict(part.split("=", 1) for part in line.split() if "=" in part) for line in lines if "JobId=" in line]


@contextmanager
def cluster(*, extra: Sequence[str] = ()) -> Iterator[Cluster]:
    """Start a cluster and stop it at the end.

    Args:
        extra: More lines of slurm.conf.
    """
    # Not in pytest's folder: munged runs as another user and has to reach its own, and a socket's path is short.
    folder = Path(tempfile.mkdtemp(prefix="gridpace-slurm-"))
    try:
        yield from _started(folder, extra)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path, extra: Sequence[str]) -> Iterator[Cluster]:
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    # munged insists on an owner other than root and on folders that nobody else may write to.
    folder.chmod(0o755)
    for path in (folder, key):
        shutil.chown(path, "munge", "munge")
    key.chmod(0o600)
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    cpus = os.cpu_count() or 1
    conf.write_text(
        _CONF.format(folder=folder, host=host, ports=_free_ports(2), cpus=cpus, extra="\n".join(extra)), "utf-8"
    )
    here = Cluster(folder)
    services: list[subprocess.Popen[bytes]] = []

    def start(*command: str, user: str | None = None) -> None:
        with (folder / f"{command[0]}.out").open("wb") as log:
            services.append(subprocess.Popen(command, env=here.environ, stdout=log, stderr=log, user=user, group=user))

    try:
        start(
            "munged",
            "--foreground",
            f"--socket={folder}/munge.socket",
            f"--key-file={key}",
            f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/munged.log",
            f"--seed-file={folder}/munged.seed",
            user="munge",
        )
        _wait_until((folder / "munge.socket").exists, folder, "munged")
        start("slurmctld", "-D", "-f", str(conf))
        start("slurmd", "-D", "-f", str(conf), "-N", host)
        _wait_until(lambda: "idle" in here.run("sinfo", "-h", "-o", "%T", check=False), folder, "the node")
        yield here
    finally:
        if len(services) == 3:
            here.run("scancel", "--user=root", check=False)
        for service in reversed(services):
            service.terminate()
        for service in reversed(services):
            try:
                service.wait(10)
            except subprocess.TimeoutExpired:
                service.kill()
                service.wait()


def _wait_until(ready: Callable[[], bool], folder: Path, what: str) -> None:
    deadline_s = time.monotonic() + _START_S
    while not ready():
        if time.monotonic() > deadline_s:
            logs = "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in sorted(folder.glob("*.log")))
            raise AssertionError(f"{what} did not come up in {_START_S:.0f} s\n{logs}")
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
