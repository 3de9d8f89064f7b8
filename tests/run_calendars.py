"""Small run calendars, and a clock that moves only when it is told to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from trainer_hooks.calendar import BlockPlan, Calendar, Checkpoint, RunCalendar, Shortfall, State, Window
from trainer_hooks.clock import Clock

START = datetime(2024, 5, 13, tzinfo=UTC)


def second(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def window(
    start_s: float,
    end_s: float,
    state: State,
    *,
    limit_w: float | None = None,
    checkpoint: Checkpoint = "none",
    tokens: float = 0.0,
) -> Window:
    held = state != "off"
    return Window(
        start=second(start_s),
        end=second(end_s),
        state=state,
        pool="pool-a" if held else None,
        block="block-1" if held else None,
        gpus=8 if held else 0,
        gpu_power_limit_w=limit_w,
        checkpoint=checkpoint,
        tokens=tokens,
        energy_kwh=1.5 if held else 0.0,
        kgco2e=0.25 if held else 0.0,
        why="cheap and green" if held else "the evening peak",
    )


def run_calendar(*windows: Window, run: str = "llm-8b", calendar_id: str = "c0ffee") -> RunCalendar:
    return RunCalendar(calendar_id, START, windows[0].start, windows[-1].end, "lab", run, windows)


def two_hours(*runs: str, calendar_id: str = "c0ffee") -> tuple[Calendar, tuple[RunCalendar, ...]]:
    """A header of two one-hour slots with a run and an off window for each run."""
    windows = (
        window(0, 3600, "run", limit_w=500.0, checkpoint="after", tokens=3.6e9),
        window(3600, 7200, "off", checkpoint="before"),
    )
    calendars = tuple(run_calendar(*windows, run=run, calendar_id=calendar_id) for run in runs)
    header = Calendar(
        calendar_id=calendar_id,
        issued_at=START,
        valid_from=START,
        valid_until=second(7200),
        site="lab",
        timezone="Europe/Berlin",
        slot_minutes=60,
        n_slots=2,
        inputs={"price": {"version": "1", "sha256": "ab" * 32}, "carbon": {"sha256": "cd" * 32}},
        status="optimal",
        certified_gap=0.004,
        shortfalls=(Shortfall("llm-8b", "warm-up", second(3600), 1e6, 0.5, "warm-up is 0.5 h late"),),
        blocks=(
            BlockPlan(
                block="block-1",
                it_kw=(8.0, 0.0),
                cooling_kw=(0.8, 0.0),
                facility_kw=(9.0, 0.2),
                import_kw=(7.0, 0.2),
                solar_kw=(2.0, 0.0),
                charge_kw=(0.0, 0.0),
                discharge_kw=(0.0, 0.0),
                battery_kwh=(0.0, 0.0),
                supply_setpoint_c=(None, 32.0),
            ),
        ),
        notes=("synthetic data",),
    )
    return header, calendars


@dataclass
class ManualClock:
    """Wall and monotonic clock in step; sleeping moves both."""

    now_s: float = 0.0
    slept_s: list[float] = field(default_factory=list)

    def sleep(self, duration_s: float) -> None:
        self.slept_s.append(duration_s)
        self.now_s += duration_s

    @property
    def clock(self) -> Clock:
        return Clock(wall=lambda: second(self.now_s), monotonic=lambda: self.now_s, sleep=self.sleep)
