"""The rank's side of an agreement: a state machine of orders, steps and time, without any input or output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from trainer_hooks.agreement.messages import Order, Report
from trainer_hooks.agreement.wish import Stance, Wish

if TYPE_CHECKING:
    from trainer_hooks.agreement.messages import Mark


class Member:
    """What one rank knows and has promised.

    Args:
        rank: Its number.
        incarnation: Identity of this process.
        timeout_s: Longest time it stands still without knowing that all others do, or without hearing of the hub, s.
    """

    def __init__(self, rank: int, incarnation: str, timeout_s: float) -> None:
        self.order: Order | None = None
        self.report = Report(rank, incarnation, 0, 0, Wish.GO, 0, 0, "none")
        self._timeout_s = timeout_s
        self._heard_s = 0.0
        self._still_s: float | None = None
        self._told = 0

    @property
    def is_open(self) -> bool:
        """Whether a round is under way, as far as this rank knows."""
        return self.order is not None and self.order.phase != "idle"

    @property
    def unsaid(self) -> bool:
        """Whether the hub does not know this rank's report yet."""
        return self._told != self.report.version or self._told == 0

    def tell(self, step: int) -> Report:
        """Return the report to send."""
        self._change(step=step)
        if self.report.version == 0:
            self.report = replace(self.report, version=1)
        return self.report

    def take(self, order: Order, told: int, sent_s: float) -> None:
        """Take an order, the newest of which counts.

        Args:
            order: The order.
            told: Version of the report that it answers.
            sent_s: When that report was sent: so old the order may be, s.
        """
        self._heard_s = max(self._heard_s, sent_s)
        if self.order is not None and order.hub == self.order.hub:
            self._told = max(self._told, told)
            if order.number <= self.order.number:
                return
        else:
            # Another hub, which knows of no promise to the one before.
            self._told = 0
            self._still_s = None
            self._change(epoch=0, mark="none", settled=0)
        self.order = order

    def meet(self, step: int, wish: Wish, now_s: float) -> Stance:
        """Say what to do at the boundary after a step.

        Args:
            step: Steps done.
            wish: What this rank wants.
            now_s: Monotonic time, s.
        """
        self._change(wish=wish)
        order = self.order
        if order is None or order.phase == "idle":
            return "go" if order is None else self._settle(order)
        mark = self.report.mark if self.report.epoch == order.epoch else "none"
        if order.phase == "ask" and mark == "none":
            self._mark(order, "seen", step)
        if order.phase == "ask" or mark in {"left", "gone"}:
            return "go"
        promised = mark in {"ack", "at", "saved", "unsaved"}
        if step > order.step or (order.phase != "prepare" and not promised):
            return self._leave(order, step)
        if order.phase == "prepare" and mark != "ack":
            self._mark(order, "ack", step)
        if step < order.step:
            return "go"
        return self._stand(order, step, now_s)

    def saved(self, ok: bool) -> None:
        """Say whether this rank's checkpoint is written."""
        self._change(mark="saved" if ok else "unsaved")

    def _stand(self, order: Order, step: int, now_s: float) -> Stance:
        """Stand at the step agreed on, as long as that is safe."""
        mark = self.report.mark
        if self._still_s is None:
            self._still_s = now_s
        if order.phase in {"prepare", "commit"}:
            if now_s - self._still_s >= self._timeout_s:
                return self._leave(order, step)
            self._mark(order, "at" if order.phase == "commit" else "ack", step)
            return "wait"
        # From here on every rank is known to stand here; only the hub may fall silent.
        if now_s - max(self._heard_s, self._still_s) >= self._timeout_s:
            return self._leave(order, step)
        if order.phase == "save":
            return "save" if mark == "at" else "wait"
        if order.phase == "exit":
            self._mark(order, "gone", step)
            return "exit"
        return "hold"

    def _settle(self, order: Order) -> Stance:
        failed = order.outcome == "unsaved" and self.report.epoch == order.epoch and self.report.mark != "none"
        self._still_s = None
        # What could not be done is not wished again with the same breath.
        wish = Wish.GO if failed else self.report.wish
        self._change(settled=order.epoch, epoch=0, mark="none", wish=wish)
        return "failed" if failed else "go"

    def _leave(self, order: Order, step: int) -> Stance:
        self._still_s = None
        self._mark(order, "left", step)
        return "go"

    def _mark(self, order: Order, mark: Mark, step: int) -> None:
        self._change(epoch=order.epoch, mark=mark, step=step)

    def _change(self, **members: object) -> None:
        """Change the report; a step alone is no news."""
        news = {name: value for name, value in members.items() if getattr(self.report, name) != value}
        if not news:
            return
        if "mark" in members or news.keys() != {"step"}:
            news["version"] = self.report.version + 1
        self.report = replace(self.report, **news)  # type: ignore[arg-type]
