"""What happens at a step boundary: the ranks meet, save, hold, end or train on."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainer_hooks.directive import Directive
from trainer_hooks.errors import HookError
from trainer_hooks.guide import NOTHING_ASKED
from trainer_hooks.pauses import Standing

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.agreement.wish import Agreement, Stance, Wish
    from trainer_hooks.breakeven import CostMeter
    from trainer_hooks.checkpoint import CheckpointTimer
    from trainer_hooks.clock import Clock
    from trainer_hooks.conduct import Conduct
    from trainer_hooks.guide import Guide
    from trainer_hooks.pauses import Pauses
    from trainer_hooks.state import GovernorState

    Save = Callable[[], object]

_LOG = logging.getLogger("trainer_hooks")
_NOT_KNOWN = Directive("run", None, None, None)
_LOOK_S = 1.0


@dataclass(frozen=True)
class Training:
    """What a boundary asks of the training around it.

    Attributes:
        clock: Returns its time.
        enter: Enters a state.
        drain: Waits until the device has nothing left to do; None where that is not known.
        fault: Takes a fault that the training shall survive; raises it where faults are raised.
        say: Takes a sentence to be said once.
        strict: Whether faults are raised.
        grace_s: Time between the announcement of the job's end and the end, s.
    """

    clock: Callable[[], Clock]
    enter: Callable[[GovernorState], None]
    drain: Callable[[], object] | None
    fault: Callable[[Exception], None]
    say: Callable[[str], None]
    strict: bool
    grace_s: float


class Boundary:
    """Does at a step boundary what calendar and ranks ask for.

    Args:
        training: The training around it.
        guide: What the calendar asks for.
        agreement: How the ranks do the same.
        pauses: What a pause means for this training.
        checkpoint: Calls the training's `save`.
        costs: What pausing costs.
        conduct: State, limit and records.
    """

    def __init__(
        self,
        training: Training,
        guide: Guide,
        agreement: Agreement,
        pauses: Pauses,
        checkpoint: CheckpointTimer,
        costs: CostMeter,
        conduct: Conduct,
    ) -> None:
        self._training = training
        self._drain = training.drain
        self._guide = guide
        self._agreement = agreement
        self._pauses = pauses
        self._checkpoint = checkpoint
        self._costs = costs
        self._conduct = conduct
        self._looked_s = -float("inf")
        self._asked = NOTHING_ASKED

    def begin(self) -> None:
        """Take the first limit before the first step; a pause waits for a step boundary."""
        asked = self._ask()
        if asked.state == "run":
            self._carry_on(asked)

    def attend(self, step: int, save: Save | None, stopping: Callable[[], bool]) -> bool:
        """Do what is asked for.

        Args:
            step: Steps done.
            save: Writes a checkpoint; None where the training cannot.
            stopping: Returns whether the job was told to stop.

        Returns:
            Whether the loop should end; False when the next step may run.
        """
        self._asked = NOTHING_ASKED
        while True:
            self._asked = asked = self._heard()
            stance = self._agreement.stance(step, self._wish(asked, step, save, stopping=stopping()))
            if stance in {"go", "failed"}:
                self._go_on(asked, stance)
                return False
            if stance == "exit":
                self._exit(stopping=stopping())
                return True
            if stance == "save":
                self._write_checkpoint(step, save)
            else:
                self._stay(asked, stance)

    def wait_out_from_now(self) -> None:
        """Wait at `off` windows: the loop does not end when it should."""
        self._pauses.rules = replace(self._pauses.rules, on_off="wait")

    def due_in_s(self) -> float:
        """Return after how long the calendar, the ranks or a failed checkpoint want a look, s."""
        retry_s = self._checkpoint.wait_s()
        waits_s = [self._agreement.due_in_s(), self._guide.due_in_s(self._checkpoint.lead_s)]
        waits_s += [retry_s] if retry_s else []
        if self._conduct.state == "resume":
            waits_s.append(0.0)
        elif self._conduct.state == "drain" and self._asked.state not in {"run", "safe"}:
            waits_s.append(self._agreement.retry_s)
        return min(waits_s)

    def _heard(self) -> Directive:
        """Ask the calendar; a fault of it must not keep this rank from meeting the others."""
        try:
            return self._ask()
        except Exception as error:
            self._training.fault(error)
            return _NOT_KNOWN

    def _ask(self) -> Directive:
        self._conduct.asking()
        self._refresh()
        asked = self._guide.ask(self._checkpoint.lead_s)
        if asked.state in {"hold", "off"} and not self._agreement.may_pause:
            self._training.say(
                "a pause is due, but several ranks cannot pause each by its own clock: only limits follow."
            )
            return Directive("run", asked.window, None, asked.until)
        return asked

    def _refresh(self) -> None:
        try:
            newer = self._guide.newer()
        except HookError:
            if self._training.strict:
                raise
            return
        if newer is not None:
            self._conduct.record()
            self._guide.calendar = newer
            self._conduct.run = self._conduct.run or newer.run

    def _wish(self, asked: Directive, step: int, save: Save | None, *, stopping: bool) -> Wish:
        saved = self._checkpoint.holds(step)
        if save is None and not saved and (stopping or asked.boundary is not None) and self._agreement.leads:
            self._training.say("a checkpoint is due, but step() was given no save: the run waits instead of ending.")
        stands = Standing(saved, save is not None, self._checkpoint.wait_s() > 0, stopping)
        if not self._agreement.leads:
            asked = NOTHING_ASKED
        remaining_s = self._guide.remaining_s() if asked.state == "hold" else 0.0
        return self._pauses.wish(asked, remaining_s, stands)

    def _go_on(self, asked: Directive, stance: Stance) -> None:
        """Train the next step, also where a pause is asked for that cannot be yet."""
        if stance == "failed":
            self._checkpoint.put_off()
        resumes = self._pauses.held()
        self._pauses.ended()
        if asked is _NOT_KNOWN:
            return
        if asked.state in {"run", "safe"} and not resumes:
            self._carry_on(asked)
            return
        if asked.window is not None and asked.window.gpu_power_limit_w is not None:
            self._conduct.limit(asked.window.gpu_power_limit_w)
        self._training.enter("resume" if resumes else "run" if self._checkpoint.wait_s() else "drain")

    def _carry_on(self, asked: Directive) -> None:
        limit_w = asked.window.gpu_power_limit_w if asked.window else None
        self._conduct.limit(limit_w)
        is_safe = asked.state == "safe" or not self._conduct.in_safe_hands()
        self._training.enter("safe" if is_safe else "run" if limit_w is None else "cap")

    def _stay(self, asked: Directive, stance: Stance) -> None:
        """Wait at the step boundary, for the others or for the window's end."""
        clock = self._training.clock()
        nap_s = self._agreement.pause_s
        if stance == "hold":
            self._empty()
            self._pauses.holding()
            self._training.enter("wait" if asked.state == "off" and self._pauses.rules.on_off == "wait" else "hold")
            self._conduct.limit(asked.window.gpu_power_limit_w if asked.window else None)
            nap_s = min(nap_s, self._pauses.left_s())
            if asked.until is not None:
                nap_s = min(nap_s, (asked.until - clock.wall()).total_seconds())
        else:
            self._training.enter("drain")
        clock.sleep(max(nap_s, 0.0))
        # A board that is asked often does not come to rest.
        if stance != "hold" or clock.monotonic() - self._looked_s < _LOOK_S:
            return
        self._looked_s = clock.monotonic()
        self._costs.idle()
        self._conduct.keep_records()

    def _empty(self) -> None:
        """Let the device come to rest before a pause, so that nothing is outstanding in it."""
        if self._drain is None or self._pauses.drained:
            return
        self._training.enter("drain")
        try:
            self._drain()
            self._pauses.drained = True
        except Exception as error:
            self._drain = None
            self._training.fault(error)

    def _exit(self, *, stopping: bool) -> None:
        self._training.enter("exit")
        self._conduct.give_back()
        why = "the job was told to stop" if stopping else "the calendar gives the GPUs back"
        _LOG.info("gridpace: %s; the checkpoint is written and the loop should end.", why)

    def _write_checkpoint(self, step: int, save: Save | None) -> None:
        """Write a checkpoint unless the state is already in one, and tell the others what came of it."""
        error = None
        if save is not None and not self._checkpoint.holds(step):
            self._empty()
            self._training.enter("save")
            self._costs.save_begins()
            error = self._checkpoint.write(save, step)
            if error is None:
                self._costs.save_ended()
                self._compare_with_grace()
        self._agreement.saved(error is None)
        if error is not None:
            self._training.enter("run")
            _LOG.warning("gridpace: the checkpoint failed (%r); training goes on, next try later.", error)
            if self._training.strict:
                raise error

    def _compare_with_grace(self) -> None:
        save_s, grace_s = self._costs.costs.save_s, self._training.grace_s
        if save_s > grace_s:
            self._training.say(
                f"a checkpoint takes {save_s:.0f} s, but a job that is told to end is killed after "
                f"{grace_s:.0f} s by default: raise that time "
                "(terminationGracePeriodSeconds, or --signal and KillWait)."
            )
