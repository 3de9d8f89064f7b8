"""One GPU's limit: what was found, what is ours, and who wants what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainer_hooks.agent.bounds import Bounds
from trainer_hooks.agent.claims import Claim, lowest
from trainer_hooks.errors import AgentBusy, GpuError
from trainer_hooks.gpu import LIMIT_TOLERANCE_W, LimitVerdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.gpu import Gpu


@dataclass(frozen=True)
class Held:
    """What has to outlive the agent, of one GPU.

    Attributes:
        gpu: UUID.
        prior_w: Limit to give back, W.
        marks_w: Limits that are ours if the board shows one of them, W; two while one follows the other.
        claims: Claims alive.
    """

    gpu: str
    prior_w: float
    marks_w: tuple[float, ...]
    claims: tuple[Claim, ...]


class Board:
    """Keeps one GPU at the lowest limit that is claimed, and gives back what was found.

    The record is written before the board is touched, so that whatever happens in between there is something to give
    back; a record that cannot be written refuses the change.

    Args:
        gpu: The GPU.
        bounds: What jobs may ask of it.
        record: Writes every board's state to the disk; raises OSError if that fails.
        say: Takes a sentence for the log.
    """

    def __init__(self, gpu: Gpu, bounds: Bounds, record: Callable[[], None], say: Callable[[str], None]) -> None:
        self.gpu = gpu
        self.bounds = bounds
        self.claims: dict[str, Claim] = {}
        self.prior_w: float | None = None
        self.overridden = False
        self.unsettled = False
        self._marks_w: tuple[float, ...] = ()
        # The energy counter when the limit was set: it only falls when the driver is loaded anew.
        self._energy_j: float | None = None
        self._record = record
        self._say = say
        self._said = ""

    @property
    def held(self) -> Held | None:
        """What has to outlive the agent; None if the board is as it was found."""
        if self.prior_w is None:
            return None
        return Held(self.gpu.uuid, self.prior_w, self._marks_w, tuple(self.claims.values()))

    def take_over(self, held: Held) -> None:
        """Go on from what an earlier agent held."""
        self.prior_w, self._marks_w = held.prior_w, held.marks_w
        self.claims = {claim.claim_id: claim for claim in held.claims}

    def claim(self, claim: Claim, now_s: float) -> LimitVerdict:
        """Enter a claim, or put one in the place of the one with its name.

        Args:
            claim: The claim; its limit is brought within the bounds.
            now_s: Monotonic time, s.

        Returns:
            What became of it; where another claim is lower, `clamped`. A claim that is denied or unsupported is not
            entered.

        Raises:
            AgentBusy: What was found cannot be recorded.
        """
        asked_w = claim.limit_w
        try:
            present_w = self.gpu.power_limit_w()
        except GpuError:
            return LimitVerdict(asked_w, None, None, "lost")
        if present_w is None:
            return LimitVerdict(asked_w, None, None, "unsupported")
        before = self.claims.get(claim.claim_id)
        prior_w = present_w if self.prior_w is None else self.prior_w
        try:
            limit_w = self._takes(self.bounds.clamp(asked_w, prior_w))
        except GpuError:
            return LimitVerdict(asked_w, None, None, "lost")
        self.claims[claim.claim_id] = replace(claim, limit_w=limit_w)
        try:
            verdict = self.settle(now_s)
        except AgentBusy:
            self._put_back(claim.claim_id, before)
            raise
        if verdict is not None and verdict.outcome in {"denied", "unsupported"}:
            self._put_back(claim.claim_id, before)
            if not self.claims:
                self.settle(now_s)
            return replace(verdict, requested_w=asked_w)
        return self._told(asked_w, verdict, present_w)

    def drop(self, claim_id: str) -> Claim | None:
        """Take a claim out; `settle` then brings the board to what remains."""
        return self.claims.pop(claim_id, None)

    def settle(self, now_s: float) -> LimitVerdict | None:
        """Bring the board to the lowest limit claimed, or back to what was found.

        Args:
            now_s: Monotonic time, s.

        Returns:
            What came of it; None if there was nothing to set.

        Raises:
            AgentBusy: What was found cannot be recorded; the board is then untouched.
        """
        wanted_w = lowest(self.claims.values(), now_s)
        verdict = self._give_back() if wanted_w is None else self._set(wanted_w)
        self.unsettled = verdict is not None and not verdict.applied and self.prior_w is not None
        return verdict

    def watch(self, now_s: float) -> None:
        """See whether someone else has set another limit; theirs then stands, and is what is given back.

        A limit that is gone because the driver was loaded anew is nobody's wish: it is set again.

        Args:
            now_s: Monotonic time, s.

        Raises:
            AgentBusy: It cannot be set again, because that cannot be recorded.
        """
        if not self._marks_w or not self.claims:
            return
        try:
            present_w = self.gpu.power_limit_w()
        except GpuError:
            return
        if present_w is not None and not self._is_ours(present_w):
            self._foreign(present_w)
            if not self.overridden:
                self.settle(now_s)

    def _set(self, wanted_w: float) -> LimitVerdict:
        try:
            present_w = self.gpu.power_limit_w()
        except GpuError:
            return LimitVerdict(wanted_w, None, None, "lost")
        if present_w is None:
            return LimitVerdict(wanted_w, None, None, "unsupported")
        before = (self.prior_w, self._marks_w)
        if self.prior_w is None:
            self.prior_w = present_w
        elif self._marks_w and not self._is_ours(present_w):
            self._foreign(present_w)
        # Both are ours until it is known which one the board shows.
        self._marks_w = (*self._marks_w[-1:], wanted_w)
        try:
            self._record()
        except OSError as error:
            self.prior_w, self._marks_w = before
            raise AgentBusy(
                f"GPU {self.gpu.uuid}",
                f"the limit found, {present_w:g} W, cannot be recorded ({error}), so none is set.",
                "Free space on the disk of the agent's state, or mend its rights.",
            ) from error
        verdict = self.gpu.set_power_limit_w(wanted_w)
        if verdict.outcome in {"denied", "unsupported"}:
            self._marks_w = before[1]
        elif verdict.limit_w is not None:
            known = self._is_ours(verdict.limit_w)
            self._marks_w = (verdict.limit_w,)
            self.overridden = False
            self._energy_j = self._counter_j()
            if not known:
                self._record_late()
        return verdict

    def _give_back(self) -> LimitVerdict | None:
        if self.prior_w is None:
            return None
        prior_w = self.prior_w
        try:
            present_w = self.gpu.power_limit_w()
        except GpuError:
            self._once(f"it does not answer; {prior_w:g} W will be given back as soon as it does.")
            return LimitVerdict(prior_w, None, None, "lost")
        verdict = None
        is_ours = present_w is None or self._is_ours(present_w)
        if present_w is not None and not is_ours and not self._was_loaded_anew():
            if abs(present_w - prior_w) > LIMIT_TOLERANCE_W:
                self._leave(present_w)
        elif present_w != prior_w:
            verdict = self.gpu.set_power_limit_w(prior_w)
            if not verdict.applied:
                self._once(f"{prior_w:g} W cannot be given back ({verdict.outcome}); it is tried again.")
                return verdict
            self._say(f"GPU {self.gpu.uuid}: {prior_w:g} W given back.")
        self.prior_w, self._marks_w, self.overridden, self._said = None, (), False, ""
        # Where that fails, whoever reads the old record finds the board already at the limit to be given back.
        self._record_late()
        return verdict

    def _takes(self, limit_w: float) -> float:
        """Bring a limit within the board's own range, so that what is recorded is what it will show."""
        span_w = self.gpu.limit_range_w()
        return limit_w if span_w is None else min(max(limit_w, span_w[0]), span_w[1])

    def _record_late(self) -> None:
        try:
            self._record()
        except OSError as error:
            self._once(f"the record of leases cannot be written ({error}).")

    def _foreign(self, present_w: float) -> None:
        """Take note of a limit that is not ours: the driver's after it was loaded anew, else somebody's."""
        if self._was_loaded_anew():
            self._say(f"GPU {self.gpu.uuid}: its driver was loaded anew, and the limit is set again.")
            self._marks_w = ()
            return
        self._leave(present_w)
        self.prior_w, self._marks_w, self.overridden = present_w, (), True

    def _was_loaded_anew(self) -> bool:
        """Whether the driver was since a limit of ours was set: the limit it shows then is nobody's wish."""
        before_j, present_j = self._energy_j, self._counter_j()
        return before_j is not None and present_j is not None and present_j < before_j

    def _counter_j(self) -> float | None:
        try:
            return self.gpu.energy_j()
        except GpuError:
            return None

    def _leave(self, present_w: float) -> None:
        if not self._marks_w:
            return  # told when it was found out
        self._say(f"GPU {self.gpu.uuid}: limit is {present_w:g} W, ours was {self._marks_w[-1]:g} W: left as it is.")

    def _is_ours(self, present_w: float) -> bool:
        return any(abs(present_w - mark_w) <= LIMIT_TOLERANCE_W for mark_w in self._marks_w)

    def _put_back(self, claim_id: str, before: Claim | None) -> None:
        if before is None:
            self.claims.pop(claim_id, None)
        else:
            self.claims[claim_id] = before

    def _told(self, asked_w: float, verdict: LimitVerdict | None, present_w: float) -> LimitVerdict:
        if verdict is None:
            return LimitVerdict(asked_w, present_w, None, "ignored")
        is_clamped = verdict.outcome == "applied" and verdict.requested_w != asked_w
        return replace(verdict, requested_w=asked_w, outcome="clamped" if is_clamped else verdict.outcome)

    def _once(self, sentence: str) -> None:
        if sentence != self._said:
            self._said = sentence
            self._say(f"GPU {self.gpu.uuid}: {sentence}")
