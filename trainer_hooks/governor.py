"""The step hook: makes a training loop follow its run calendar.

    RUN  --pause due, checkpoint needed-->  SAVE  --saved-->  HOLD or EXIT
    RUN  --pause due, nothing to save---->  HOLD  --window ends-->  RUN   (WAIT where `off` windows are waited out)
    SAVE --the callback failed----------->  RUN, tried again later
    any  --no valid calendar------------->  SAFE: the limit found at the start is restored, training runs free

Everything happens inside `step()`, that is at a step boundary; between boundaries of the calendar a call costs one look
at the clock. Nothing is raised into training unless `strict=True`.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from trainer_hooks.calendar import CalendarError
from trainer_hooks.checkpoint import CheckpointTimer
from trainer_hooks.clock import Clock
from trainer_hooks.directive import Directive, directive
from trainer_hooks.journal import Journal
from trainer_hooks.limits import LimitSet
from trainer_hooks.signals import before_ending, not_before_ending, take_signals
from trainer_hooks.simulated import SimulatedGpu

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from trainer_hooks.contract import RunCalendar
    from trainer_hooks.feed import CalendarFeed
    from trainer_hooks.gpu import Gpu
    from trainer_hooks.report import GovernorReport
    from trainer_hooks.telemetry import TelemetryWriter

    Save = Callable[[], object]

GovernorState = Literal["run", "hold", "wait", "save", "exit", "safe"]
OnOff = Literal["exit", "wait"]

_LOG = logging.getLogger("trainer_hooks")
_HOLD_SLICE_S = 1.0


class Governor:
    """Follows a run calendar from inside a training loop.

    Args:
        calendar: Calendar to follow; None to wait for the feed's, or to run free.
        feed: Where newer calendars come from.
        run: Name of the run, for records; the calendar's name if empty.
        gpus: GPUs to limit and to meter.
        clock: Time.
        telemetry: Where records go; None writes none.
        on_off: At an `off` window, `exit` sets `should_exit` after saving, and a loop that goes on all the same waits
            from its next step; `wait` waits like a hold.
        may_pause: False follows power limits only: ranks that paused each by its own clock would stop at different
            steps and hang in their next collective.
        poll_s: How often a newer calendar is looked for, s.
        record_s: Longest stretch of one record, s.
        save_lead_s: How long a checkpoint takes, s, until one has been timed.
        strict: Raise faults into training instead of logging them.
    """

    def __init__(
        self,
        calendar: RunCalendar | None = None,
        *,
        feed: CalendarFeed | None = None,
        run: str = "",
        gpus: Sequence[Gpu] = (),
        clock: Clock | None = None,
        telemetry: TelemetryWriter | None = None,
        on_off: OnOff = "exit",
        may_pause: bool = True,
        poll_s: float = 10.0,
        record_s: float = 60.0,
        save_lead_s: float = 0.0,
        strict: bool = False,
    ) -> None:
        self.should_exit = False
        self.state: GovernorState = "safe"
        self.calendar = calendar
        self._feed = feed
        self._run = run or (calendar.run if calendar else "")
        self._clock = clock or Clock()
        self._monotonic = self._clock.monotonic
        self._on_off = on_off
        self._may_pause = may_pause
        self._poll_s = poll_s
        self._record_s = record_s
        self._checkpoint = CheckpointTimer(save_lead_s, self._monotonic)
        self._strict = strict
        self._said: set[str] = set()
        self._pid = os.getpid()
        self._closed = False
        self._limits = LimitSet(gpus)
        # A twin has no work of its own: it draws power for the states in which this training works.
        self._twins = tuple(gpu for gpu in gpus if isinstance(gpu, SimulatedGpu))
        self._journal = Journal(gpus, self._clock, telemetry)
        self._steps = self._pending_tokens = 0
        self._stop = False
        self._handled: datetime | None = None
        self._wake_s = self._poll_due_s = self._monotonic()
        self._set_busy()
        atexit.register(self.close)
        if gpus:
            before_ending(self.close)
        self._begin()

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        clock: Clock | None = None,
        strict: bool = False,
        install_signals: bool = False,
    ) -> Governor:
        """Make a Governor from environment variables; without calendar or GPU a no-op that says so once.

        GRIDPACE_CALENDAR: folder with `current`, calendar folder, or a run's file. GRIDPACE_RUN: name of the run.
        GRIDPACE_TELEMETRY: folder or `.jsonl` file. GRIDPACE_ON_OFF: `exit` (default) or `wait`.
        GRIDPACE_SIMULATE: number of simulated GPUs to follow the calendar with instead of real ones.

        Args:
            environ: Variables; those of the process if None.
            clock: Time; real time if None.
            strict: Raise faults, also those of the settings, instead of logging them.
            install_signals: Also take SIGTERM and SIGUSR1, as `install_signal_handlers` does.

        Returns:
            The Governor.

        Raises:
            HookError: With `strict`, a setting or the GPUs cannot be used.
        """
        from trainer_hooks.settings import RUNS_FREE, governor_arguments

        try:
            arguments, notice = governor_arguments(os.environ if environ is None else environ, clock or Clock())
            governor = cls(clock=clock, strict=strict, **arguments)
        except Exception as error:
            if strict:
                raise
            governor, notice = cls(clock=clock), f"{error} {RUNS_FREE}."
        if notice:
            governor._say(notice)
        if install_signals:
            governor.install_signal_handlers()
        return governor

    def step(self, tokens: int = 0, save: Save | None = None) -> bool:
        """Call after every training step, where nothing is outstanding.

        Args:
            tokens: Tokens this process trained in the step. Where several ranks train on the same tokens (tensor or
                pipeline parallel), one of them counts.
            save: Writes a checkpoint; called when the calendar needs one.

        Returns:
            `should_exit`: whether the loop should end now, its work saved.
        """
        try:
            self._steps += 1
            self._pending_tokens += int(tokens)
            if self._monotonic() < self._wake_s and (self.should_exit or not self._stop):
                return self.should_exit
            self._attend(save)
        except Exception as error:
            self._fault(error)
        return self.should_exit

    def resume_at(self, position_tokens: int) -> None:
        """Say, before the first step, how many tokens the loaded state holds."""
        self._count(lambda: self._journal.tokens.resume_at(position_tokens))

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
            Whether they were taken: only in the main thread, and only where one rank may stop by itself.
        """
        if not self._may_pause or threading.current_thread() is not threading.main_thread():
            self._say("signals are not taken: several ranks, or not the main thread.")
            return False
        take_signals(signals, self.request_stop)
        return True

    def report(self) -> GovernorReport:
        """Sum up what was done so far."""
        if not self._closed:
            self._count(self._record)
        return self._journal.report(self._run, self.calendar)

    def close(self) -> None:
        """Write the last record and give the limits back; also done when Python exits."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        atexit.unregister(self.close)
        not_before_ending(self.close)
        self._count(self._record)
        self._count(lambda: self._limit(None))
        self._wake_s = float("inf")

    def __enter__(self) -> Governor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        """Take the first limit before the first step; a pause waits for a step boundary."""
        try:
            asked = self._ask()
            if asked.state == "run":
                self._carry_on(asked)
        except Exception as error:
            self._fault(error)

    def _attend(self, save: Save | None) -> None:
        """Do what the calendar asks for; returns when the next step may run, or the loop should end."""
        self._take_tokens()
        if self.should_exit and not self._stop:
            self._say("the loop did not end at should_exit: off windows are waited out from now on.")
            self.should_exit, self._on_off = False, "wait"
        while not self.should_exit:
            asked = self._ask()
            if self._stop:
                if self._secure(save):
                    self._exit("the job was told to stop")
                break
            due = asked.boundary is not None and asked.boundary != self._handled
            if asked.state in {"run", "safe"}:
                if due and not self._checkpoint.wait_s() and self._secure(save):
                    self._handled = asked.boundary
                self._carry_on(asked)
                break
            if due and (self._checkpoint.wait_s() or not self._secure(save)):
                self._enter("run")
                break
            if asked.state == "off" and self._on_off == "exit" and self._checkpoint.holds(self._steps):
                self._exit("the calendar gives the GPUs back")
                break
            self._hold(asked)
        self._schedule()

    def _ask(self) -> Directive:
        self._refresh()
        now = self._clock.wall()
        if self.calendar is None:
            return Directive("safe", None, None, None)
        asked = directive(self.calendar, now, self._checkpoint.lead_s)
        if asked.state == "safe":
            when = "is not valid yet" if asked.until else "has ended"
            self._say(f"calendar {self.calendar.calendar_id} {when}: training runs free, without a limit of ours.")
        if asked.state != "safe" and not self._may_pause:
            if asked.state != "run":
                self._say("a pause is due, but several ranks cannot pause each by its own clock: only limits follow.")
            return Directive("run", asked.window, None, asked.until)
        return asked

    def _refresh(self) -> None:
        now_s = self._monotonic()
        if self._feed is None or now_s < self._poll_due_s:
            return
        self._poll_due_s = now_s + self._poll_s
        try:
            newer = self._feed.poll()
        except CalendarError as error:
            kept = "the one in force is kept" if self.calendar else "training runs free"
            self._say(f"no calendar can be read, {kept}: {error}")
            if self._strict:
                raise
            return
        if newer is not None:
            self._record()
            self.calendar = newer
            self._run = self._run or newer.run

    def _carry_on(self, asked: Directive) -> None:
        self._limit(asked.window.gpu_power_limit_w if asked.window else None)
        self._enter("run" if asked.state == "run" else "safe")

    def _hold(self, asked: Directive) -> None:
        self._enter("wait" if asked.state == "off" and self._on_off == "wait" else "hold")
        self._limit(asked.window.gpu_power_limit_w if asked.window else None)
        left_s = _HOLD_SLICE_S
        if asked.until is not None:
            left_s = min(left_s, (asked.until - self._clock.wall()).total_seconds())
        self._clock.sleep(max(left_s, 0.0))
        self._keep_records()

    def _exit(self, why: str) -> None:
        self._enter("exit")
        self._limit(None)
        self.should_exit = True
        _LOG.info("gridpace: %s; the checkpoint is written and the loop should end.", why)

    def _secure(self, save: Save | None) -> bool:
        """Write a checkpoint unless the state is already in one; False if that failed and training should go on."""
        if self._checkpoint.holds(self._steps):
            return True
        if save is None:
            self._say("a checkpoint is due, but step() was given no save: the run waits instead of ending.")
            return True
        self._enter("save")
        error = self._checkpoint.write(save, self._steps)
        if error is not None:
            self._enter("run")
            _LOG.warning("gridpace: the checkpoint failed (%r); training goes on, next try later.", error)
            if self._strict:
                raise error
        return error is None

    def _limit(self, limit_w: float | None) -> None:
        if limit_w != self._limits.limit_w:
            self._record()
        elif self._limits.answered:
            return
        for sentence in self._limits.set(limit_w):
            self._say(sentence)

    def _enter(self, state: GovernorState) -> None:
        if state != self.state:
            self._record()
            self.state = state
            self._set_busy()

    def _set_busy(self) -> None:
        for twin in self._twins:
            twin.set_busy(self.state in {"run", "save", "safe"})

    def _schedule(self) -> None:
        """Set when step() next looks up, by the monotonic clock."""
        if self.should_exit:
            # A loop that goes on all the same is met again at its next step, unless the job itself was told to stop.
            self._wake_s = float("inf") if self._stop else self._monotonic()
            return
        self._keep_records()
        now, now_s = self._clock.wall(), self._monotonic()
        waits_s = [self._record_s - self._journal.age_s()]
        waits_s += [] if self._feed is None else [self._poll_due_s - now_s]
        waits_s += [self._checkpoint.wait_s()] if self._checkpoint.wait_s() else []
        if self.calendar is not None:
            until = directive(self.calendar, now, self._checkpoint.lead_s).until
            waits_s += [] if until is None else [(until - now).total_seconds()]
        self._wake_s = now_s + max(min(waits_s), 0.0)

    def _take_tokens(self) -> None:
        tokens, self._pending_tokens = self._pending_tokens, 0
        self._journal.tokens.add(tokens)

    def _keep_records(self) -> None:
        self._journal.sample()
        if self._journal.age_s() >= self._record_s:
            self._record()

    def _record(self) -> None:
        error = self._journal.cut(self._run, self.state, self.calendar, self._limits)
        if error is not None:
            self._say(f"telemetry cannot be written ({error}); records are kept and tried again.")

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

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            _LOG.warning("gridpace: %s", sentence)
