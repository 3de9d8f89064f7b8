"""What a subject has to store cannot be stored, or its way to the agent is gone."""

from __future__ import annotations

import time
from typing import ClassVar

from tests.agents import until
from tests.faults.matrix.cell import Cell
from tests.faults.matrix.fault import Fault
from tests.faults.matrix.machine import CAP_W, IDLE, LOWER_W
from trainer_hooks.errors import AgentBusy
from trainer_hooks.wire import call


class Unsaved(Fault):
    """What fails is the writing; with the state SAVE it has begun already."""

    name = "exception in save"
    means: ClassVar = {
        "Governor": "the training's `save` raises",
        "one rank": "rank 1's `save` raises, the other's does not",
        "all ranks": "every rank's `save` raises",
        "agent": "the agent cannot write its record of leases, and is asked for another limit",
        "node": "both",
    }

    def strike(self, cell):
        for rank in cell.hit:
            (cell.job.folder / f"fail-{rank}").touch()
        if cell.hits_agent:
            (cell.machine.folder / "state/leases.json.new").mkdir(exist_ok=True)

    def follow(self, cell):
        if cell.hits_agent:
            _refused(cell)
        cell.job.plan("hold", CAP_W, saves=True)
        if cell.hit:
            cell.rank_says("the checkpoint failed")
            cell.job.until_trains(1)

    def heal(self, cell):
        for file in cell.job.folder.glob("fail-*"):
            file.unlink()
        blocked = cell.machine.folder / "state/leases.json.new"
        if blocked.exists():
            blocked.rmdir()
        marks = cell.job.heard()
        for rank in cell.hit:
            until(lambda rank=rank: cell.job.processes[rank].output.last("saved", marks[rank]))
        cell.job.until_all("state", "hold")
        cell.machine.until_limit(cell.job.ranks, CAP_W, 5.0)

    def told(self, cell):
        if cell.hits_agent:
            assert "cannot be recorded" in cell.refusal
        if cell.hit:
            cell.rank_says("the checkpoint failed")


def _refused(cell: Cell) -> None:
    """Another process of the same user asks for a limit, and gets none."""
    board = cell.machine.twin[IDLE]
    before_w = board.limit_w
    request = {"op": "lease", "gpus": [board.uuid], "limit_w": LOWER_W, "ttl_s": 5.0, "leases": []}
    try:
        call(cell.machine.socket, request, 2.0)
    except AgentBusy as refusal:
        cell.refusal = refusal.why
    assert board.limit_w == before_w


class DiskFull(Fault):
    name = "disk full"
    own_calendars = frozenset({"node"})
    means: ClassVar = {
        "Governor": "no file of the training's process can grow: neither checkpoint nor telemetry",
        "one rank": "the same for rank 1",
        "all ranks": "the same for both ranks",
        "agent": "no file of the agent's can grow: neither its record of leases nor a calendar",
        "node": "the same for agent and ranks",
    }

    def strike(self, cell):
        for process in cell.processes:
            process.fill_disk(full=True)

    def follow(self, cell):
        if cell.hits_agent:
            _refused(cell)
        cell.job.plan("hold", CAP_W, saves=True)
        if cell.hits_agent:
            cell.agent_says("no calendar can be had, the last good one stays in force")
        if cell.hit:
            cell.rank_says("the checkpoint failed")
        if cell.hit or cell.state in {"RUN", "CAP"}:
            cell.job.until_trains()

    def heal(self, cell):
        for process in cell.processes:
            process.fill_disk(full=False)
        cell.job.plan("hold", CAP_W, saves=True)
        cell.job.until_all("state", "hold")
        cell.machine.until_limit(cell.job.ranks, CAP_W, 5.0)

    def told(self, cell):
        if cell.hits_agent:
            assert "cannot be recorded" in cell.refusal
        if cell.hit:
            cell.rank_says("telemetry cannot be written", again=False)


class SocketGone(Fault):
    name = "socket gone"
    means: ClassVar = {
        "Governor": "the path by which the training reaches the agent is gone",
        "one rank": "rank 1's path to the agent is gone, the other's is there",
        "all ranks": "both ranks' paths to the agent are gone",
        "agent": "the agent's socket is taken away under it",
        "node": "the agent's whole run folder is taken away, the ranks' words too",
    }

    def strike(self, cell):
        self._since_s = time.monotonic()
        run = cell.machine.folder / "run"
        if cell.subject == "node":
            run.rename(run.with_name("away"))
        elif cell.subject == "agent":
            cell.machine.socket.rename(run / "away.sock")
        else:
            for rank in cell.hit:
                cell.job.ways[rank].unlink()

    def follow(self, cell):
        cell.given_back(cell.boards, since_s=self._since_s)
        cell.rank_says("the agent is gone", cell.boards)
        if cell.state in {"RUN", "CAP"}:
            cell.job.until_trains()

    def heal(self, cell):
        run = cell.machine.folder / "run"
        if cell.subject == "node":
            run.with_name("away").rename(run)
        elif cell.subject == "agent":
            (run / "away.sock").rename(cell.machine.socket)
        else:
            for rank in cell.hit:
                cell.job.connect(rank)
        cell.rank_says("the agent answers again", cell.boards)
        if cell.limited:
            cell.machine.until_limit(cell.job.ranks, CAP_W, 5.0)

    def told(self, cell):
        cell.rank_says("the agent is gone", cell.boards)
        if cell.limited:
            cell.agent_says("has lapsed after")
