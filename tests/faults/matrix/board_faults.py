"""Boards that are lost, reset, limited by someone else, or not to be limited."""

from __future__ import annotations

import signal
import time
from typing import ClassVar

from tests.faults.matrix.cell import WAIT_S
from tests.faults.matrix.fault import Fault
from tests.faults.matrix.machine import CAP_W, LOWER_W, RETRY_S, THEIRS_W


class GpuLost(Fault):
    name = "GPU lost"
    more_s = RETRY_S
    means: ClassVar = {
        "Governor": "the training's board answers no call, then does again",
        "one rank": "rank 1's board answers no call, then does again",
        "all ranks": "both boards answer no call, then do again",
        "agent": "both boards answer no call while the agent has to give their limits back",
        "node": "no board of the node answers, and the agent is killed and started again meanwhile",
    }

    def strike(self, cell):
        for board in range(len(cell.machine.twin)) if cell.subject == "node" else cell.boards:
            cell.machine.twin[board].fault("lost")

    def follow(self, cell):
        if cell.subject == "agent":
            cell.job.plan("run", None)
        if cell.subject == "node":
            cell.machine.agent.send(signal.SIGKILL)
            cell.machine.agent.wait()
        time.sleep(WAIT_S)
        if cell.state in {"RUN", "CAP"} or cell.subject == "agent":
            cell.job.until_trains()

    def heal(self, cell):
        for board in cell.machine.twin.boards:
            board.fault()
        if cell.subject == "node":
            cell.machine.start_agent()
        if cell.subject == "agent":
            cell.given_back(cell.job.ranks, more_s=RETRY_S)

    def told(self, cell):
        if cell.subject == "agent" and cell.limited:
            cell.agent_says("it does not answer; 650 W will be given back as soon as it does")
        if cell.subject == "node":
            cell.agent_says("listening on")
        self.gap(cell)

    def gap(self, cell):
        """Joules of the time without an answer are not made up."""
        for record in cell.job.records():
            lasted_s = (record.t_end - record.t_start).total_seconds()
            most_j = 700.0 * len(record.boards) * (lasted_s + 1.0)
            assert 0.0 <= record.energy_j <= most_j, f"{record.energy_j:g} J in {lasted_s:g} s: {record}"


class CounterReset(Fault):
    name = "counter reset"
    means: ClassVar = {
        "Governor": "the energy counter of the training's board begins at 0 again",
        "one rank": "the energy counter of rank 1's board begins at 0 again",
        "all ranks": "the energy counters of both boards begin at 0 again",
        "agent": "the boards that the agent reads come back as from a reset: counter at 0, limit at the default",
        "node": "the driver is unloaded and loaded again",
    }

    def strike(self, cell):
        twin = cell.machine.twin
        self._default_w = twin[0].get("default_w")
        if cell.subject == "node":
            twin.unload_driver()
            time.sleep(0.2)
            twin.load_driver()
            return
        for board in cell.boards:
            if cell.subject == "agent":
                twin[board].reset()
            else:
                twin[board].set("energy_j", 0.0)

    def follow(self, cell):
        if cell.limited:
            cell.machine.until_limit(cell.job.ranks, CAP_W, 5.0)
        elif cell.hits_agent:
            # nobody had claimed anything: what the driver has set at its start is what there is to find
            cell.end_w = dict.fromkeys(cell.job.ranks, self._default_w)
        if cell.state in {"RUN", "CAP"}:
            cell.job.until_trains()

    def told(self, cell):
        if cell.hits_agent and cell.limited:
            cell.agent_says("its driver was loaded anew, and the limit is set again")
        GpuLost.gap(self, cell)


class ElsesLimit(Fault):
    name = "limit changed by someone else"
    means: ClassVar = {
        "Governor": "someone sets another limit on the training's board",
        "one rank": "someone sets another limit on rank 1's board",
        "all ranks": "someone sets another limit on both boards",
        "agent": "someone sets another limit each time that the agent has set one",
        "node": "someone sets another limit on both boards while the agent is killed and started again",
    }

    def strike(self, cell):
        boards = [cell.machine.twin[board] for board in cell.boards]
        cell.end_w = dict.fromkeys(cell.boards, THEIRS_W)
        if cell.subject == "agent":
            for board in boards:
                board.rival(THEIRS_W, 0.02)
            cell.ask(LOWER_W)
            return
        if cell.subject == "node":
            cell.machine.agent.send(signal.SIGKILL)
            cell.machine.agent.wait()
        for board in boards:
            board.limit_w = THEIRS_W
        if cell.subject == "node":
            cell.machine.start_agent()

    def follow(self, cell):
        time.sleep(WAIT_S)
        cell.machine.until_limit(cell.boards, THEIRS_W, 5.0)
        if cell.state in {"RUN", "CAP"}:
            cell.job.until_trains()

    def heal(self, cell):
        for board in cell.machine.twin.boards:
            board.rival(0.0, 0.0)

    def told(self, cell):
        if cell.limited or cell.subject == "agent":
            cell.agent_says("limit is 450 W, ours was")
            cell.rank_says("someone else has set another limit", cell.boards, again=False)
        else:
            cell.agent_is_silent_about("given back")


class NoPermission(Fault):
    name = "permission lost"
    more_s = RETRY_S
    means: ClassVar = {
        "Governor": "the grant of the training's board is taken away",
        "one rank": "the grant of rank 1's board is taken away",
        "all ranks": "the grants of both boards are taken away",
        "agent": "the boards refuse every limit that the agent sets",
        "node": "both",
    }

    def strike(self, cell):
        self._since_s = time.monotonic()
        if cell.hits_agent:
            for board in cell.job.ranks:
                cell.machine.twin[board].fault("denied")
        for board in cell.hit:
            cell.machine.forbid(board)

    def follow(self, cell):
        if cell.limited and not cell.hits_agent:
            cell.given_back(cell.hit, since_s=self._since_s)
        else:
            before_w = CAP_W if cell.limited else 650.0
            cell.ask(LOWER_W)
            time.sleep(WAIT_S)
            assert cell.machine.limits_w(cell.boards) == [before_w] * len(cell.boards)
        if cell.state in {"RUN", "CAP"}:
            cell.job.until_trains()
        if cell.hits_agent and cell.limited:
            cell.job.plan("run", None)
            cell.agent_says("650 W cannot be given back (denied)")

    def heal(self, cell):
        for board in cell.machine.twin.boards:
            board.fault()
        for board in cell.hit:
            cell.machine.permit(board)
        if cell.hits_agent:
            cell.given_back(cell.job.ranks, more_s=RETRY_S)

    def told(self, cell):
        if cell.hit and not cell.hits_agent:
            cell.rank_says("has no grant for it in this job", again=False)
            if cell.limited:
                cell.agent_says("has lapsed after")
        if cell.subject == "agent":
            cell.rank_says("denied", cell.job.ranks, again=False)
