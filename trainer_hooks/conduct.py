"""What one training does at the moment: its state, the limit in force, and the records of both."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.state import RECORDED, WORKING, GovernorState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trainer_hooks.gpu import Gpu
    from trainer_hooks.guide import Guide
    from trainer_hooks.journal import Journal
    from trainer_hooks.limits import LimitSet

_LOG = logging.getLogger("trainer_hooks")


class Conduct:
    """Changes state and limit, and cuts the records where they change.

    Args:
        run: Name of the run, for records; the first calendar's name if empty.
        gpus: The GPUs; simulated ones are told when they work.
        guide: The calendar in force.
        journal: Where records are cut.
        limits: The limits of the GPUs.
        record_s: Longest stretch of one record, s.
        say: Takes a sentence to be said once.

    Attributes:
        state: Present state.
        run: Name of the run.
    """

    def __init__(
        self,
        run: str,
        gpus: Sequence[Gpu],
        guide: Guide,
        journal: Journal,
        limits: LimitSet,
        record_s: float,
        say: Callable[[str], None],
    ) -> None:
        self.state: GovernorState = "safe"
        self.run = run
        self._guide = guide
        self._journal = journal
        self._limits = limits
        self._lock = threading.Lock()
        # Whether the limit was lowered for what the step, when it asked last, did not know yet.
        self._is_ahead = False
        self._record_s = record_s
        self._say = say
        # A twin has no work of its own: it draws power for the states in which this training works.
        self._twins = tuple(gpu for gpu in gpus if isinstance(gpu, SimulatedGpu))
        self._set_busy()

    def enter(self, state: GovernorState) -> None:
        """Be in a state from now on."""
        if RECORDED[state] != RECORDED[self.state]:
            self.record()
        if state != self.state:
            self.state = state
            self._set_busy()

    def asking(self) -> None:
        """Note that the step asks its calendar anew: what it then says is newer than what the limit was lowered for."""
        with self._lock:
            self._is_ahead = False

    def limit(self, limit_w: float | None) -> None:
        """Set the limit, W per GPU, unless it is set; None gives back the limits found.

        One that was lowered since the step has asked is not raised: that is for the next time it asks.
        """
        if limit_w != self._limits.limit_w:
            self.record()
        elif self._limits.answered:
            return
        with self._lock:
            present_w = self._limits.limit_w
            if limit_w == present_w and self._limits.answered:
                return  # the watch has just asked for the same
            if self._is_ahead and present_w is not None and (limit_w is None or limit_w > present_w):
                return
            sentences = self._limits.set(limit_w)
        for sentence in sentences:
            self._say(sentence)

    def give_back(self) -> None:
        """Give back the limits found, because the training ends: whatever was asked for meanwhile."""
        self.asking()
        self.limit(None)

    def lower(self, limit_w: float, wanted: Callable[[], bool]) -> None:
        """Lower the limit beside the training, between two steps.

        Args:
            limit_w: Limit, W per GPU.
            wanted: Asked while no other limit can be set: False leaves the limit as it is.
        """
        with self._lock:
            present_w = self._limits.limit_w
            if not wanted() or (present_w is not None and present_w <= limit_w):
                return
            self._is_ahead = True
            sentences = self._limits.set(limit_w)
        for sentence in sentences:
            self._say(sentence)

    def in_safe_hands(self) -> bool:
        """Whether the limit asked for is known to be kept: without its agent nobody can say that."""
        return not self._limits.agent_gone

    def keep_records(self) -> None:
        """Read the boards, say what came up, and cut a record that has become long."""
        for sentence in self._limits.notices():
            _LOG.warning("gridpace: %s", sentence)
        self._journal.sample()
        if self._journal.age_s() >= self._record_s:
            self.record()

    def record(self) -> None:
        """Cut the record here."""
        error = self._journal.cut(self.run, RECORDED[self.state], self._guide.calendar, self._limits)
        if error is not None:
            self._say(f"telemetry cannot be written ({error}); records are kept and tried again.")
        for notice in self._journal.notices():
            self._say(notice)

    def due_in_s(self) -> float:
        """Return after how long there is something to record or to look at, s."""
        return min(self._record_s - self._journal.age_s(), self._limits.due_in_s())

    def _set_busy(self) -> None:
        for twin in self._twins:
            twin.set_busy(self.state in WORKING)
