"""The plan as two tables: one row per window of a run, one row per block and slot.

Headers carry their units and stay as they are; times stand in UTC and in site time with its offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from planner.export.spreadsheet import csv_bytes, text_cell
from planner.timegrid import iso, zone

if TYPE_CHECKING:
    from trainer_hooks.contract import BlockPlan, Calendar, RunCalendar

WINDOW_COLUMNS = (
    "calendar_id",
    "run",
    "state",
    "start_utc",
    "end_utc",
    "start_local",
    "end_local",
    "duration_h",
    "block",
    "pool",
    "gpus",
    "gpu_power_limit_w",
    "checkpoint",
    "tokens",
    "energy_kwh",
    "carbon_kg",
    "why",
    "notes",
)
REUSE_COLUMNS = ("cold_kwh_th", "fill_kw_th", "draw_kw_th", "heat_sold_kw_th", "heat_pump_kw")
SLOT_COLUMNS = (
    "calendar_id",
    "block",
    "start_utc",
    "end_utc",
    "start_local",
    "end_local",
    "it_kw",
    "cooling_kw",
    "facility_kw",
    "import_kw",
    "solar_kw",
    "charge_kw",
    "discharge_kw",
    "battery_end_kwh",
    "supply_setpoint_c",
    "notes",
)
OWN_COLUMNS = ("wind_kw", "generation_kw", "export_kw")
"""Stand before the notes in the table of a site of which any block has wind, generators or export."""

Cell = str | float | int | None


def windows_csv(calendar: Calendar, runs: Sequence[RunCalendar]) -> bytes:
    """Return one row per window of each run, UTF-8.

    Args:
        calendar: The header.
        runs: The windows of every run.
    """
    tz = zone(calendar.timezone)
    notes = " ".join(calendar.notes)

    def rows() -> Iterable[tuple[Cell, ...]]:
        for run in runs:
            for window in run.windows:
                yield (
                    calendar.calendar_id,
                    run.run,
                    window.state,
                    iso(window.start),
                    iso(window.end),
                    window.start.astimezone(tz).isoformat(),
                    window.end.astimezone(tz).isoformat(),
                    (window.end - window.start) / timedelta(hours=1),
                    window.block,
                    window.pool,
                    window.gpus,
                    window.gpu_power_limit_w,
                    window.checkpoint,
                    window.tokens,
                    window.energy_kwh,
                    window.kgco2e,
                    window.why,
                    notes,
                )

    return _table(WINDOW_COLUMNS, rows())


def slots_csv(calendar: Calendar) -> bytes:
    """Return one row per block and slot, UTF-8; power is the slot's mean, states are those at its end.

    Where a block has a tank or sells heat, the columns of these stand behind all others, empty for blocks without.

    Args:
        calendar: The header.
    """
    tz = zone(calendar.timezone)
    notes = " ".join(calendar.notes)
    reused = any(getattr(plan, name) for plan in calendar.blocks for name in REUSE_COLUMNS)
    more = REUSE_COLUMNS if reused else ()
    slot = timedelta(minutes=calendar.slot_minutes)
    edges = [calendar.valid_from + i * slot for i in range(calendar.n_slots + 1)]

    def times(start: datetime, end: datetime) -> tuple[str, str, str, str]:
        return iso(start), iso(end), start.astimezone(tz).isoformat(), end.astimezone(tz).isoformat()

    owns = any(plan.wind_kw or plan.export_kw or plan.generators for plan in calendar.blocks)

    def rows() -> Iterable[tuple[Cell, ...]]:
        for plan in calendar.blocks:
            series: list[Sequence[float | None]] = [
                plan.it_kw,
                plan.cooling_kw,
                plan.facility_kw,
                plan.import_kw,
                plan.solar_kw,
                plan.charge_kw,
                plan.discharge_kw,
                plan.battery_kwh,
                plan.supply_setpoint_c,
                *(_own_series(plan) if owns else ()),
            ]
            reuse = [getattr(plan, name) or (None,) * calendar.n_slots for name in more]
            for i, values in enumerate(zip(*series, strict=True)):
                of_reuse = (values_of[i] for values_of in reuse)
                yield (calendar.calendar_id, plan.block, *times(edges[i], edges[i + 1]), *values, notes, *of_reuse)

    columns = (*SLOT_COLUMNS[:-1], *OWN_COLUMNS, SLOT_COLUMNS[-1]) if owns else SLOT_COLUMNS
    return _table((*columns, *more), rows())


def _own_series(plan: BlockPlan) -> tuple[Sequence[float], ...]:
    """Return the series of OWN_COLUMNS, zeros of what the block has not."""
    still = (0.0,) * len(plan.it_kw)
    made = [sum(kw) for kw in zip(*(group.generation_kw for group in plan.generators), strict=True)]
    return plan.wind_kw or still, made or still, plan.export_kw or still


def _table(columns: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> bytes:
    return csv_bytes(columns, ([_cell(value) for value in row] for row in rows))


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return text_cell(value)
    if isinstance(value, int):
        return str(value)
    # Repr of a rounded float: the shortest text that reads back the same, without noise in the last digits.
    return repr(round(value, 6)).removesuffix(".0")
