"""One cell of the fault matrix: a job brought into a state, struck there, and brought back to plain training."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tests.agents import until
from tests.faults.matrix.job import LATE_S, Job
from tests.faults.matrix.machine import CAP_W, FOUND_W, LEASE_S, SLACK_S, Machine

SUBJECTS = ("Governor", "one rank", "all ranks", "agent", "node")
STATES = ("RUN", "CAP", "DRAIN", "HOLD", "SAVE")
# How the calendar asks for the state, and what each rank tells when it is in it.
_WAYS = {
    "RUN": (("run", None, False), ("state", "run")),
    "CAP": (("run", CAP_W, False), ("state", "cap")),
    "DRAIN": (("hold", CAP_W, False), ("in", "drain")),
    "HOLD": (("hold", CAP_W, False), ("state", "hold")),
    "SAVE": (("hold", CAP_W, True), ("in", "save")),
}


@dataclass
class Cell:
    """What is done to whom, and what came of it.

    Attributes:
        machine: The node.
        job: The job on it: one process where the subject is the Governor, else two ranks.
        subject: One of SUBJECTS.
        state: One of STATES.
        end_w: Limit that each board of the job has to show at the end, W, where it is not the one found.
        refusal: Why the agent has refused another process's lease.
        restored_s: Longest time in which a limit that was owed was given back, s.
    """

    machine: Machine
    job: Job
    subject: str
    state: str
    end_w: dict[int, float] = field(default_factory=dict)
    restored_s: float | None = None
    refusal: str = ""
    _exits: list[int] = field(default_factory=list)

    @property
    def hit(self) -> list[int]:
        """Ranks that the fault strikes; of one rank's cells that which does not lead the pauses."""
        return {"Governor": [0], "one rank": [1], "agent": []}.get(self.subject, [0, 1])

    @property
    def hits_agent(self) -> bool:
        return self.subject in {"agent", "node"}

    @property
    def boards(self) -> list[int]:
        """Boards that the fault concerns."""
        return self.hit or list(self.job.ranks)

    @property
    def limited(self) -> bool:
        return self.state != "RUN"

    @property
    def processes(self):
        return [self.job.processes[rank] for rank in self.hit] + ([self.machine.agent] if self.hits_agent else [])

    def reach(self) -> None:
        """Bring every rank into the state, its limit in force."""
        (calendar_state, limit_w, saves), (word, value) = _WAYS[self.state]
        if self.state in {"DRAIN", "SAVE"}:
            self.job.stay(self.state.lower())
        self._marks = self.job.heard()
        self._agent_mark = len(self.machine.agent.output.lines())
        self._starts = self.job.starts
        self.job.plan(calendar_state, limit_w, saves=saves)
        self.job.until_all(word, value, self._marks if self.limited else ())
        self.machine.until_limit(self.job.ranks, limit_w or FOUND_W, LATE_S)
        if self.limited:
            self.job.until_all("limit", f"{limit_w} answered", self._marks)
        else:
            self.job.until_trains()

    def ask(self, limit_w: float) -> None:
        """Have the calendar ask for another limit in the same state."""
        (calendar_state, _, saves), _ = _WAYS[self.state]
        self.job.plan(calendar_state, limit_w, saves=saves)

    def given_back(
        self, boards, limit_w: float = FOUND_W, *, more_s: float = 0.0, since_s: float | None = None
    ) -> None:
        """Wait until boards have their limit back, which must be within the lease time of its cause."""
        begin_s = time.monotonic() if since_s is None else since_s
        for board in boards:
            left_s = LEASE_S + SLACK_S + more_s - (time.monotonic() - begin_s)
            self.machine.until_limit([board], limit_w, max(left_s, 0.0))
        took_s = time.monotonic() - begin_s
        self.restored_s = took_s if self.restored_s is None else max(self.restored_s, took_s)

    def ended(self) -> None:
        """Wait until all ranks have ended, each by itself."""
        self._exits = self.job.until_ended()

    def settle(self, more_s: float) -> None:
        """Bring the job back to plain training without a limit, begun again if it has ended."""
        if self._exits:
            self.job.start_again()
        mark_s = time.monotonic()
        self.job.plan("run", None)
        for board in self.job.ranks:
            self.machine.until_limit([board], self.end_w.get(board, FOUND_W), LEASE_S + SLACK_S + more_s)
        if self.restored_s is None:
            self.restored_s = time.monotonic() - mark_s
        self.job.until_all("state", "run")
        self.job.until_trains()

    @property
    def outcome(self) -> str:
        if self.job.starts == self._starts:
            return "went on"
        return "restarted" if any(self._exits) else "saved"

    def rank_says(self, text: str, ranks=None, *, again: bool = True) -> None:
        """See that ranks have told something; since the cell's begin, or ever where it is told once."""
        for rank in self.hit if ranks is None else ranks:
            output = self.job.processes[rank].output
            _until_said(output, text, self._marks[rank] if again else 0, f"rank {rank}")

    def agent_says(self, text: str) -> None:
        _until_said(self.machine.agent.output, text, self._agent_mark, "the agent")

    def agent_is_silent_about(self, text: str) -> None:
        assert not self.machine.agent.output.says(text, self._agent_mark), f"the agent says {text!r}"


def _until_said(output, text: str, since: int, who: str) -> None:
    try:
        until(lambda: output.says(text, since), LATE_S)
    except AssertionError:
        raise AssertionError(f"{who} does not say {text!r}, but {_sentences(output, since)}") from None


def _sentences(output, since: int) -> list[str]:
    told = ("begin", "step", "state", "limit", "in", "saved", "end")
    return [line for line in output.lines()[since:] if line.split(" ")[0] not in told][-20:]


WAIT_S = 1.3 * LEASE_S  # longer than any lease lives without renewal
