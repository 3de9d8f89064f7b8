"""What each fault means for each subject, and how it is done: the definition of the matrix."""

from __future__ import annotations

import signal
import time
from typing import ClassVar

from tests.agents import until
from tests.faults.matrix.cell import WAIT_S, Cell
from tests.faults.matrix.machine import CAP_W, IDLE, LOWER_W, RETRY_S, THEIRS_W, cut_short
from trainer_hooks.errors import AgentBusy
from trainer_hooks.wire import call


class Fault:
    """A fault: struck in a state, followed while it lasts, and healed.

    Attributes:
        name: Name in the table.
        means: Subject -> what happens to it.
        own_calendars: Subjects with which each rank reads a calendar of its own instead of asking the agent.
        more_s: What may be added to the lease time before a limit is given back, s.
    """

    name: ClassVar[str]
    means: ClassVar[dict[str, str]]
    own_calendars: ClassVar[frozenset[str]] = frozenset()
    more_s: ClassVar[float] = 0.0

    def strike(self, cell: Cell) -> None:
        raise NotImplementedError

    def follow(self, cell: Cell) -> None:
        """Wait for what comes of it while it lasts; the ranks are not kept in their callbacks any more."""

    def heal(self, cell: Cell) -> None:
        """End it."""

    def told(self, cell: Cell) -> None:
        """See that the record says what happened."""
        raise NotImplementedError


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
            self._since_s = time.monotonic()
            cell.machine.start_agent()
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
            assert 0.0 <= record.energy_j <= 700.0 * len(record.boards) * (lasted_s + 1.0)


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
        self._highest_w = twin[0].get("highest_w")
        if cell.subject == "node":
            twin.unload_driver()
            time.sleep(0.2)
            twin.load_driver()
            return
        for board in cell.boards:
            twin[board].set("energy_j", 0.0)
            if cell.subject == "agent":
                twin[board].limit_w = self._highest_w

    def follow(self, cell):
        if cell.limited:
            cell.machine.until_limit(cell.job.ranks, CAP_W, 5.0)
        elif cell.hits_agent:
            # nobody had claimed anything: what the driver has set at its start is what there is to find
            cell.end_w = dict.fromkeys(cell.job.ranks, self._highest_w)
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


FAULTS: tuple[type[Fault], ...] = (
    Killed, Terminated, Stopped, Unsaved, DiskFull, Truncated, Expired, Future, WrongRun, ClockOn, ClockBack,
    SocketGone, GpuLost, CounterReset, ElsesLimit, NoPermission,
)  # fmt: skip
