"""The thermal report as one JSON file: every number of the page, and the slots behind them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.export.points import points
from planner.timegrid import iso, week_name
from thermal.alarms import Level
from thermal.catalogue import describe
from thermal.quantity import MEASURED

if TYPE_CHECKING:
    from planner.thermal_outlook import BlockOutlook, ThermalOutlook
    from thermal.calibrate import Balance, Score
    from thermal.derating import Derate
    from thermal.measured import AgainstPlan, Measured
    from thermal.quantity import Quantity
    from thermal.reach import Reach

SCHEMA = "gridpace.thermal-report/1"
DIGITS = 4
SERIES = (
    "it_kw", "w_max_kw", "w_max_n1_kw", "cooling_kw", "fan_kw", "pump_kw", "compressor_kw", "setpoint_temp_c",
    "supply_temp_c", "rack_return_temp_c", "case_temp_c", "air_supply_temp_c", "facility_supply_temp_c",
    "facility_return_temp_c", "sink_temp_c", "flow_l_per_min", "head_kpa", "cdu_load_share", "fan_speed",
    "water_l_per_h", "heat_taken_kw",
)  # fmt: skip
REUSE_SERIES = ("heat_sold_kw", "heat_pump_kw", "tank_kw")
"""Written only where a block sells heat or uses its tank."""
FOULING = "Trend of approach and temperature rise (fouling)"
PLAN = "Plan against what happened"


def not_measured(outlook: ThermalOutlook) -> tuple[tuple[str, str], ...]:
    """Return what facility staff look at too, and neither the model nor the readings given know, each with why."""
    found = [block.measured for block in outlook.blocks]
    trends = all(told is not None and any(t.change.value is not None for t in told.trends) for told in found)
    plan = all(told is not None and told.against_plan for told in found)
    return (
        *([] if trends else [(FOULING, "needs weeks of the loops' temperatures and flows (--telemetry)")]),
        *([] if plan else [(PLAN, "needs readings of the hours that a calendar in force plans (--telemetry)")]),
        ("Leak detection", "known to the building system's sensors alone"),
        ("UPS on the rack pumps, and their hardware trip", "known to the site alone"),
    )


def thermal_document(outlook: ThermalOutlook) -> dict[str, Any]:
    """Return the thermal report as plain values; names end in their unit, times are UTC, null is "none"."""
    grid = outlook.grid
    return {
        "schema": SCHEMA,
        "site": outlook.site,
        "week": week_name(grid.start, outlook.tz),
        "timezone": outlook.timezone,
        "issued_at": iso(outlook.issued_at),
        "valid_from": iso(grid.start),
        "valid_until": iso(grid.end),
        "slot_minutes": grid.slot_minutes,
        "slots": grid.n_slots,
        "calendar_id": outlook.calendar_id,
        "forecast_quantiles": None,
        "labels": list(outlook.labels),
        "alarms": {
            str(level): sum(alarm.level is level for block in outlook.blocks for alarm in block.report.alarms)
            for level in Level
        },
        "weather": {
            "dry_bulb_c": _series(outlook.signals.dry_bulb_c),
            "wet_bulb_c": _series(outlook.signals.wet_bulb_c),
            "tag": "modelled",
        },
        "not_measured": [{"what": what, "why": why} for what, why in not_measured(outlook)],
        "blocks": [_block(outlook, block) for block in outlook.blocks],
        "provenance": [
            asdict(entry)
            | {
                "issued_at": None if entry.issued_at is None else iso(entry.issued_at),
                "flags": dict(entry.flags),
            }
            for entry in outlook.provenance
        ],
    }


def thermal_json(document: dict[str, Any]) -> bytes:
    """Return the document as a file's content."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _block(outlook: ThermalOutlook, block: BlockOutlook) -> dict[str, Any]:
    report, starts = block.report, outlook.grid.starts
    return {
        "block": block.name,
        "plant": block.plant.kind,
        "load": block.load,
        "now": iso(starts[report.now]),
        "peak": iso(starts[report.peak]),
        "tightest": iso(starts[report.tightest]),
        "totals": {name: _quantity(quantity) for name, quantity in report.totals.items()},
        "figures": {
            span.name: {
                "now": _rounded(span.now.value),
                "peak": _rounded(span.peak.value),
                "tightest": _rounded(span.tightest.value),
                "lowest": _rounded(span.lowest.value),
                "highest": _rounded(span.highest.value),
                "unit": span.now.unit,
                "tag": span.now.tag,
            }
            for span in report.spans
        },
        "temperatures": [
            {
                "what": margin.name,
                "highest_c": _rounded(margin.highest_c),
                "limit_c": margin.limit_c,
                "margin_k": _rounded(margin.margin_k),
                "at": iso(starts[margin.slot]),
                "tag": "modelled",
            }
            for margin in report.margins
        ],
        "derates": [_derate(outlook, derate) for derate in report.derates],
        "plan_limits": [_derate(outlook, spell) for spell in report.limit_spells],
        "seconds_to_limit": [_reach(outlook, reach, report.now) for reach in report.reaches],
        "mode_hours": {mode: _quantity(quantity) for mode, quantity in report.mode_hours.items()},
        "kpis": [asdict(kpi) for kpi in report.kpis],
        "alarms": [
            {
                "name": alarm.name,
                "level": str(alarm.level),
                "told": alarm.told,
                "action": alarm.action,
                "owner": alarm.owner,
                "from": None if alarm.slot is None else iso(starts[alarm.slot]),
                "hours": alarm.hours_h,
                "tag": alarm.tag,
            }
            for alarm in report.alarms
        ],
        "measured": None if block.measured is None else _measured(block.measured),
        "points": [asdict(point) for point in points(block.plant)],
        "slots": {name: _series(getattr(report.hours, name)) for name in SERIES}
        | {name: _series(getattr(report.hours, name)) for name in REUSE_SERIES if getattr(report.hours, name).any()}
        | {name: getattr(report.hours, name).tolist() for name in ("mode", "cause", "worst_unit")}
        | {"limit_kw": _series(report.limit.it_kw), "limit_cause": report.limit.cause.tolist()},
        "plant_values": [asdict(described) for described in describe(block.plant)],
    }


def _measured(found: Measured) -> dict[str, Any]:
    def plain(row: Balance | Score | AgainstPlan) -> dict[str, Any]:
        values = asdict(row).items()
        return {name: _rounded(value) if isinstance(value, float) else value for name, value in values} | {
            "tag": MEASURED
        }

    return {
        "source": found.source,
        "span": found.span,
        "trends": {
            trend.name: {
                "latest": _rounded(trend.latest.value),
                "change_in_30_days": _rounded(trend.change.value),
                "give_or_take": _rounded(trend.give_or_take.value),
                "unit": trend.latest.unit,
                "tag": trend.latest.tag,
            }
            for trend in found.trends
        },
        "energy_balance": [plain(balance) for balance in found.balances],
        "model_against_meters": [plain(score) for score in found.scores],
        "plan_against_meters": [plain(row) for row in found.against_plan],
    }


def _derate(outlook: ThermalOutlook, derate: Derate) -> dict[str, Any]:
    grid = outlook.grid
    return {
        "from": iso(grid.starts[derate.first]),
        "until": iso(grid.start + derate.after * grid.slot),
        "hours": (derate.after - derate.first) * grid.slot_h,
        "cause": derate.cause,
        "least_kw": _rounded(derate.least_kw),
        "dry_bulb_c": _rounded(derate.hottest_dry_bulb_c),
        "wet_bulb_c": _rounded(derate.hottest_wet_bulb_c),
    }


def _reach(outlook: ThermalOutlook, reach: Reach, now: int) -> dict[str, Any]:
    reached = np.isfinite(reach.time_s).any()
    worst = int(np.nanargmin(reach.time_s)) if reached else None
    return {
        "event": str(reach.event),
        "limit_c": reach.limit_c,
        "now_s": _rounded(float(reach.time_s[now])),
        "least_s": None if worst is None else _rounded(float(reach.time_s[worst])),
        "least_at": None if worst is None else iso(outlook.grid.starts[worst]),
        "tag": "assumed",
    }


def _quantity(quantity: Quantity) -> dict[str, Any]:
    return {"value": quantity.value, "unit": quantity.unit, "tag": quantity.tag}


def _series(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [_rounded(float(value)) for value in values]


def _rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else round(value, DIGITS)
