"""Node agents for tests: in this process on plain boards, or as a command on the twin of NVML."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.nvml_twin import Twin
from trainer_hooks.agent.agent import Agent
from trainer_hooks.agent.config import read_config
from trainer_hooks.errors import GpuError
from trainer_hooks.gpu import LimitVerdict

NOBODY = 65534 if os.getuid() != 65534 else 65533
A, B = "GPU-aaaaaaaa-0000", "GPU-bbbbbbbb-1111"


@dataclass
class PlainGpu:
    """A board that keeps the limit it is told, with faults on demand."""

    uuid: str = A
    limit_w: float = 650.0
    range_w: tuple[float, float] = (100.0, 700.0)
    margin: float | None = 40.0
    energy: float = 5000.0
    silent: bool = False
    refuses: str = ""
    sets: list[float] = field(default_factory=list)
    before_set: Callable[[], None] = lambda: None
    name: str = "plain board"
    simulated: bool = False

    def power_limit_w(self):
        self._answer()
        return self.limit_w

    enforced_limit_w = power_limit_w

    def limit_range_w(self):
        return self.range_w

    def set_power_limit_w(self, limit_w):
        self.before_set()
        if self.silent:
            return LimitVerdict(limit_w, None, None, "lost")
        if self.refuses:
            return LimitVerdict(limit_w, self.limit_w, self.limit_w, self.refuses)
        self.limit_w = min(max(limit_w, self.range_w[0]), self.range_w[1])
        self.sets.append(self.limit_w)
        return LimitVerdict(limit_w, self.limit_w, self.limit_w, "applied" if self.limit_w == limit_w else "clamped")

    def power_w(self):
        self._answer()
        return 120.5

    def energy_j(self):
        self._answer()
        return self.energy

    def temperature_c(self):
        self._answer()
        return 48.0

    def margin_c(self):
        self._answer()
        return self.margin

    def _answer(self):
        if self.silent:
            raise GpuError(f"GPU {self.uuid}", "it does not answer.", "Wait.")


@contextlib.contextmanager
def place() -> Iterator[Path]:
    """A short folder that other users may look into, for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="gp-"))
    folder.chmod(0o755)
    (folder / "run").mkdir(mode=0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def config_file(folder: Path, *sections: str, agent: str = "") -> Path:
    """Write an agent's configuration whose socket and state are in a folder."""
    path = folder / "agent.ini"
    sample = "" if "sample_s" in agent else "sample_s = 0.1\n"
    head = f"[agent]\nsocket = {folder}/run/agent.sock\nstate_dir = {folder}/state\n{sample}{agent}\n"
    path.write_text(head + "\n".join(sections))
    path.chmod(0o644)
    return path


def grant(gpus: str = "all", name: str = "me", uid: int | None = None, more: str = "") -> str:
    return f"[grant {name}]\ngpus = {gpus}\nuids = {os.getuid() if uid is None else uid}\n{more}\n"


@contextlib.contextmanager
def agent_here(folder: Path, gpus, *sections: str, agent: str = "", **given) -> Iterator[Agent]:
    """Run an agent in threads of this process."""
    agent_ = Agent(read_config(config_file(folder, *sections, agent=agent)), gpus, environ={}, **given)
    agent_.start()
    loop = threading.Thread(target=agent_.run)
    loop.start()
    try:
        yield agent_
    finally:
        agent_.stop()
        loop.join()
        agent_.close()


class AgentProcess:
    """`gridpace-agent` on a twin, which can be killed and started again."""

    def __init__(self, folder: Path, twin: Twin, *sections: str, agent: str = "") -> None:
        self.config = config_file(folder, *sections, agent=agent)
        self.socket = folder / "run/agent.sock"
        self.log = folder / "agent.log"
        self._environment = {**os.environ, **twin.environment(root=True), "PYTHONPATH": str(Path.cwd())}
        self.start()

    def start(self) -> None:
        before = self.log.read_text().count("listening on") if self.log.exists() else 0
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self._command(), env=self._environment, stderr=log)
        until(lambda: self.log.read_text().count("listening on") > before or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def run(self, *words: str) -> subprocess.CompletedProcess:
        command = [*self._command(), *words]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)

    def end(self, number: signal.Signals) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(10)

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "trainer_hooks.agent.main", "--config", str(self.config)]


@contextlib.contextmanager
def agent_on(folder: Path, twin: Twin, *sections: str, agent: str = "") -> Iterator[AgentProcess]:
    process = AgentProcess(folder, twin, *sections, agent=agent)
    try:
        yield process
    finally:
        process.end(signal.SIGKILL)


def free_port() -> int:
    """Find a TCP port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(holds: Callable[[], Any], within_s: float = 5.0) -> float:
    """Wait until something holds; returns how long that took, s."""
    begin_s = time.monotonic()
    while not holds():
        assert time.monotonic() - begin_s < within_s, "it did not come to pass"
        time.sleep(0.005)
    return time.monotonic() - begin_s


def as_user(uid: int, gid: int, act: Callable[[], Any]) -> Any:
    """Do something as another user, in a forked child, and return what came of it (JSON); needs root."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child only speaks to sockets
        child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            told = act()
        except BaseException as error:  # noqa: BLE001
            told = {"raised": type(error).__name__, "text": str(error)}
        os.write(writing, json.dumps(told).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = json.loads(stream.read())
    os.waitpid(child, 0)
    return told
