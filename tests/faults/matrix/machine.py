"""A node of three boards: the twin of NVML, the agent's process with all it has, and the calendars it is to follow."""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.agents import config_file, grant, until
from tests.faults.matrix.output import Output
from tests.nvml_twin import Twin
from tests.run_calendars import two_hours
from trainer_hooks.calendar import run_file, write_calendar

RUN = "llm-8b"
FOUND_W, CAP_W, LOWER_W, THEIRS_W = 650.0, 300.0, 250.0, 450.0
LEASE_S = 0.8
# How late a busy machine of two cores may be.
SLACK_S = 2.0
# The agent asks again after this time where a board did not take a limit.
RETRY_S = 1.0
HOUR = timedelta(hours=1)
WORD_BYTES = 8
IDLE = 2  # a board that no job has
AGENT = "limit_changes_per_s = 100\nlimit_change_burst = 1000\nrequests_per_s = 5000\nrequest_burst = 5000\n"


class Process:
    """A process with a wall clock of its own, whose output goes to a keeper."""

    def __init__(self, name: str, folder: Path, shim: Path) -> None:
        self.output = Output(folder / f"{name}.log")
        self.process: subprocess.Popen | None = None
        self._shim = shim
        self._shift = folder / f"{name}.shift"
        self.shift_clock(0)

    def run(self, words: list[str], environment: dict[str, str]) -> None:
        environment = {
            **environment, "LD_PRELOAD": str(self._shim), "GRIDPACE_WALL_SHIFT": str(self._shift),
            "PYTHONPATH": str(Path.cwd()), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        pipe = self.output.pipe
        self.process = subprocess.Popen(words, env=environment, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL)

    def shift_clock(self, seconds: int) -> None:
        with self._shift.open("r+b" if self._shift.exists() else "wb") as shared:
            shared.write(struct.pack("<q", seconds))

    @property
    def lives(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, within_s: float = 15.0) -> int:
        return self.process.wait(within_s)

    def fill_disk(self, full: bool) -> None:
        """Let no file that this process writes grow beyond a word of shared memory: writes are cut short or fail."""
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (WORD_BYTES if full else hard, hard))

    def close(self) -> None:
        if self.lives:
            self.send(signal.SIGKILL)
            self.wait()
        self.output.close(10.0)


class Source:
    """A folder into which calendars are published."""

    _ids = itertools.count(1)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._start = datetime.now(UTC).replace(microsecond=0) - HOUR

    def publish(
        self, state: str, limit_w: float | None, *, saves: bool = False, shift_h: int = 0, run: str = RUN
    ) -> str:
        """Publish two hours around now, or shifted: a run window before now, and this one."""
        calendar_id = f"{next(self._ids):024x}"
        start = self._start + shift_h * HOUR
        header, (calendar,) = two_hours(run, calendar_id=calendar_id)
        times = {"issued_at": start, "valid_from": start, "valid_until": start + 2 * HOUR}
        run_window = replace(calendar.windows[0], start=start, checkpoint="none", gpu_power_limit_w=None)
        middle = start + HOUR - timedelta(seconds=2)
        windows = (
            replace(run_window, end=middle),
            replace(
                run_window, start=middle, end=start + 2 * HOUR, state=state, gpu_power_limit_w=limit_w,
                checkpoint="before" if saves else "none",
            ),
        )  # fmt: skip
        write_calendar(self.folder, replace(header, **times), [replace(calendar, windows=windows, **times)])
        return calendar_id

    def cut(self) -> str:
        """Put a calendar in force whose file for the run was cut short."""
        now_id = (self.folder / "current").read_text().strip()
        calendar_id = f"{next(self._ids):024x}"
        shutil.copytree(self.folder / now_id, self.folder / calendar_id)
        cut_short(self.folder / calendar_id)
        staged = self.folder / "current.new"
        staged.write_text(calendar_id)
        staged.replace(self.folder / "current")
        return calendar_id


def cut_short(home: Path) -> None:
    for file in (home / "calendar.json", home / run_file(RUN)):
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content[: len(content) // 2])


class Machine:
    """The node; `agent` runs as root on it."""

    def __init__(self, folder: Path, twin: Twin, shim: Path) -> None:
        self.folder, self.twin, self.shim = folder, twin, shim
        for name in ("grants", "published"):
            (folder / name).mkdir(mode=0o755)
        for board in twin.boards:
            board.limit_w = FOUND_W
        self.source = Source(folder / "published")
        self.source.publish("run", None)
        for index in range(len(twin)):
            self.permit(index)
        calendar = f"[calendar]\nsource = {folder}/published\npoll_s = 0.1\n"
        self._config = config_file(folder, calendar, agent=f"grants_dir = {folder}/grants\nsample_s = 0.1\n{AGENT}")
        self.socket = folder / "run/agent.sock"
        self.agent = Process("agent", folder, shim)
        self.start_agent()

    def start_agent(self) -> None:
        """Start it as a service manager does: again until it stays."""
        heard = len(self.agent.output.lines())
        until_s = time.monotonic() + 20.0
        while not self.agent.output.says("listening on", heard):
            assert time.monotonic() < until_s, "\n".join(self.agent.output.lines()[heard:])
            if not self.agent.lives:
                words = [sys.executable, "-m", "tests.faults.matrix.agent", "--config", str(self._config)]
                self.agent.run(words, {**os.environ, **self.twin.environment(root=True)})
            time.sleep(0.02)

    def permit(self, board: int) -> None:
        file = self.folder / f"grants/{board}.ini"
        file.write_text(grant(self.twin[board].uuid, f"board-{board}"))
        file.chmod(0o644)

    def forbid(self, board: int) -> None:
        (self.folder / f"grants/{board}.ini").unlink()

    def kept_calendar(self) -> Path:
        kept = self.folder / "state/calendars"
        return kept / (kept / "current").read_text().strip()

    def limits_w(self, boards) -> list[float]:
        return [self.twin[board].limit_w for board in boards]

    def until_limit(self, boards, limit_w: float, within_s: float) -> float:
        """Wait until boards show a limit; returns how long that took, s."""
        boards = list(boards)
        try:
            return until(lambda: self.limits_w(boards) == [limit_w] * len(boards), within_s)
        except AssertionError:
            raise AssertionError(
                f"limits of boards {boards} are {self.limits_w(boards)} W after {within_s:g} s, not {limit_w:g} W"
            ) from None

    def close(self) -> None:
        self.agent.close()
