"""The deciding side of an agreement: a state machine of reports and time, without any input or output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer_hooks.agreement.messages import Order, Outcome, Phase, Report
from trainer_hooks.agreement.wish import Wish

if TYPE_CHECKING:
    from typing import Final

# Steps that a rank may do between naming its step and hearing of S; doubled after each miss, halved after a success.
MARGIN_STEPS: Final = 2
MARGIN_LIMIT_STEPS: Final = 4096
# Ranks of one job whose counts differ by more do not count from the same step: waiting for the last would be a hang.
SKEW_LIMIT_STEPS: Final = 4096
SAVE_LONGEST_S: Final = 86_400
_RETIRED_KEPT = 8
_PAST: Final = frozenset({"left", "gone"})


@dataclass(frozen=True)
class Timing:
    """How long things may take, s.

    Attributes:
        timeout_s: Longest time that a rank which stands still waits for others that do not answer.
        patience_s: Longest time in which nobody stands still: until every rank has named its step, or has promised.
        save_s: Longest time for a checkpoint.
        silence_s: Longest time for which nothing is heard of a rank whose checkpoint is being written.
        retry_s: Time between a round that was aborted and the next.
    """

    timeout_s: float = 10.0
    patience_s: float = 300.0
    save_s: float = 1800.0
    silence_s: float = 60.0
    retry_s: float = 1.0


@dataclass
class _Seat:
    report: Report
    heard_s: float


class Coordinator:
    """Leads all ranks of one job to the same step.

    Args:
        ranks: Number of ranks of the job.
        hub: Identity of this hub.
        timing: How long things may take.
    """

    def __init__(self, ranks: int, hub: str, timing: Timing) -> None:
        self.order = Order(hub, 1, 0, "idle", 0, "none", "")
        self._ranks = ranks
        self._timing = timing
        self._seats: dict[int, _Seat] = {}
        self._retired: dict[int, dict[str, int]] = {}  # rank -> process taken out -> its last report known then
        self._margin = MARGIN_STEPS
        self._kind = Wish.GO
        self._saved = False
        self._since_s = 0.0  # begin of the phase
        self._still_s: float | None = None  # since when a rank stands still in it
        self._open_after_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether a round is under way."""
        return self.order.phase != "idle"

    def age_s(self, _now_s: float) -> float:
        """Return how old the order may be: it is in force."""
        return 0.0

    def receive(self, report: Report, now_s: float) -> None:
        """Take a rank's report; an old one says nothing, nor does what a replaced incarnation said before.

        One that says something new after it was replaced lives: what replaced it was late word of a process before it.

        Args:
            report: The report; its rank is below the number of ranks.
            now_s: Monotonic time, s.
        """
        seat = self._seats.get(report.rank)
        retired = self._retired.setdefault(report.rank, {})
        if report.version <= retired.get(report.incarnation, -1):
            return
        retired.pop(report.incarnation, None)
        if seat is not None and seat.report.incarnation != report.incarnation:
            self.lose(report.rank, seat.report.incarnation, now_s, "started again")
            seat = None
        if seat is None:
            self._seats[report.rank] = _Seat(report, now_s)
        else:
            seat.heard_s = now_s
            if report.version > seat.report.version:
                seat.report = report
        self.advance(now_s)

    def lose(self, rank: int, incarnation: str, now_s: float, how: str = "ended") -> None:
        """Take a rank's process out; a round that needs it ends.

        Args:
            rank: The rank.
            incarnation: Its process.
            now_s: Monotonic time, s.
            how: What happened to it.
        """
        seat = self._seats.get(rank)
        if seat is None or seat.report.incarnation != incarnation:
            return
        del self._seats[rank]
        retired = self._retired.setdefault(rank, {})
        retired[incarnation] = seat.report.version
        if len(retired) > _RETIRED_KEPT:
            del retired[next(iter(retired))]
        if self.is_open and self.order.phase != "exit":
            self._end(now_s, "aborted", f"rank {rank} {how}")
        self.advance(now_s)

    def advance(self, now_s: float) -> None:
        """Do what reports and time have made possible, or necessary."""
        number = -1
        while number != self.order.number:
            number = self.order.number
            getattr(self, f"_{self.order.phase}")(now_s)

    def _idle(self, now_s: float) -> None:
        if self._wish() is Wish.GO or now_s < self._open_after_s:
            return
        missing = self._ranks - len(self._seats)
        why = f"{missing} of {self._ranks} ranks have not joined"
        if missing and self.order.why != why:
            self._end(now_s, "aborted", why)
        elif not missing:
            self._kind, self._saved = self._wish(), False
            self._enter(now_s, "ask", epoch=self.order.epoch + 1)

    def _ask(self, now_s: float) -> None:
        if self._broken(now_s, self._timing.patience_s):
            return
        if all(seat.report.epoch == self.order.epoch for seat in self._seats.values()):
            steps = [seat.report.step for seat in self._seats.values()]
            if max(steps) - min(steps) > SKEW_LIMIT_STEPS:
                why = f"the ranks' steps are {min(steps)} to {max(steps)}: no common count, see resume_at(step=...)"
                self._end(now_s, "aborted", why)
                return
            self._enter(now_s, "prepare", step=max(steps) + self._margin)

    def _prepare(self, now_s: float) -> None:
        if self._broken(now_s, self._timing.patience_s):
            return
        if self._all({"ack", "at"}):
            self._enter(now_s, "commit")

    def _commit(self, now_s: float) -> None:
        if self._broken(now_s, self._timing.patience_s):
            return
        if self._all({"at"}):
            self._margin = max(self._margin // 2, MARGIN_STEPS)
            self._act(now_s)

    def _save(self, now_s: float) -> None:
        silent = self._silent(now_s, self._timing.silence_s)
        if self._some(_PAST):
            self._end(now_s, "aborted", f"rank {self._first(_PAST)} went on")
        elif self._all({"saved"}):
            self._saved = True
            self._act(now_s)
        elif self._all({"saved", "unsaved"}):
            # Not before all have tried: a checkpoint may be a collective of its own.
            self._end(now_s, "unsaved", f"rank {self._first({'unsaved'})} could not save")
        elif silent:
            self._end(now_s, "unsaved", f"rank {min(silent)} has not been heard for {self._timing.silence_s:g} s")
        elif now_s - self._since_s > self._timing.save_s:
            self._end(now_s, "unsaved", f"a checkpoint took more than {self._timing.save_s:g} s")

    def _hold(self, now_s: float) -> None:
        silent = self._silent(now_s, self._timing.timeout_s)
        if self._some(_PAST):
            self._end(now_s, "aborted", f"rank {self._first(_PAST)} went on")
        elif silent:
            self._end(now_s, "aborted", f"rank {min(silent)} has not been heard for {self._timing.timeout_s:g} s")
        elif self._wish() < Wish.HOLD:
            self._end(now_s, "done", "")
        elif self._wish().exits or (self._wish().saves and not self._saved):
            self._kind = self._wish()
            self._act(now_s)

    def _exit(self, now_s: float) -> None:
        if self._all({"gone"}) or now_s - self._since_s > self._timing.timeout_s:
            self._end(now_s, "done", "")
            for rank, seat in tuple(self._seats.items()):
                if seat.report.mark == "gone":
                    self.lose(rank, seat.report.incarnation, now_s)

    def _act(self, now_s: float) -> None:
        """All stand at the same step: do the next of what is wanted."""
        if self._kind.saves and not self._saved:
            self._enter(now_s, "save")
        elif self._kind.exits:
            self._enter(now_s, "exit")
        elif self._kind.holds:
            self._enter(now_s, "hold")
        else:
            self._end(now_s, "done", "")

    def _broken(self, now_s: float, patience_s: float) -> bool:
        """End a round that cannot succeed any more."""
        epoch = self.order.epoch
        if self._wish() is Wish.GO and not self._some({"at"}):
            self._end(now_s, "done", "nobody wants it any more")
        elif self._some(_PAST):
            self._margin = min(2 * self._margin, MARGIN_LIMIT_STEPS)
            self._end(now_s, "aborted", f"rank {self._first(_PAST)} was past step {self.order.step}", at_once=True)
        elif now_s - self._since_s > patience_s:
            self._end(now_s, "aborted", f"not every rank answered within {patience_s:g} s")
        elif self._stands_still():
            self._still_s = now_s if self._still_s is None else self._still_s
            if now_s - self._still_s > self._timing.timeout_s:
                self._end(now_s, "aborted", f"a rank has waited {self._timing.timeout_s:g} s for the others")
        return self.order.epoch != epoch or self.order.phase == "idle"

    def _silent(self, now_s: float, longest_s: float) -> list[int]:
        return [rank for rank, seat in self._seats.items() if now_s - seat.heard_s > longest_s]

    def _stands_still(self) -> bool:
        reports = [seat.report for seat in self._seats.values() if seat.report.epoch == self.order.epoch]
        return self.order.step > 0 and any(r.mark in {"ack", "at"} and r.step >= self.order.step for r in reports)

    def _wish(self) -> Wish:
        """Return the wish of the lowest rank, or a higher one of any rank that wants to end.

        A rank that has not heard of the last round's end still wishes what that round fulfilled.
        """
        reports = [seat.report for seat in self._seats.values()]
        heard = [report for report in reports if self.is_open or report.settled >= self.order.epoch]
        leader = min(self._seats, default=0)
        wishes = [report.wish for report in heard if report.rank == leader or report.wish.exits]
        return max(wishes, default=Wish.GO)

    def _marked(self, marks: frozenset[str] | set[str]) -> list[int]:
        epoch = self.order.epoch
        return [r for r, seat in self._seats.items() if seat.report.epoch == epoch and seat.report.mark in marks]

    def _all(self, marks: set[str]) -> bool:
        return len(self._marked(marks)) == self._ranks

    def _some(self, marks: frozenset[str] | set[str]) -> bool:
        return bool(self._marked(marks))

    def _first(self, marks: frozenset[str] | set[str]) -> int:
        return min(self._marked(marks))

    def _enter(self, now_s: float, phase: Phase, *, epoch: int | None = None, step: int | None = None) -> None:
        order = self.order
        number_step = (0 if epoch is not None else order.step) if step is None else step
        self.order = Order(order.hub, order.number + 1, epoch or order.epoch, phase, number_step, "none", "")
        self._since_s, self._still_s = now_s, (self._still_s if phase == "commit" else None)

    def _end(self, now_s: float, outcome: Outcome, why: str, *, at_once: bool = False) -> None:
        order = self.order
        self.order = Order(order.hub, order.number + 1, order.epoch, "idle", order.step, outcome, why)
        self._since_s, self._still_s = now_s, None
        self._open_after_s = now_s + (self._timing.retry_s if outcome == "aborted" and not at_once else 0.0)
