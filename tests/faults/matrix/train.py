"""One rank of a tiny training for the fault matrix: a number that each step changes, the ranks meeting after each.

Usage: python -m tests.faults.matrix.train FOLDER, with the variables of Governor and launcher. Everything it tells
goes to its output as lines: `begin STEP`, `step STEP NUMBER`, `state NAME`, `limit W answered`, `saved STEP`,
`end STEP`, and `in drain` and `in save` from inside those callbacks, which take as long as FOLDER/stay-drain or
stay-save stand there.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

import trainer_hooks.agreement.session as agreement_session
import trainer_hooks.checkpoint as checkpoint_timer
import trainer_hooks.governor as governor_module
from trainer_hooks import Governor
from trainer_hooks.conduct import Conduct

STEP_S, OWN_SAVE_STEPS, KEPT = 0.008, 25, 3
MODULUS = 2**31 - 1
RANK, RANKS = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
POLL_S = 0.2


def hasten() -> None:
    """Wait for tenths of a second where production waits for seconds; nothing else is changed."""
    governor_module.WATCH_S = 0.05
    checkpoint_timer._RETRY_S = 0.3
    agreement_session._MUTE_S, agreement_session._MUTE_LIMIT_S = 0.1, 0.2


def after(number: int, step: int) -> int:
    """Return the number after one step; the order of steps matters to it."""
    return (number * 48271 + step) % MODULUS


def tell(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


class TellingConduct(Conduct):
    """Tells each state as it is entered, and each limit as it is asked for and answered."""

    told = ""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        tell("state", self.state)

    def enter(self, state):
        before = self.state
        super().enter(state)
        if state != before:
            tell("state", state)

    def limit(self, limit_w):
        super().limit(limit_w)
        self._tell_limit()

    def lower(self, limit_w, wanted):
        super().lower(limit_w, wanted)
        self._tell_limit()

    def _tell_limit(self):
        limit = f"{self._limits.limit_w} {'answered' if self._limits.answered else 'asked'}"
        if limit != self.told:
            self.told = limit
            tell("limit", limit)


class QuickGovernor(Governor):
    """Looks for a newer calendar more often."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **{"poll_s": POLL_S, **named})


governor_module.Conduct = TellingConduct


class Meeting:
    """What a collective does: no rank goes on before all others came, and none survives another's death."""

    def __init__(self, path: str) -> None:
        self._other = None
        if RANKS == 1:
            return
        if RANK == 0:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path)
                server.listen()
                server.settimeout(30)
                self._other, _ = server.accept()
        else:
            self._other = socket.socket(socket.AF_UNIX)
            until_s = time.monotonic() + 30
            while self._other.connect_ex(path):
                if time.monotonic() > until_s:
                    raise TimeoutError(path)
                time.sleep(0.01)
        self._other.settimeout(60)

    def meet(self) -> None:
        if self._other is not None:
            with suppress(BrokenPipeError, ConnectionResetError):
                self._other.sendall(b".")
                if self._other.recv(1) == b".":
                    return
            raise ConnectionError("the other rank is gone")


class Checkpoints:
    """One file per rank and step; the newest step that all ranks have is what a job begins from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def newest(self) -> tuple[int, int]:
        steps = [{int(p.stem.split("-")[1]) for p in self._folder.glob(f"r{rank}-*.json")} for rank in range(RANKS)]
        step = max(set.intersection(*steps), default=0)
        return (step, json.loads(self._file(step).read_text())["number"]) if step else (0, 1)

    def write(self, step: int, number: int) -> None:
        staged = self._folder / f"r{RANK}.new"
        staged.write_text(json.dumps({"number": number}))
        staged.replace(self._file(step))
        for old in sorted(self._folder.glob(f"r{RANK}-*.json"))[:-KEPT]:
            old.unlink()

    def _file(self, step: int) -> Path:
        return self._folder / f"r{RANK}-{step:09d}.json"


def main(folder: Path) -> None:
    checkpoints = Checkpoints(folder / "checkpoints")
    meeting = Meeting(os.environ["MEETING"])
    step, number = checkpoints.newest()
    meeting.meet()  # both have read before either writes

    def stay(place: str) -> None:
        tell("in", place)
        while (folder / f"stay-{place}").exists():
            time.sleep(0.002)

    def save() -> None:
        stay("save")
        if (folder / f"fail-{RANK}").exists():
            raise RuntimeError("the training's own save failed")
        checkpoints.write(step, number)
        tell("saved", step)

    governor = QuickGovernor.from_env(install_signals=True, drain=lambda: stay("drain"))
    governor.resume_at(step, step)
    tell("begin", step)
    while True:
        time.sleep(STEP_S)
        meeting.meet()
        step += 1
        number = after(number, step)
        tell("step", step, number)
        if step % OWN_SAVE_STEPS == 0:
            with suppress(OSError):
                checkpoints.write(step, number)
        if governor.step(tokens=1, save=save):
            break
    tell("end", step)


if __name__ == "__main__":
    hasten()  # not at import: other tests of the same process meet the same modules
    main(Path(sys.argv[1]))
