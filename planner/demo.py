"""The loop closed without network and GPU: a made-up week planned, followed by simulated training, laid side by side.

Each run trains in virtual time under the real Governor on simulated GPUs whose curve is that of its pool, so that their
power is IT power per GPU. It differs from the plan as training does: each run is up to 2 % faster or slower, saves a
checkpoint every hour of its own accord, and the run with the most work is interrupted once and falls back to its last
checkpoint. All of it is drawn from fixed seeds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from planner.bundled import data_dir
from planner.config import load_site
from planner.export import wording
from planner.export.files import write_files
from planner.export.report import report_html
from planner.folders import LEDGER, REPORT
from planner.gather import gather
from planner.pipeline import plan_week, with_telemetry, write_outcome
from planner.site_options import site_options
from planner.timegrid import iso_week, zone
from trainer_hooks.clock import Clock
from trainer_hooks.governor import Governor
from trainer_hooks.simulated import CurvePoint, SimulatedGpu
from trainer_hooks.telemetry import TelemetryWriter

if TYPE_CHECKING:
    from planner.ledger import Intake
    from planner.outcome import Outcome
    from planner.run import Run
    from planner.week import Week
    from trainer_hooks.contract import RunCalendar

SITE = "lab-8gpu.toml"
FOLLOWED_H = 72.0
_TIME_LIMIT_S = 30.0
_STEP_S = 20.0
_OWN_CHECKPOINT_S = 3600.0
_SPEED_SPREAD = 0.02
_RECORD_S = 900.0


@dataclass(frozen=True)
class Demo:
    """What the demo did.

    Args:
        outcome: The planned week, with the accounts of the hours that were followed.
        intake: What the ledger took in.
        files: What was written: name -> path.
    """

    outcome: Outcome
    intake: Intake
    files: dict[str, str]


def demo(folder: Path, stage: Callable[[str], AbstractContextManager[None]]) -> Demo:
    """Plan the demo week, follow its first days in virtual time, and take the telemetry in.

    Args:
        folder: Folder to write into; made if absent.
        stage: Told what is being done.

    Raises:
        ExportError: The disk refused.
    """
    site = load_site(data_dir() / "sites" / SITE)
    assert site.horizon.week is not None
    start = iso_week(site.horizon.week, zone(site.place.timezone), site.horizon.slot_minutes).start
    issued_at = start - timedelta(hours=6)
    with stage("gathering the made-up week"):
        week = gather(site, now=issued_at, issued_at=issued_at, offline=True)
    outcome, found = plan_week(week, site_options(site, time_limit_s=_TIME_LIMIT_S), stage)
    told = write_outcome(folder, outcome, found)
    telemetry = folder / "telemetry" / outcome.calendar.calendar_id
    with stage(f"training in virtual time through the first {FOLLOWED_H:.0f} h"):
        follow_week(week, outcome.runs, telemetry, week.grid.start + timedelta(hours=FOLLOWED_H))
    with stage("taking in the telemetry"):
        outcome, intake = with_telemetry(outcome, folder / LEDGER, telemetry)
        write_files({folder / REPORT: report_html(outcome)})
    return Demo(outcome, intake, told["files"])


def follow_week(week: Week, runs: Sequence[RunCalendar], telemetry: Path, until: datetime) -> None:
    """Train every run of a week under its calendar, each in its own virtual time.

    Args:
        week: The inputs.
        runs: The windows of every run.
        telemetry: Folder for the telemetry; files of an earlier call are replaced.
        until: Instant at which the training is let go, UTC.
    """
    telemetry.mkdir(parents=True, exist_ok=True)
    for file in telemetry.glob("*.jsonl"):
        file.unlink()
    planned = {run.run: sum(w.tokens for w in run.windows if w.end <= until) for run in runs}
    interrupted = max(planned, key=lambda name: planned[name])
    for calendar in runs:
        _Training(week, calendar, telemetry, until, is_interrupted=calendar.run == interrupted).follow()


class _VirtualTime:
    """Time that passes only when it is told to."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self.passed_s = 0.0

    def wall(self) -> datetime:
        return self._start + timedelta(seconds=self.passed_s)

    def monotonic(self) -> float:
        return self.passed_s

    def advance(self, duration_s: float) -> None:
        self.passed_s += duration_s

    def advance_to(self, t: datetime) -> None:
        self.passed_s = max(self.passed_s, (t - self._start).total_seconds())

    def clock(self) -> Clock:
        return Clock(self.wall, self.monotonic, self.advance)


class _Training:
    """A training loop that follows its calendar: started for each spell, ended by its Governor."""

    def __init__(
        self, week: Week, calendar: RunCalendar, telemetry: Path, until: datetime, *, is_interrupted: bool
    ) -> None:
        self._calendar = calendar
        self._telemetry = telemetry
        self._until = until
        self._run: Run = week.run(calendar.run)
        self._week = week
        self._time = _VirtualTime(week.grid.start)
        draw = random.Random(f"gridpace demo {calendar.run}")  # noqa: S311 - a reproducible draw, no secret
        self._speed = 1.0 + draw.uniform(-_SPEED_SPREAD, _SPEED_SPREAD)
        self._position = self._saved = 0
        self._saved_at_s = 0.0
        self._interruption_due = is_interrupted
        self._wanted_tokens = week.work_tokens(self._run)

    def follow(self) -> None:
        """Train until the calendar has no more windows, the work is done, or time is up."""
        for job, start in enumerate(self._spell_starts()):
            if start >= self._until or self._position >= self._wanted_tokens:
                break
            self._time.advance_to(start)
            self._train(job)

    def _spell_starts(self) -> list[datetime]:
        windows = self._calendar.windows
        held = [(window.state, window.pool, window.gpus) for window in windows]
        pairs = zip(windows, held, [None, *held[:-1]], strict=True)
        return [window.start for window, now, before in pairs if window.state == "run" and now != before]

    def _train(self, job: int) -> None:
        window = self._calendar.window_at(self._time.wall())
        assert window is not None
        option = self._run.option(str(window.pool), window.gpus)
        assert option is not None
        idle_w = self._week.pool(option.pool).gpu.idle_w_per_gpu
        curve = [CurvePoint(p.gpu_power_limit_w, p.it_w_per_gpu, p.relative_throughput) for p in option.points]
        gpus = [
            SimulatedGpu(curve, monotonic=self._time.monotonic, uuid=f"GPU-simulated-{i}", idle_power_w=idle_w)
            for i in range(window.gpus)
        ]
        writer = f"demo-{self._calendar.calendar_id}-{quote(self._run.name, safe='')[:60]}-{job}"
        for gpu in gpus:
            gpu.set_busy(True)
        with Governor(
            calendar=self._calendar,
            gpus=gpus,
            clock=self._time.clock(),
            telemetry=TelemetryWriter(self._telemetry, self._run.name, writer),
            record_s=_RECORD_S,
            save_lead_s=self._run.checkpoint_s,
            strict=True,
        ) as governor:
            governor.resume_at(self._position)
            goes_on = job == 0 and self._run.runs_on(option.pool, window.gpus) and self._time.passed_s == 0.0
            governor.step(tokens=0, save=self._save)
            self._time.advance(0.0 if goes_on else self._run.reload_s)
            self._saved_at_s = self._time.passed_s
            full_tokens_per_s = window.gpus * option.tokens_per_gpu_s * self._speed
            while self._time.wall() < self._until and self._position < self._wanted_tokens:
                self._time.advance(_STEP_S)
                tokens = round(full_tokens_per_s * gpus[0].relative_throughput() * _STEP_S)
                self._position += tokens
                if governor.step(tokens=tokens, save=self._save):
                    break
                self._own_checkpoint()
                self._interruption(governor)

    def _save(self) -> None:
        self._time.advance(self._run.checkpoint_s)
        self._saved, self._saved_at_s = self._position, self._time.passed_s

    def _own_checkpoint(self) -> None:
        if self._time.passed_s - self._saved_at_s >= _OWN_CHECKPOINT_S:
            self._save()

    def _interruption(self, governor: Governor) -> None:
        half_an_hour_of_work = self._time.passed_s - self._saved_at_s >= _OWN_CHECKPOINT_S / 2
        if not (self._interruption_due and self._saved and half_an_hour_of_work):
            return
        self._interruption_due = False
        governor.rollback(self._saved)
        self._position = self._saved
        self._time.advance(self._run.reload_s)


def demo_table(done: Demo) -> Any:
    """Return plan and telemetry side by side as a table for a terminal (`rich.table.Table`).

    Args:
        done: What the demo did.
    """
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    accounts = done.outcome.accounts
    energy_kwh = (sum(a.planned_energy_kwh for a in accounts), sum(a.energy_kwh for a in accounts))
    tokens = (sum(a.planned_tokens for a in accounts), sum(a.tokens for a in accounts))
    carbon_kg = (sum(a.planned_carbon_kg for a in accounts), sum(a.carbon_kg for a in accounts))
    per_joule = (_per_joule(tokens[0], energy_kwh[0]), _per_joule(tokens[1], energy_kwh[1]))
    table = Table(box=SIMPLE_HEAD, show_footer=True, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", footer="all runs", no_wrap=True, max_width=16)
    for name, sums, tell in (
        ("\ntokens", tokens, wording.tokens),
        ("\nkWh", energy_kwh, wording.number),
        ("tokens\nper J", per_joule, wording.number),
        ("kg\nCO2e", carbon_kg, wording.number),
    ):
        for kind, value in zip(("plan", "real"), sums, strict=True):
            table.add_column(f"{name}\n{kind}", footer=tell(value), justify="right")
    table.add_column("\nas\nplan", justify="right")
    for a in accounts:
        table.add_row(
            escape(a.run),
            wording.tokens(a.planned_tokens),
            wording.tokens(a.tokens),
            wording.number(a.planned_energy_kwh),
            wording.number(a.energy_kwh),
            wording.number(a.planned_tokens_per_joule or 0.0),
            wording.number(a.tokens_per_joule or 0.0),
            wording.number(a.planned_carbon_kg),
            wording.number(a.carbon_kg),
            "" if a.adherence is None else wording.percent(a.adherence, 0),
        )
    return table


def _per_joule(tokens: float, energy_kwh: float) -> float:
    return tokens / (energy_kwh * 3.6e6) if energy_kwh > 0 else 0.0
