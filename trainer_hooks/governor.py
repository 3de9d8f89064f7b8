"""The step hook: makes a training loop follow its run calendar.

    RUN  --pause due, checkpoint needed-->  SAVE  --saved-->  HOLD or EXIT
    RUN  --pause due, nothing to save---->  HOLD  --window ends-->  RUN
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
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import Self

from trainer_hooks.calendar import CalendarError
from trainer_hooks.clock import Clock
from trainer_hooks.directive import Directive, directive, planned
from trainer_hooks.errors import GpuError
from trainer_hooks.limits import LimitKeeper
from trainer_hooks.meter import NO_ENERGY, EnergyMeter, TokenMeter
from trainer_hooks.report import GovernorReport
from trainer_hooks.telemetry import Record, TelemetryWriter, new_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import FrameType, TracebackType

    from trainer_hooks.contract import RunCalendar
    from trainer_hooks.feed import CalendarFeed
    from trainer_hooks.gpu import Gpu

    Save = Callable[[], object]

GovernorState = Literal["run", "hold", "save", "exit", "safe"]
OnOff = Literal["exit", "wait"]

_LOG = logging.getLogger("trainer_hooks")
_HOLD_SLICE_S = 1.0
_RETRY_SAVE_S = 10.0
_RETRY_SAVE_LIMIT_S = 300.0


class Governor:
    """Follows a run calendar from inside a training loop.

    Args:
        calendar: Calendar to follow; None to wait for the feed's, or to run free.
        feed: Where newer calendars come from.
        run: Name of the run, for records; the calendar's name if empty.
        gpus: GPUs to limit and to meter.
        clock: Time.
        telemetry: Where records go; None writes none.
        on_off: At an `off` window, `exit` sets `should_exit` after saving; `wait` waits like a hold.
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
        self.tokens = TokenMeter()
        self._feed = feed
        self._run = run or (calendar.run if calendar else "")
        self._clock = clock or Clock()
        self._monotonic = self._clock.monotonic
        self._telemetry = telemetry
        self._writer = telemetry.writer if telemetry else new_writer()
        self._on_off = on_off
        self._may_pause = may_pause
        self._poll_s = poll_s
        self._record_s = record_s
        self._save_lead_s = save_lead_s
        self._strict = strict
        self._said: set[str] = set()
        self._pid = os.getpid()
        self._closed = False

        self._keepers = tuple(LimitKeeper(gpu) for gpu in gpus)
        self._limit_w: float | None = None
        self._energy = EnergyMeter(gpus, self._monotonic)

        self._steps = 0
        self._saved_step = 0
        self._stop = False
        self._handled: datetime | None = None
        self._retry_s = self._retry_delay_s = 0.0
        self._pending_tokens = 0
        self._wake_s = self._poll_due_s = self._monotonic()

        self._sequence = 0
        self._since = self._clock.wall()
        self._since_tokens = self._since_useful = 0
        self._since_energy = NO_ENERGY
        self._seconds: dict[str, float] = {}
        self._matching_s = self._covered_s = self._planned_tokens = 0.0
        atexit.register(self.close)

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
        from trainer_hooks.settings import governor_arguments

        arguments, notices = governor_arguments(os.environ if environ is None else environ, clock or Clock(), strict)
        governor = cls(clock=clock, strict=strict, **arguments)
        for notice in notices:
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
            if self._monotonic() < self._wake_s and not self._stop:
                return self.should_exit
            self._attend(save)
        except Exception as error:
            self._fault(error)
        return self.should_exit

    def resume_at(self, position_tokens: int) -> None:
        """Say, before the first step, how many tokens the loaded state holds."""
        self._count(lambda: self.tokens.resume_at(position_tokens))
        self._since_useful = self.tokens.useful_tokens

    def rollback(self, to_tokens: int) -> None:
        """Say that the training went back to a state of `to_tokens` tokens since its beginning."""
        self._count(lambda: self.tokens.rollback(to_tokens))

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
        for number in signals:
            earlier = signal.getsignal(number)

            def handle(received: int, frame: FrameType | None, earlier: Any = earlier) -> None:
                self.request_stop()
                if callable(earlier):
                    earlier(received, frame)

            signal.signal(number, handle)
        return True

    def report(self) -> GovernorReport:
        """Sum up what was done so far."""
        try:
            self._take_tokens()
            self._record()
        except Exception as error:
            self._fault(error)
        return GovernorReport(
            run=self._run,
            calendar_id=self.calendar.calendar_id if self.calendar else None,
            tokens=self.tokens.tokens,
            useful_tokens=self.tokens.useful_tokens,
            energy=self._energy.total,
            gpus=len(self._keepers),
            seconds=dict(self._seconds),
            adherence=self._matching_s / self._covered_s if self._covered_s else None,
            planned_tokens=self._planned_tokens,
        )

    def close(self) -> None:
        """Write the last record and give the limits back; also done when Python exits."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        atexit.unregister(self.close)
        try:
            self._take_tokens()
            self._record()
            self._limit(None)
        except Exception as error:
            self._fault(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attend(self, save: Save | None) -> None:
        """Do what the calendar asks for; returns when the next step may run, or the loop should end."""
        self._take_tokens()
        while not self.should_exit:
            asked = self._ask()
            if self._stop:
                if self._secure(save):
                    self._exit("the job was told to stop")
                break
            due = asked.boundary is not None and asked.boundary != self._handled
            if asked.state in {"run", "safe"}:
                if due and self._monotonic() >= self._retry_s and self._secure(save):
                    self._handled = asked.boundary
                self._carry_on(asked)
                break
            if due and (self._monotonic() < self._retry_s or not self._secure(save)):
                self._enter("run")
                break
            self._handled = asked.boundary or self._handled
            if asked.state == "off" and self._on_off == "exit" and self._is_saved():
                self._exit("the calendar gives the GPUs back")
                break
            self._hold(asked)
        self._schedule()

    def _ask(self) -> Directive:
        self._refresh()
        now = self._clock.wall()
        if self.calendar is None:
            return Directive("safe", None, None, None)
        asked = directive(self.calendar, now, self._save_lead_s)
        if asked.state == "safe":
            when = "is not valid yet" if asked.until else "has ended"
            self._say(f"calendar {self.calendar.calendar_id} {when}: training runs free, without a limit of ours.")
        if asked.state in {"hold", "off"} and not self._may_pause:
            self._say("the calendar asks for a pause, but several ranks cannot pause at one step: only limits follow.")
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
            self.calendar, self._handled = newer, None
            self._run = self._run or newer.run

    def _carry_on(self, asked: Directive) -> None:
        self._limit(asked.window.gpu_power_limit_w if asked.window else None)
        self._enter("run" if asked.state == "run" else "safe")

    def _hold(self, asked: Directive) -> None:
        self._enter("hold")
        if asked.window is not None and asked.window.gpu_power_limit_w is not None:
            self._limit(asked.window.gpu_power_limit_w)
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

    def _is_saved(self) -> bool:
        return self._saved_step == self._steps

    def _secure(self, save: Save | None) -> bool:
        """Write a checkpoint unless the state is already in one; False if that failed and training should go on."""
        if self._is_saved():
            return True
        if save is None:
            self._say("a checkpoint is due, but step() was given no save: the run waits instead of ending.")
            return True
        self._enter("save")
        begin_s = self._monotonic()
        try:
            save()
        except Exception as error:
            self._retry_delay_s = min(max(2 * self._retry_delay_s, _RETRY_SAVE_S), _RETRY_SAVE_LIMIT_S)
            self._retry_s = self._monotonic() + self._retry_delay_s
            self._enter("run")
            _LOG.warning("gridpace: the checkpoint failed (%r); training goes on, next try later.", error)
            if self._strict:
                raise
            return False
        self._saved_step = self._steps
        self._save_lead_s = max(self._save_lead_s, self._monotonic() - begin_s)
        self._retry_s = self._retry_delay_s = 0.0
        return True

    def _limit(self, limit_w: float | None) -> None:
        if limit_w == self._limit_w:
            return
        self._record()
        self._limit_w = limit_w
        for keeper in self._keepers:
            verdict = keeper.restore() if limit_w is None else keeper.apply(limit_w)
            if verdict is not None and verdict.outcome != "set":
                self._say(
                    f"power limit of {keeper.gpu.uuid}: {verdict.requested_w:g} W asked, {verdict.outcome}; "
                    f"{'unknown' if verdict.limit_w is None else f'{verdict.limit_w:g} W'} in force."
                )

    def _enter(self, state: GovernorState) -> None:
        if state != self.state:
            self._record()
            self.state = state

    def _schedule(self) -> None:
        """Set when step() next looks up, by the monotonic clock."""
        if self.should_exit:
            self._wake_s = float("inf")
            return
        self._keep_records()
        now = self._clock.wall()
        waits_s = [self._record_s - (now - self._since).total_seconds()]
        if self._feed is not None:
            waits_s.append(self._poll_due_s - self._monotonic())
        if self.calendar is not None:
            until = directive(self.calendar, now, self._save_lead_s).until
            waits_s += [] if until is None else [(until - now).total_seconds()]
        self._wake_s = self._monotonic() + max(min(waits_s), 0.0)

    def _take_tokens(self) -> None:
        tokens, self._pending_tokens = self._pending_tokens, 0
        self.tokens.add(tokens)

    def _keep_records(self) -> None:
        self._since_energy = self._since_energy.then(self._energy.sample())
        if (self._clock.wall() - self._since).total_seconds() >= self._record_s:
            self._record()

    def _record(self) -> None:
        """Close the stretch that began with the last record."""
        now = self._clock.wall()
        energy = self._since_energy.then(self._energy.sample())
        tokens = self.tokens.tokens - self._since_tokens
        useful = self.tokens.useful_tokens - self._since_useful
        duration_s = (now - self._since).total_seconds()
        if duration_s <= 0 and not tokens and not useful:
            self._since_energy = energy
            return
        self._seconds[self.state] = self._seconds.get(self.state, 0.0) + duration_s
        adherence = self._compare(now)
        if self._telemetry is not None:
            record = Record(
                run=self._run,
                calendar_id=self.calendar.calendar_id if self.calendar else None,
                writer=self._writer,
                sequence=self._sequence,
                t_start=self._since,
                t_end=now,
                state=self.state,
                tokens=tokens,
                useful_tokens=useful,
                position_tokens=self.tokens.position_tokens,
                energy_j=energy.energy_j,
                energy_error_j=energy.error_j,
                energy_source=energy.source,
                gpus=len(self._keepers),
                gpu_power_limit_w=self._limit_w,
                enforced_limit_w=self._enforced_limit_w(),
                adherence=adherence,
            )
            error = self._telemetry.write(record)
            if error is not None:
                self._say(f"telemetry cannot be written ({error}); records are kept and tried again.")
        self._sequence += 1
        self._since, self._since_energy = now, NO_ENERGY
        self._since_tokens, self._since_useful = self.tokens.tokens, self.tokens.useful_tokens

    def _compare(self, now: datetime) -> float | None:
        """Lay the stretch beside the calendar; returns the share of it that was as planned."""
        if self.calendar is None:
            return None
        as_planned = {"exit": "off", "save": "run"}.get(self.state, self.state)
        if self._on_off == "wait" and self.state == "hold":
            window = self.calendar.window_at(self._since)
            as_planned = window.state if window is not None and window.state != "run" else "hold"
        plan = planned(self.calendar, as_planned, self._since, now)
        if plan.covered_s == 0:
            return None
        self._matching_s += plan.matching_s
        self._covered_s += plan.covered_s
        self._planned_tokens += plan.tokens
        return plan.matching_s / plan.covered_s

    def _enforced_limit_w(self) -> float | None:
        try:
            limits_w = [keeper.gpu.enforced_limit_w() for keeper in self._keepers]
        except GpuError:
            return None
        return min((limit for limit in limits_w if limit is not None), default=None)

    def _count(self, action: Callable[[], object]) -> None:
        try:
            self._take_tokens()
            action()
        except Exception as error:
            self._fault(error)

    def _fault(self, error: Exception) -> None:
        if self._strict:
            raise error
        # Without this a fault that comes back would be met again in every step.
        self._wake_s = self._monotonic() + self._poll_s
        self._say(f"a fault of the Governor, training goes on: {error!r}")

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            _LOG.warning("gridpace: %s", sentence)
