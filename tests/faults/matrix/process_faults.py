"""Processes that are killed, told to end or stopped."""

from __future__ import annotations

import signal
import time
from typing import ClassVar

from tests.faults.matrix.cell import WAIT_S
from tests.faults.matrix.fault import Fault
from tests.faults.matrix.machine import CAP_W, RETRY_S


class Killed(Fault):
    name = "SIGKILL"
    means: ClassVar = {
        "Governor": "the training's process is killed; its job is started again",
        "one rank": "rank 1 is killed; the other ends with it, the job is started again",
        "all ranks": "both ranks are killed; the job is started again",
        "agent": "the agent is killed and started again by its service manager",
        "node": "agent and ranks are killed; first the agent is started again, then the job",
    }

    def strike(self, cell):
        self._since_s = time.monotonic()
        for process in cell.processes:
            process.send(signal.SIGKILL)
        for process in cell.processes:
            process.wait()

    def follow(self, cell):
        if cell.hits_agent:
            # nobody gives anything back while there is no agent; claims live on for one lease time with the next
            cell.machine.start_agent()
            self._since_s = time.monotonic()
        if cell.hit:
            cell.given_back(cell.hit, since_s=self._since_s, more_s=RETRY_S if cell.hits_agent else 0.0)
            cell.ended()
        else:
            time.sleep(WAIT_S)
            if cell.limited:
                cell.machine.until_limit(cell.job.ranks, CAP_W, RETRY_S)

    def told(self, cell):
        if cell.hit and cell.limited:
            cell.agent_says("has lapsed after")
        if cell.hit:
            writers = {record.writer for record in cell.job.records()}
            assert len(writers) >= cell.job.starts - 1
        if cell.subject == "one rank":
            cell.rank_says("the other rank is gone", [0])
        if cell.hits_agent:
            cell.agent_says("listening on")


class Terminated(Fault):
    name = "SIGTERM"
    means: ClassVar = {
        "Governor": "the training's process is told to end; its job is queued again",
        "one rank": "rank 1 is told to end: all ranks save at one step and end",
        "all ranks": "both ranks are told to end",
        "agent": "the agent is told to end, and is started again by its service manager",
        "node": "agent and ranks are told to end, as when the node shuts down; the agent is started again",
    }

    def strike(self, cell):
        self._since_s = time.monotonic()
        for process in cell.processes:
            process.send(signal.SIGTERM)

    def follow(self, cell):
        if cell.hits_agent:
            assert cell.machine.agent.wait() == 0
            if not cell.hit:
                cell.given_back(cell.job.ranks, since_s=self._since_s)
            cell.machine.start_agent()
        if cell.hit:
            cell.ended()
            cell.given_back(cell.job.ranks)
        elif cell.limited:
            cell.machine.until_limit(cell.job.ranks, CAP_W, 5.0)

    def told(self, cell):
        if cell.hit:
            ended = [record for record in cell.job.records() if record.state == "exit"]
            assert len(ended) >= cell.job.starts - 1
            assert cell.outcome == "saved"
        if cell.hits_agent:
            cell.agent_says("listening on")
        if cell.subject == "agent" and cell.limited:
            cell.agent_says("W given back")


class Stopped(Fault):
    name = "SIGSTOP of the agent"
    means: ClassVar = {
        "Governor": "agent and training are stopped for longer than a lease; the agent goes on first",
        "one rank": "agent and rank 1 are stopped for longer than a lease; the agent goes on first",
        "all ranks": "agent and both ranks are stopped for longer than a lease; the agent goes on first",
        "agent": "the agent alone is stopped for longer than a lease",
        "node": "agent and ranks are stopped for longer than a lease; the ranks go on first",
    }

    def _ranks(self, cell):
        return [cell.job.processes[rank] for rank in cell.hit]

    def strike(self, cell):
        for process in (*self._ranks(cell), cell.machine.agent):
            process.send(signal.SIGSTOP)

    def follow(self, cell):
        time.sleep(WAIT_S)
        if cell.subject == "node":
            for process in self._ranks(cell):
                process.send(signal.SIGCONT)
        if cell.hits_agent:
            cell.rank_says("the agent is gone", cell.job.ranks)
        cell.machine.agent.send(signal.SIGCONT)
        if cell.hit and not cell.hits_agent:
            cell.given_back(cell.hit)
            for process in self._ranks(cell):
                process.send(signal.SIGCONT)
        if cell.limited:
            cell.machine.until_limit(cell.job.ranks, CAP_W, 5.0)

    def told(self, cell):
        if cell.limited:
            cell.agent_says("has lapsed after")
            cell.rank_says("leased again", cell.hit or cell.job.ranks)
        if cell.hits_agent:
            cell.rank_says("the agent is gone", cell.job.ranks)
            cell.rank_says("the agent answers again", cell.job.ranks)
