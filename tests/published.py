"""Small published calendars for tests: one day, one block, windows given by their hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from trainer_hooks.contract import BlockPlan, Calendar, RunCalendar, Window

START = datetime(2024, 5, 13, tzinfo=UTC)
CALENDAR_ID = "0123456789abcdef01234567"


def header(start: datetime = START, **changes) -> Calendar:
    """A day of 24 hourly slots in Berlin, issued 12 h before."""
    given = {
        "calendar_id": CALENDAR_ID,
        "issued_at": start - timedelta(hours=12),
        "valid_from": start,
        "valid_until": start + timedelta(hours=24),
        "site": "site",
        "timezone": "Europe/Berlin",
        "slot_minutes": 60,
        "n_slots": 24,
        "inputs": {},
        "status": "optimal",
        "certified_gap": 0.01,
        "shortfalls": (),
        "blocks": (BlockPlan("hall", *[tuple(float(i) for i in range(24))] * 8, (None,) * 24),),
    }
    return Calendar(**(given | changes))


def run(name: str, windows: tuple[Window, ...], start: datetime = START) -> RunCalendar:
    """The calendar of a run in `header(start)`."""
    return RunCalendar(
        CALENDAR_ID, start - timedelta(hours=12), start, start + timedelta(hours=24), "site", name, windows
    )


def on(first_h: float, end_h: float, limit_w: float = 700.0, *, start: datetime = START, **changes) -> Window:
    """A window in which eight GPUs train: 1e6 tokens, 10 kWh and 2 kg an hour."""
    hours = end_h - first_h
    given = {
        "start": start + timedelta(hours=first_h),
        "end": start + timedelta(hours=end_h),
        "state": "run",
        "pool": "a1",
        "block": "hall",
        "gpus": 8,
        "gpu_power_limit_w": limit_w,
        "checkpoint": "none",
        "tokens": 1e6 * hours,
        "energy_kwh": 10.0 * hours,
        "kgco2e": 2.0 * hours,
        "why": "clean hours",
    }
    return Window(**(given | changes))


def off(first_h: float, end_h: float, *, start: datetime = START) -> Window:
    """A window in which the GPUs are given back."""
    return Window(
        start + timedelta(hours=first_h),
        start + timedelta(hours=end_h),
        "off",
        None,
        None,
        0,
        None,
        "none",
        0.0,
        0.0,
        0.0,
        "paused",
    )
