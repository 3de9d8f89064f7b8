"""Calendars that cannot be followed, and clocks that are set."""

from __future__ import annotations

import signal
import time
from typing import ClassVar

from tests.agents import until
from tests.faults.matrix.cell import WAIT_S
from tests.faults.matrix.fault import Fault
from tests.faults.matrix.machine import CAP_W, LOWER_W, RETRY_S, cut_short


class BadCalendar(Fault):
    """A calendar that must not, or cannot, be followed takes the place of the one in force."""

    own_calendars = frozenset({"Governor", "one rank", "all ranks"})
    text: ClassVar[str]

    def _put(self, cell, source):
        raise NotImplementedError

    def strike(self, cell):
        self._since_s = time.monotonic()
        if not cell.hits_agent:
            for rank in cell.hit:
                self._put(cell, cell.job.sources[rank])
            return
        self._put(cell, cell.machine.source)
        if cell.subject == "node":
            agent = cell.machine.agent
            agent.send(signal.SIGKILL)
            agent.wait()
            cut_short(cell.machine.kept_calendar())
            cell.machine.start_agent()

    def told(self, cell):
        if cell.hits_agent:
            self.agent_told(cell)
        else:
            cell.rank_says(self.text)

    def agent_told(self, cell):
        cell.agent_says(self.text)


class KeptCalendar(BadCalendar):
    """It cannot be followed: the one before stays in force."""

    def follow(self, cell):
        self.told(cell)
        time.sleep(WAIT_S)
        if cell.limited:
            cell.machine.until_limit(cell.job.ranks, CAP_W, RETRY_S)
        if cell.state in {"RUN", "CAP"}:
            cell.job.until_trains()
        else:
            cell.job.until_all("state", "hold")


def _on_calendar(what: str, node: str) -> dict[str, str]:
    return {
        "Governor": f"the training's calendar {what}",
        "one rank": f"rank 1's calendar {what}, the other's is good",
        "all ranks": f"the calendar of each rank {what}",
        "agent": f"the calendar that the agent pulls {what}",
        "node": f"{node}, and the agent is killed and started again, its kept calendar cut short",
    }


class Truncated(KeptCalendar):
    name = "calendar truncated"
    means: ClassVar = _on_calendar("is cut short", "the same")
    text = "no calendar can be"

    def _put(self, cell, source):
        source.cut()


class WrongRun(KeptCalendar):
    name = "calendar of the wrong run"
    means: ClassVar = _on_calendar("is for another run", "the same")
    text = "it has no run 'llm-8b'"

    def _put(self, cell, source):
        self._id = source.publish("hold", LOWER_W, run="other")

    def agent_told(self, cell):
        cell.agent_says(f"calendar {self._id} is in force")
        cell.rank_says("this node has none", cell.job.ranks, again=False)


class FreeCalendar(BadCalendar):
    """It can be read and asks for nothing now: the limit found is given back, the training runs free."""

    shift_h: ClassVar[int]

    def _put(self, cell, source):
        self._id = source.publish("hold", LOWER_W, shift_h=self.shift_h)

    def follow(self, cell):
        cell.given_back(cell.boards, since_s=self._since_s, more_s=RETRY_S if cell.subject == "node" else 0.0)
        self.told(cell)
        ranks = cell.hit or list(cell.job.ranks)
        if cell.subject == "one rank" and cell.state not in {"RUN", "CAP"}:
            cell.job.until_all("state", "hold")  # as rank 0's calendar asks
            return
        until(lambda: all(cell.job.processes[rank].output.last("state") == "safe" for rank in ranks))
        cell.job.until_trains()

    def agent_told(self, cell):
        cell.rank_says(f"calendar {self._id} {self.text}", cell.job.ranks)


class Expired(FreeCalendar):
    name = "calendar expired"
    means: ClassVar = _on_calendar("has ended", "the same")
    text, shift_h = "has ended", -5


class Future(FreeCalendar):
    name = "calendar from the future"
    means: ClassVar = _on_calendar("begins in some hours", "the same")
    text, shift_h = "is not valid yet", 5


class Clock(Fault):
    hours: ClassVar[int]

    def strike(self, cell):
        for process in cell.processes:
            process.shift_clock(3600 * self.hours)

    def follow(self, cell):
        time.sleep(WAIT_S)
        if cell.limited:
            cell.machine.until_limit(cell.job.ranks, CAP_W, RETRY_S)
        if cell.state in {"RUN", "CAP"}:
            cell.job.until_trains()
        else:
            cell.job.until_all("state", "hold")

    def heal(self, cell):
        for process in cell.processes:
            process.shift_clock(0)

    def told(self, cell):
        cell.rank_says(f"the wall clock was set by {3600 * self.hours:+d} s", again=False)
        cell.agent_is_silent_about("has lapsed")


def _on_clock(direction: str) -> dict[str, str]:
    return {
        "Governor": f"the training's wall clock is set {direction} by an hour",
        "one rank": f"rank 1's wall clock is set {direction}, the other's is right",
        "all ranks": f"both ranks' wall clock is set {direction}",
        "agent": f"the agent's wall clock is set {direction}",
        "node": f"the wall clock of agent and ranks is set {direction}",
    }


class ClockOn(Clock):
    name, hours = "clock +1 h", 1
    means: ClassVar = _on_clock("on")


class ClockBack(Clock):
    name, hours = "clock -1 h", -1
    means: ClassVar = _on_clock("back")
