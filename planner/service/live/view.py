"""What each view of the page says, as sentences and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from planner.export import wording
from planner.service.live.hours import HOUR, Measured, Sums, hours_between, in_hour, planned, total

if TYPE_CHECKING:
    from planner.service.live.look import Look, Open
    from trainer_hooks.contract import RunCalendar, Window

VIEWS = {
    "sustainability": "Sustainability",
    "training": "Training",
    "facilities": "Facilities",
}
NONE = "\u2013"
STALE = timedelta(hours=2)
_VERBS = {"run": "trains", "hold": "holds its GPUs", "off": "is off"}


@dataclass(frozen=True)
class Card:
    """One figure, now against plan.

    Args:
        name: What it is.
        value: As measured, with its unit; as planned where nothing is measured.
        note: What it is compared with.
        far: Whether it is off plan by more than a tenth.
    """

    name: str
    value: str
    note: str
    far: bool = False


@dataclass(frozen=True)
class RunRow:
    """One run.

    Args:
        run: Its name.
        state: What it does at the hour shown.
        until: Until when, and what then.
        done: Tokens reported of those planned up to the hour shown.
        margin: How far it is before or behind its plan, in hours.
        behind: Whether it is behind by more than an hour.
    """

    run: str
    state: str
    until: str
    done: str
    margin: str
    behind: bool


@dataclass(frozen=True)
class BlockRow:
    """One power block at the hour shown, all as planned.

    Args:
        block: Its name.
        it: IT power.
        cooling: Power of its cooling.
        imported: Power drawn from the grid.
        solar: Solar power used.
        battery: Energy in the battery at the hour's end.
        supply: Coolant supply temperature asked for.
    """

    block: str
    it: str
    cooling: str
    imported: str
    solar: str
    battery: str
    supply: str


def light(alarms: Sequence[Open], *, is_stale: bool) -> str:
    """Return the colour of what is worst: of an open alarm, or amber without telemetry; green where all is well."""
    found = {alarm.severity for alarm in alarms} | ({"amber"} if is_stale else set())
    return "red" if "red" in found else "amber" if "amber" in found else "green"


def own_first(alarms: Sequence[Open], view: str) -> tuple[Open, ...]:
    """Return the alarms, those whose owner the view is for first, red before amber."""
    return tuple(sorted(alarms, key=lambda one: (one.owner != view, one.severity != "red")))


def hour_shown(look: Look, asked: datetime | None) -> datetime:
    """Return the start of the hour that is shown: the one asked for, within the calendar; else the present one."""
    if look.calendar is None:
        return look.now.replace(minute=0, second=0, microsecond=0)
    hours = hours_between(look.calendar.valid_from, look.calendar.valid_until)
    wanted = look.now if asked is None else asked
    return max((hour for hour in hours if hour <= wanted), default=hours[0])


def stale_since(look: Look) -> datetime | None:
    """Return the end of the last telemetry where it should be newer by hours, or None."""
    if look.calendar is None or not look.calendar.valid_from < look.now < look.calendar.valid_until:
        return None
    last = max((hour.until for found in look.measured.values() for hour in found), default=look.calendar.valid_from)
    trained = sum((planned(run, last, look.now) for run in look.runs), Sums())
    return last if look.now - last > STALE and trained.energy_kwh > 0.0 else None


def cards(look: Look, hour: datetime) -> tuple[Card, ...]:
    """Return power, carbon and tokens per joule of all runs in an hour, measured against planned.

    Of an hour that is not over, both sides end with the last record.
    """
    told = in_hour(look.measured, hour)
    end = max((one.until for one in told), default=hour + HOUR)
    length_h = (end - hour) / HOUR
    plan = sum((planned(run, hour, end) for run in look.runs), Sums())
    found = total(told) if told else None
    rate = 1.0 / length_h if length_h > 0.0 else 0.0
    return (
        _card("Power of IT", plan.energy_kwh * rate, None if found is None else found.energy_kwh * rate, wording.power),
        _card(
            "Carbon an hour", plan.carbon_kg * rate, None if found is None else found.carbon_kg * rate, wording.carbon
        ),
        _card("Tokens an hour", plan.tokens * rate, None if found is None else found.tokens * rate, wording.tokens),
        _card(
            "Tokens per joule",
            plan.tokens_per_joule,
            None if found is None else found.tokens_per_joule,
            "{:.3g}".format,
        ),
    )


def run_rows(look: Look, hour: datetime) -> tuple[RunRow, ...]:
    """Return every run as it stands in an hour."""
    return tuple(_run_row(look, run, hour) for run in look.runs)


def block_rows(look: Look, hour: datetime) -> tuple[BlockRow, ...]:
    """Return what is planned of every block in the slot that begins with an hour."""
    if look.calendar is None:
        return ()
    slot = int((hour - look.calendar.valid_from) / timedelta(minutes=look.calendar.slot_minutes))
    slot = min(max(slot, 0), look.calendar.n_slots - 1)
    rows = []
    for block in look.calendar.blocks:
        asked = block.supply_setpoint_c[slot]
        rows.append(
            BlockRow(
                block.block,
                wording.power(block.it_kw[slot]),
                wording.power(block.cooling_kw[slot]),
                wording.power(block.import_kw[slot]),
                wording.power(block.solar_kw[slot]),
                wording.energy(block.battery_kwh[slot]),
                NONE if asked is None else f"{asked:.1f} \u00b0C",
            )
        )
    return tuple(rows)


def _card(name: str, plan: float | None, found: float | None, told: Callable[[float], str]) -> Card:
    if found is None:
        value = NONE if plan is None else told(plan)
        return Card(name, value, "as planned; no telemetry of this hour")
    if not plan:
        return Card(name, told(found), "nothing is planned", far=found > 0.0)
    share = found / plan - 1.0
    return Card(name, told(found), f"planned {told(plan)} ({share:+.0%})".replace("-", "\u2212"), far=abs(share) > 0.1)


def _run_row(look: Look, run: RunCalendar, hour: datetime) -> RunRow:
    at = min(max(hour, look.now), hour + HOUR - timedelta(seconds=1))
    window = run.window_at(at)
    told = look.measured.get(run.run, ())
    until = max((one.until for one in told if one.start <= hour), default=None)
    plan = Sums() if until is None else planned(run, run.valid_from, until)
    found = total(one for one in told if one.start <= hour)
    margin_h = None if until is None else _margin_h(run, plan.tokens, found.tokens)
    return RunRow(
        run.run,
        NONE if window is None else _does(window),
        NONE if window is None else _then(run, window, look),
        "no telemetry" if until is None else f"{wording.tokens(found.tokens)} of {wording.tokens(plan.tokens)}",
        NONE if margin_h is None else f"{abs(margin_h):.1f} h {'before' if margin_h >= 0 else 'behind'} plan",
        behind=margin_h is not None and margin_h < -1.0,
    )


def _margin_h(run: RunCalendar, plan: float, found: float) -> float | None:
    """Return by how many hours of its own mean rate a run is before its plan; None where it trains nowhere."""
    length_h = sum((w.end - w.start) / HOUR for w in run.windows if w.tokens > 0.0)
    tokens = sum(w.tokens for w in run.windows)
    return (found - plan) / (tokens / length_h) if tokens > 0.0 else None


def _does(window: Window) -> str:
    if window.state != "run":
        return _VERBS[window.state]
    limit = "" if window.gpu_power_limit_w is None else f" at {window.gpu_power_limit_w:.0f} W"
    return f"{_VERBS['run']}: {window.gpus} GPUs in {window.pool}{limit}"


def _then(run: RunCalendar, window: Window, look: Look) -> str:
    after = [one for one in run.windows if one.start >= window.end]
    change = next((one for one in after if _does(one) != _does(window)), None)
    if change is None:
        return "to the calendar's end"
    return f"until {wording.local(change.start, look.tz)}, then {_does(change)}"


def measured_series(look: Look, hours: Sequence[datetime]) -> list[Sums | None]:
    """Return what all runs together report of each hour; None of those without telemetry."""
    by_hour: dict[datetime, list[Measured]] = {}
    for found in look.measured.values():
        for one in found:
            by_hour.setdefault(one.start, []).append(one)
    return [total(by_hour[hour]) if hour in by_hour else None for hour in hours]
