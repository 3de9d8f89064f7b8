"""The life of a job that is steered from outside: limits, save signals, its end at an `off` window, its next start."""

from __future__ import annotations

import logging
import math
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trainer_hooks.errors import GpuError, HookError
from trainer_hooks.journal import Journal
from trainer_hooks.launch.course import FREE, course, next_run
from trainer_hooks.launch.job import CANNOT_RUN, NOT_FOUND, Job
from trainer_hooks.limits import LimitSet
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.stdio import tell
from trainer_hooks.steady import steady

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from trainer_hooks.clock import Clock
    from trainer_hooks.contract import RunCalendar
    from trainer_hooks.feed import CalendarFeed
    from trainer_hooks.gpu import Gpu
    from trainer_hooks.launch.course import Course
    from trainer_hooks.metering import Metering
    from trainer_hooks.report import GovernorReport
    from trainer_hooks.telemetry import TelemetryWriter

AtHold = Literal["floor", "stop"]

_LOG = logging.getLogger("trainer_hooks")
_TICK_S = 1.0
_RECORD_S = 60.0
# What sysexits.h calls a temporary failure: the calendar had no window in which to start the command.
NEVER_RAN = 75
_ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
_FORWARDED = _ENDING | {signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT}
# SIGTTOU is blocked because a process that hands the terminal on would be stopped by it.
BLOCKED = _FORWARDED | {signal.SIGCHLD, signal.SIGTTOU}


@dataclass(frozen=True)
class Manner:
    """How a job is steered.

    Attributes:
        save_signal: Tells the job to write a checkpoint; None where it takes no such signal.
        lead_s: How long before a boundary that signal comes, s.
        grace_s: From SIGTERM to SIGKILL at an `off` window, s.
        restart: Start the command again at the next `run` window.
        at_hold: `floor` sets the lowest limit the boards take, because a job cannot be held at a step from outside;
            `stop` ends the job like an `off` window.
    """

    save_signal: signal.Signals | None = signal.SIGUSR1
    lead_s: float = 120.0
    grace_s: float = 30.0
    restart: bool = False
    at_hold: AtHold = "floor"


@dataclass(frozen=True)
class Ending:
    """What came of a session.

    Attributes:
        code: Exit code of the last command, 128 + n for signal n.
        starts: How often the command was started.
        report: Energy and times.
    """

    code: int
    starts: int
    report: GovernorReport


def _floor_w(gpus: Sequence[Gpu]) -> float | None:
    """Return the lowest limit that every board takes, W; None if one does not say."""
    try:
        ranges = [gpu.limit_range_w() for gpu in gpus]
    except GpuError:
        return None
    return None if None in ranges or not ranges else max(bounds[0] for bounds in ranges if bounds)


class Session:
    """Runs a command under a run calendar. It waits for the signals in BLOCKED, which its caller has blocked.

    Args:
        argv: The command and its arguments.
        environ: Its environment.
        mask: Signals that were blocked before, which the command gets.
        manner: How it is steered.
        feed: Where calendars come from; None lets it run free.
        run: Name of the run, for records.
        gpus: Boards to limit and to meter.
        telemetry: Where records go.
        metering: What is metered beside the boards, and how processes agree on these; None meters all boards given.
        clock: Time.
    """

    def __init__(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        mask: Iterable[int],
        manner: Manner,
        *,
        feed: CalendarFeed | None,
        run: str,
        gpus: Sequence[Gpu],
        telemetry: TelemetryWriter | None,
        metering: Metering | None = None,
        clock: Clock,
    ) -> None:
        self._argv = tuple(argv)
        self._environ = dict(environ)
        self._manner = manner
        self._feed = feed
        self._run = run
        self._said: set[str] = set()
        self._clock = steady(clock, self._say)
        self._limits = LimitSet(gpus)
        self._journal = Journal(gpus, self._clock, telemetry, metering, sees_steps=False)
        self._twins = tuple(gpu for gpu in gpus if isinstance(gpu, SimulatedGpu))
        self._floor_w = _floor_w(gpus)
        self._calendar: RunCalendar | None = None
        self._mask = mask
        self._job: Job | None = None
        self._began: datetime | None = None
        self._state = "safe"
        self._code = NEVER_RAN
        self._starts = 0
        self._saved: set[datetime] = set()
        self._kill_at_s: float | None = None
        self._told_to_end = False

    def run(self) -> Ending:
        """Run the command to its end, or to the end that the calendar sets.

        Returns:
            What came of it.
        """
        try:
            while not self._ended():
                self._wait()
        finally:
            if self._job is not None:
                self._job.clear(self._manner.grace_s, self._clock)
            self._become("exit", None)
            self._journal.close()
        return Ending(self._code, self._starts, self._journal.report(self._run, self._calendar))

    def _ended(self) -> bool:
        """Bring job and limits to where the calendar wants them; whether there is nothing more to do."""
        self._poll_feed()
        asked = self._asked()
        if self._job is not None and self._job.poll() is not None:
            if self._job_ended(self._job, asked):
                return True
            asked = self._asked()
        pause = asked.state == "off" or (asked.state == "hold" and self._manner.at_hold == "stop")
        if self._job is None:
            return self._start_or_wait(asked, pause=pause)
        if pause and self._kill_at_s is None:
            _LOG.warning(
                "gridpace: the calendar gives the GPUs back: SIGTERM, and SIGKILL %g s later.", self._manner.grace_s
            )
            self._job.send(signal.SIGTERM)
            self._job.send(signal.SIGCONT)  # a stopped job could not act on it
            self._kill_at_s = self._clock.monotonic() + self._manner.grace_s
        elif self._kill_at_s is not None and self._clock.monotonic() >= self._kill_at_s:
            _LOG.warning("gridpace: the job did not end within its grace: SIGKILL.")
            self._job.send(signal.SIGKILL)
            self._kill_at_s = math.inf
        elif self._kill_at_s is None:
            self._steer(self._job, asked)
        return False

    def _start_or_wait(self, asked: Course, *, pause: bool) -> bool:
        if self._told_to_end:
            return True
        if not pause:
            return not self._start(asked)
        coming = None if self._calendar is None else next_run(self._calendar, self._clock.wall())
        if coming is None:
            self._say("the calendar has no further window for this run.")
            return True
        self._say(f"the run waits for its window at {coming:%Y-%m-%d %H:%M:%S} UTC.")
        self._become("wait", None)
        return False

    def _start(self, asked: Course) -> bool:
        self._become(asked.state, self._limit_of(asked))
        try:
            self._job = Job(self._argv, self._environ, self._mask)
        except OSError as error:
            self._code = NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN
            tell(f"gridpace-run: {self._argv[0]}: {error.strerror}\n")
            return False
        self._starts += 1
        self._began = self._clock.wall()
        self._kill_at_s = None
        return True

    def _job_ended(self, job: Job, asked: Course) -> bool:
        self._code = job.code or 0
        job.clear(self._manner.grace_s, self._clock)
        # A job that saves and ends at our signal has done what an `off` window asks for.
        by_us = self._kill_at_s is not None or (asked.save_before in self._saved and self._code == 0)
        self._job = self._began = None
        if self._told_to_end or not by_us or not self._manner.restart:
            return True
        if self._kill_at_s is None and asked.save_before is not None:
            return self._rest_until(asked.save_before)
        return False

    def _rest_until(self, boundary: datetime) -> bool:
        """Wait out what is left before a boundary for which the job has ended already."""
        self._become("wait", None)
        while not self._told_to_end and self._clock.wall() < boundary:
            self._wait(boundary)
        return self._told_to_end

    def _steer(self, job: Job, asked: Course) -> None:
        if job.stopped:
            job.stop_with()
        self._become(asked.state, self._limit_of(asked))
        boundary = asked.save_before
        if boundary is not None and boundary not in self._saved and self._manner.save_signal is not None:
            self._saved.add(boundary)
            name = self._manner.save_signal.name
            if job.send_to_takers(self._manner.save_signal):
                self._say(f"{name} sent: a checkpoint is due before {boundary:%Y-%m-%d %H:%M:%S} UTC.")
            else:
                self._say(f"no process of the job has a handler for {name}: it cannot be told to save.")

    def _limit_of(self, asked: Course) -> float | None:
        return self._floor_w if asked.state == "hold" and asked.limit_w is None else asked.limit_w

    def _asked(self) -> Course:
        if self._calendar is None:
            return FREE
        asked = course(self._calendar, self._clock.wall(), self._manner.lead_s, self._began)
        if asked.state == "safe":
            self._say(f"calendar {self._calendar.calendar_id} is not in force: the job runs free.")
        return asked

    def _wait(self, until: datetime | None = None) -> None:
        """Sleep until a signal, the next tick or the next boundary; hand signals on."""
        wait_s = min(_TICK_S, self._limits.due_in_s())
        for moment in (until, self._asked().until):
            if moment is not None:
                wait_s = min(wait_s, (moment - self._clock.wall()).total_seconds())
        if self._kill_at_s is not None:
            wait_s = min(wait_s, self._kill_at_s - self._clock.monotonic())
        info = signal.sigtimedwait(BLOCKED, max(wait_s, 0.0))
        if info is not None:
            self._hand_on(signal.Signals(info.si_signo))
        for notice in self._limits.notices():
            _LOG.warning("gridpace: %s", notice)
        self._journal.sample()
        if self._journal.age_s() >= _RECORD_S:
            self._record()

    def _hand_on(self, number: signal.Signals) -> None:
        if number in _ENDING:
            self._told_to_end = True
            if self._job is None:
                self._code = 128 + number
        if self._job is not None and number in _FORWARDED:
            self._job.send(number)

    def _become(self, state: str, limit_w: float | None) -> None:
        """Enter a state under a power limit; what went before is written down first."""
        if (state, limit_w) != (self._state, self._limits.limit_w):
            self._record()
        elif self._limits.answered:
            return
        self._state = state
        for twin in self._twins:
            twin.set_busy(state != "wait")
        for sentence in self._limits.set(limit_w):
            self._say(sentence)

    def _poll_feed(self) -> None:
        try:
            newer = self._feed.poll() if self._feed else None
        except HookError as error:
            self._say(f"no calendar can be read: {error}")
            return
        if newer is not None:
            self._record()
            self._calendar = newer
            self._run = self._run or newer.run

    def _record(self) -> None:
        error = self._journal.cut(self._run, self._state, self._calendar, self._limits)
        if error is not None:
            self._say(f"telemetry cannot be written ({error}); records are kept and tried again.")
        for notice in self._journal.notices():
            self._say(notice)

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            _LOG.warning("gridpace: %s", sentence)
