"""The step hook: makes a training loop follow its run calendar.

    RUN, CAP  --pause due-->  DRAIN  --all ranks at one step-->  SAVE  -->  HOLD or EXIT
    HOLD      --window ends, or a watchdog wants a step-->  RESUME  -->  RUN or CAP
    SAVE      --a rank could not-->  RUN or CAP, tried again later
    any       --no valid calendar-->  SAFE: the limit found at the start is restored, training runs free

Everything but a lower limit happens inside `step()`, that is at a step boundary; between boundaries of the calendar a
call costs one look at the clock and one at a word of shared memory. Nothing is raised into training unless
`strict=True`.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from typing import TYPE_CHECKING

from trainer_hooks.agreement.alone import Alone
from trainer_hooks.agreement.collective import Collective
from trainer_hooks.boundary import Boundary, Training
from trainer_hooks.breakeven import IDLE_W_PER_GPU, CostMeter, PauseCosts, process_age_s
from trainer_hooks.checkpoint import CheckpointTimer
from trainer_hooks.clock import Clock
from trainer_hooks.conduct import Conduct
from trainer_hooks.guide import Guide
from trainer_hooks.journal import Journal
from trainer_hooks.limits import LimitSet
from trainer_hooks.pauses import PauseRules, Pauses
from trainer_hooks.said import Said
from trainer_hooks.signals import before_ending, not_before_ending, take_signals
from trainer_hooks.steady import steady
from trainer_hooks.watch import LimitWatch
from trainer_hooks.watchdogs import grace_s, hold_cap_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import TypeVar

    from trainer_hooks.agreement.collective import AllReduce
    from trainer_hooks.agreement.wish import Agreement
    from trainer_hooks.contract import RunCalendar
    from trainer_hooks.gpu import Gpu
    from trainer_hooks.metering import Metering
    from trainer_hooks.pauses import OnHold, OnOff
    from trainer_hooks.report import GovernorReport
    from trainer_hooks.state import GovernorState
    from trainer_hooks.telemetry import TelemetryWriter
    from trainer_hooks.watch import Feed
    from trainer_hooks.watchdogs import Watchdog

    Item = TypeVar("Item")
    Save = Callable[[], object]

# A lower limit must be in force within 2 s of its event; through an agent its heartbeat comes before this look.
WATCH_S = 0.5


class Governor:
    """Follows a run calendar from inside a training loop.

    Args:
        calendar: Calendar to follow; None to wait for the feed's, or to run free.
        feed: Where newer calendars come from.
        run: Name of the run, for records; the calendar's name if empty.
        gpus: GPUs to limit and to meter.
        clock: Time.
        telemetry: Where records go; None writes none.
        metering: What is metered beside the boards, and how processes agree on these; None meters all boards given.
        on_off: At an `off` window, `exit` sets `should_exit` after saving, and a loop that goes on all the same waits
            from its next step; `wait` waits like a hold.
        on_hold: At a `hold` window, `hold` waits; `auto` ends the loop after saving where that costs fewer joules, for
            jobs that are started again when the window ends.
        timers: Watchdogs that bound a hold.
        agreement: How several ranks pause at the same step; None for a training of one rank.
        all_reduce: Where there is no `agreement`: returns the greatest of the numbers that the ranks give, to each of
            them. It is called after every `every`-th step.
        every: Steps between two calls of `all_reduce`.
        may_pause: False for one of several ranks that cannot agree: only power limits are followed.
        drain: Waits until the device has nothing left to do, such as `torch.cuda.synchronize`; called before a pause.
        costs: What pausing costs, until it has been measured.
        poll_s: How often a newer calendar is looked for, s.
        watch_s: How often a thread looks for a newer calendar and lower limits beside the training, s of real time;
            None: only `step` looks.
        record_s: Longest stretch of one record, s.
        save_lead_s: How long a checkpoint takes, s, until one has been timed.
        strict: Raise faults into training instead of logging them.
    """

    def __init__(
        self,
        calendar: RunCalendar | None = None,
        *,
        feed: Feed | None = None,
        run: str = "",
        gpus: Sequence[Gpu] = (),
        clock: Clock | None = None,
        telemetry: TelemetryWriter | None = None,
        metering: Metering | None = None,
        on_off: OnOff = "exit",
        on_hold: OnHold = "hold",
        timers: Sequence[Watchdog] = (),
        agreement: Agreement | None = None,
        all_reduce: AllReduce | None = None,
        every: int = 16,
        may_pause: bool = True,
        drain: Callable[[], object] | None = None,
        costs: PauseCosts | None = None,
        poll_s: float = 10.0,
        watch_s: float | None = None,
        record_s: float = 60.0,
        save_lead_s: float = 0.0,
        strict: bool = False,
    ) -> None:
        self.should_exit = False
        self._say = Said()
        self._clock = steady(clock or Clock(), self._say)
        self._monotonic = self._clock.monotonic
        self._poll_s = poll_s
        self._strict = strict
        self._pid = os.getpid()
        self._closed = self._stop = False
        self._steps = self._pending_tokens = 0
        self._agreement = agreement or (Collective(all_reduce, every) if all_reduce else Alone(may_pause=may_pause))
        self._due = self._agreement.due
        self._guide = Guide(calendar, self._clock, poll_s, self._say)
        self._checkpoint = CheckpointTimer(save_lead_s, self._monotonic)
        self._costs = CostMeter(gpus, costs or PauseCosts(IDLE_W_PER_GPU * len(gpus)), self._monotonic)
        limits = LimitSet(gpus, self._monotonic)
        self._journal = Journal(gpus, self._clock, telemetry, metering)
        name = run or (calendar.run if calendar else "")
        self._conduct = Conduct(name, gpus, self._guide, self._journal, limits, record_s, self._say)
        rules = PauseRules(on_off, on_hold, hold_cap_s(timers, drained=False), hold_cap_s(timers, drained=True))
        self._boundary = Boundary(
            Training(
                clock=lambda: self._clock,
                enter=lambda state: self._enter(state),  # noqa: PLW0108 - looked up at each call, so that it can be replaced
                drain=drain,
                fault=self._fault,
                say=self._say,
                strict=strict,
                grace_s=grace_s(timers),
            ),
            self._guide,
            self._agreement,
            Pauses(rules, lambda: self._costs.costs, self._monotonic),
            self._checkpoint,
            self._costs,
            self._conduct,
        )
        self._wake_s = self._monotonic()
        self._watch = LimitWatch(feed, self._clock, self._lower, self._wake, watch_s) if feed and watch_s else None
        self._guide.feed = self._watch or feed
        atexit.register(self.close)
        if gpus:
            before_ending(self.close)
        if self._watch:
            self._watch.start()
        self._begin()

    @property
    def state(self) -> GovernorState:
        """What the training does now."""
        return self._conduct.state

    @property
    def calendar(self) -> RunCalendar | None:
        """The calendar in force."""
        return self._guide.calendar

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        clock: Clock | None = None,
        strict: bool = False,
        install_signals: bool = False,
        all_reduce: AllReduce | None = None,
        every: int = 16,
        drain: Callable[[], object] | None = None,
    ) -> Governor:
        """Make a Governor from environment variables; without calendar or GPU a no-op that says so once.

        docs/training.md lists the variables. Where ranks are given `all_reduce`, all of them must call this.

        Args:
            environ: Variables; those of the process if None.
            clock: Time; real time if None.
            strict: Raise faults, also those of the settings, instead of logging them.
            install_signals: Also take SIGTERM and SIGUSR1, as `install_signal_handlers` does.
            all_reduce: See the class; used where not every rank reaches a hub.
            every: See the class.
            drain: See the class.

        Returns:
            The Governor.

        Raises:
            HookError: With `strict`, a setting or the GPUs cannot be used.
        """
        from trainer_hooks.settings import RUNS_FREE, governor_arguments, rank_arguments

        variables = os.environ if environ is None else environ
        ranks, notice = rank_arguments(variables, all_reduce, every, strict=strict)
        try:
            arguments, said = governor_arguments(variables, clock or Clock())
            watch_s = WATCH_S if clock is None else None
            governor = cls(clock=clock, strict=strict, drain=drain, watch_s=watch_s, **{**ranks, **arguments})
        except Exception as error:
            if strict:
                raise
            governor, said = cls(clock=clock, **ranks), f"{error} {RUNS_FREE}."
        for sentence in filter(None, (notice, said)):
            governor._say(sentence)
        if install_signals:
            governor.install_signal_handlers()
        return governor

    def step(self, tokens: int = 0, save: Save | None = None) -> bool:
        """Call after every training step, where nothing is outstanding.

        Args:
            tokens: Tokens this process trained in the step. Where several ranks train on the same tokens (tensor or
                pipeline parallel), one of them counts.
            save: Writes a checkpoint; called when the calendar needs one, on all ranks after the same step.

        Returns:
            `should_exit`: whether the loop should end now, its work saved.
        """
        try:
            self._steps += 1
            self._pending_tokens += int(tokens)
            if self._monotonic() < self._wake_s and (self.should_exit or not self._stop) and not self._due(self._steps):
                return self.should_exit
            self._attend(save)
        except Exception as error:
            self._fault(error)
        return self.should_exit

    def resume_at(self, position_tokens: int, step: int | None = None) -> None:
        """Say, before the first step, what the loaded state holds.

        Args:
            position_tokens: Tokens since the training's beginning.
            step: Optimiser steps since then; needed where a rank may start again while the others train on.
        """
        self._count(lambda: self._journal.tokens.resume_at(position_tokens))
        age_s = process_age_s()
        if position_tokens and age_s is not None:
            self._costs.reloaded(age_s)
        if step is not None:
            self._steps = step
            self._journal.resume_steps(step)
            self._checkpoint.loaded(step)

    def rollback(self, to_tokens: int) -> None:
        """Say that the training went back to a state of `to_tokens` tokens since its beginning."""
        self._count(lambda: self._journal.tokens.rollback(to_tokens))

    def request_stop(self) -> None:
        """Ask for a checkpoint and the end of the loop at the next step boundary; safe in a signal handler."""
        self._stop = True

    def install_signal_handlers(self, signals: Iterable[signal.Signals] = (signal.SIGTERM, signal.SIGUSR1)) -> bool:
        """Take signals that announce the end of the job; a handler sets a flag and calls the one before it.

        Args:
            signals: Signals to take.

        Returns:
            Whether they were taken: only in the main thread, and only where this rank may stop.
        """
        if not self._agreement.may_pause or threading.current_thread() is not threading.main_thread():
            self._say("signals are not taken: several ranks that cannot agree, or not the main thread.")
            return False
        take_signals(signals, self.request_stop)
        return True

    def watch(self, loader: Iterable[Item]) -> Iterator[Item]:
        """Hand on a data loader's items, timing the waits for them: `for batch in governor.watch(loader):`."""
        return self._journal.watch(loader)

    def report(self) -> GovernorReport:
        """Sum up what was done so far."""
        if not self._closed:
            self._count(self._conduct.record)
        return self._journal.report(self._conduct.run, self.calendar)

    def close(self) -> None:
        """Write the last record and give the limits back; also done when Python exits."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        atexit.unregister(self.close)
        not_before_ending(self.close)
        if self._watch:
            self._watch.close()
        self._count(self._conduct.record)
        self._count(self._conduct.give_back)
        # After the last record, which would take over what other processes of the node have let go of.
        self._journal.close()
        self._count(self._agreement.close)
        self._wake_s = float("inf")
        self._due = _never

    def __enter__(self) -> Governor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        try:
            self._boundary.begin()
        except Exception as error:
            self._fault(error)

    def _attend(self, save: Save | None) -> None:
        """Do what calendar and ranks ask for; returns when the next step may run, or the loop should end."""
        self._take_tokens()
        if self.should_exit and not self._stop:
            self._say("the loop did not end at should_exit: off windows are waited out from now on.")
            self.should_exit = False
            self._boundary.wait_out_from_now()
        if not self.should_exit:
            self.should_exit = self._boundary.attend(self._steps, save, lambda: self._stop)
        self._schedule()

    def _lower(self, limit_w: float) -> None:
        """Lower the limit beside the training, between two steps, while the GPUs are this training's."""
        self._conduct.lower(limit_w, lambda: not self._closed and self.state != "exit")

    def _wake(self) -> None:
        self._guide.look_soon()
        self._wake_s = self._monotonic()

    def _enter(self, state: GovernorState) -> None:
        self._conduct.enter(state)

    def _schedule(self) -> None:
        """Set when step() next looks up, by the monotonic clock."""
        if self.should_exit:
            # A loop that goes on all the same is met again at its next step, unless the job itself was told to stop.
            self._wake_s = float("inf") if self._stop else self._monotonic()
            return
        self._conduct.keep_records()
        wait_s = min(self._boundary.due_in_s(), self._conduct.due_in_s())
        self._wake_s = self._monotonic() + max(wait_s, 0.0)

    def _take_tokens(self) -> None:
        tokens, self._pending_tokens = self._pending_tokens, 0
        self._journal.tokens.add(tokens)
        self._journal.note_steps(self._steps)

    def _count(self, action: Callable[[], object]) -> None:
        try:
            self._take_tokens()
            action()
        except Exception as error:
            self._fault(error)

    def _fault(self, error: Exception) -> None:
        if self._strict:
            raise error
        # a fault that comes back must not be met again in every step
        self._wake_s = self._monotonic() + self._poll_s
        self._say(f"a fault of the Governor, training goes on: {error!r}")


def _never(_step: int) -> bool:
    return False
