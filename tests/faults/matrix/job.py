"""A job of one or two ranks on a node, as its launcher sees it: started, ended, and begun again from its checkpoint."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable

from tests.agents import until
from tests.faults.matrix.machine import LEASE_S, RUN, Machine, Process, Source
from tests.faults.matrix.train import after
from trainer_hooks.telemetry import Record, read_records

TIMEOUT_S = 1.0
LATE_S = 15.0


class Job:
    """The job.

    Args:
        machine: Its node; rank i has board i.
        ranks: Number of ranks; 1 is a job without a launcher.
        own_calendars: Whether each rank reads a folder of calendars of its own instead of asking the agent.
    """

    def __init__(self, machine: Machine, ranks: int, *, own_calendars: bool) -> None:
        self.machine = machine
        self.ranks = range(ranks)
        self.folder = machine.folder / "job"
        for name in ("checkpoints", "telemetry", "locks"):
            (self.folder / name).mkdir(parents=True)
        self.ways = [machine.folder / f"way-{rank}.sock" for rank in self.ranks]
        self.sources = [Source(machine.folder / f"calendars-{rank}") for rank in self.ranks] if own_calendars else []
        self.processes = [Process(f"rank-{rank}", machine.folder, machine.shim) for rank in self.ranks]
        self.starts = 0
        for rank in self.ranks:
            self.connect(rank)
        self.plan("run", None)
        self.start()

    def connect(self, rank: int) -> None:
        self.ways[rank].symlink_to(self.machine.socket)

    def plan(self, state: str, limit_w: float | None, *, saves: bool = False) -> None:
        """Publish what all are to follow."""
        for source in (self.machine.source, *self.sources):
            source.publish(state, limit_w, saves=saves)

    def start(self) -> None:
        self.starts += 1
        for rank, process in enumerate(self.processes):
            environment = {
                **os.environ, **self.machine.twin.environment(root=False), "CUDA_VISIBLE_DEVICES": str(rank),
                "MEETING": str(self.machine.folder / f"meeting-{self.starts}"), "GRIDPACE_RUN": RUN,
                "GRIDPACE_AGENT": str(self.ways[rank]), "GRIDPACE_LEASE_S": str(LEASE_S),
                "GRIDPACE_TELEMETRY": str(self.folder / "telemetry"),
                "GRIDPACE_METER_LOCKS": str(self.folder / "locks"),
            }  # fmt: skip
            environment.pop("GRIDPACE_CALENDAR", None)
            if self.sources:
                environment["GRIDPACE_CALENDAR"] = str(self.sources[rank].folder)
            if len(self.ranks) > 1:
                size = str(len(self.ranks))
                environment |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "GRIDPACE_JOB": "matrix"}
                environment |= {"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "GRIDPACE_TIMEOUT_S": str(TIMEOUT_S)}
            process.run([sys.executable, "-m", "tests.faults.matrix.train", str(self.folder)], environment)

    def stay(self, place: str) -> None:
        (self.folder / f"stay-{place}").touch()

    def go_on(self) -> None:
        for file in self.folder.glob("stay-*"):
            file.unlink()

    def heard(self) -> list[int]:
        return [len(process.output.lines()) for process in self.processes]

    def until_all(self, word: str, value: str, since: Iterable[int] = (), within_s: float = LATE_S) -> None:
        """Wait until the last line of each rank that begins with a word has this value."""
        marks = list(since) or [0] * len(self.processes)

        def holds() -> bool:
            self.check_alive()
            return all(p.output.last(word, mark) == value for p, mark in zip(self.processes, marks, strict=True))

        try:
            until(holds, within_s)
        except AssertionError as error:
            told = [process.output.last(word) for process in self.processes]
            raise AssertionError(f"{error}: {word} is {told}, not {value!r}") from None

    def until_trains(self, steps: int = 3, within_s: float = LATE_S) -> None:
        """Wait until each rank has trained some more steps."""
        before = self.steps()

        def holds() -> bool:
            self.check_alive()
            return all(now >= then + steps for now, then in zip(self.steps(), before, strict=True))

        try:
            until(holds, within_s)
        except AssertionError:
            raise AssertionError(f"no training: steps {before} to {self.steps()} in {within_s:g} s") from None

    def steps(self) -> list[int]:
        return [int((process.output.last("step") or "0").split()[0]) for process in self.processes]

    def check_alive(self) -> None:
        for rank, process in enumerate(self.processes):
            assert process.lives, f"rank {rank} has ended: {process.output.lines()[-12:]}"

    def until_ended(self, within_s: float = LATE_S) -> list[int]:
        return [process.wait(within_s) for process in self.processes]

    def start_again(self) -> None:
        """Begin anew from the checkpoint, as whoever queues jobs does."""
        self.go_on()
        marks = self.heard()
        self.start()
        until(lambda: all(p.output.last("begin", mark) for p, mark in zip(self.processes, marks, strict=True)), LATE_S)

    def records(self) -> list[Record]:
        return [record for record in read_records(self.folder / "telemetry") if isinstance(record, Record)]

    def check_steps(self) -> None:
        """See that the ranks did every step once, in order, or again from the checkpoint after a death."""
        for rank, process in enumerate(self.processes):
            step, number, numbers, has_ended = 0, 1, {0: 1}, False
            for line in process.output.lines():
                word, *values = line.split(" ")
                if word == "begin":
                    begun = int(values[0])
                    assert begun <= step, f"rank {rank} lost steps: it had done {step}, and began at {begun}"
                    assert begun == step or not has_ended, f"rank {rank} ended at {step}, and began again at {begun}"
                    step, number, has_ended = begun, numbers[begun], False
                elif word == "step":
                    assert int(values[0]) == step + 1, f"rank {rank} did step {values[0]} after {step}"
                    step += 1
                    number = numbers[step] = after(number, step)
                    assert int(values[1]) == number, f"rank {rank}, step {step}: the state is not what the steps make"
                elif word == "end":
                    has_ended = True
                    assert int(values[0]) == step
        last = {process.output.last("end") for process in self.processes}
        assert len(last) == 1, f"the ranks ended at different steps: {last}"

    def end(self) -> None:
        """End as a job manager does: SIGTERM, then everybody has saved and is gone."""
        self.go_on()
        for process in self.processes:
            process.send(signal.SIGTERM)
        assert set(self.until_ended()) == {0}

    def close(self) -> None:
        for process in self.processes:
            process.close()
