"""What must hold inside a run calendar, beyond the types of its keys."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from trainer_hooks.codec import OPTIONAL_SERIES, PPA_SERIES, SERIES
from trainer_hooks.contract import (
    CHECKPOINTS,
    STATES,
    BlockPlan,
    Calendar,
    CarbonBudgetPlan,
    ContractPlan,
    GeneratorPlan,
    PpaPlan,
    RunCalendar,
    Shortfall,
    Window,
)
from trainer_hooks.errors import CalendarError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAKE_AGAIN = "Make the calendar again; a calendar that breaks this rule is never followed."


def check_id(calendar_id: str, subject: str) -> None:
    """Refuse an id that could not name a folder safely.

    Raises:
        CalendarError: The id is empty, too long, or holds more than letters, digits, `-` and `_`.
    """
    if not _ID.fullmatch(calendar_id):
        raise CalendarError(
            subject,
            f"the calendar id {calendar_id[:40]!r} must be 1 to 128 letters, digits, '-' or '_'.",
            _MAKE_AGAIN,
        )


def check_run(run: RunCalendar, subject: str) -> None:
    """Refuse windows that a hook could not follow.

    Args:
        run: The run's calendar.
        subject: File, or name of the run, used in errors.

    Raises:
        CalendarError: Naming the window: not UTC, empty, out of order, overlapping, with a gap, outside the
            validity, GPUs that do not fit the state, or a negative or non-finite number.
    """

    def refuse(where: str, why: str) -> CalendarError:
        return CalendarError(f"{subject}, {where}", why, _MAKE_AGAIN)

    _check_header(run.calendar_id, run.issued_at, run.valid_from, run.valid_until, subject)
    if not run.run:
        raise refuse("key run", "the run has no name.")
    if not run.windows:
        raise refuse("key windows", "there are none, but windows must cover valid_from to valid_until.")
    expected = run.valid_from
    for position, window in enumerate(run.windows):
        where = f"windows[{position}]"
        _check_times((window.start, window.end), f"{subject}, {where}")
        if window.end <= window.start:
            raise refuse(where, f"it ends at {window.end} but starts at {window.start}.")
        if window.start != expected:
            fault = "overlaps the one before or is out of order" if window.start < expected else "leaves a gap"
            raise refuse(where, f"it {fault}: it starts at {window.start}, not at {expected}.")
        why = _fault_of(window)
        if why:
            raise refuse(where, why)
        expected = window.end
    if expected != run.valid_until:
        raise refuse("key windows", f"the last ends at {expected}, but valid_until is {run.valid_until}.")


def _fault_of(window: Window) -> str:
    limit = window.gpu_power_limit_w
    held = window.gpus >= 1 and window.pool is not None and window.block is not None
    faults = (
        (window.state not in STATES, f"state {window.state!r} is not one of {', '.join(STATES)}."),
        (
            window.checkpoint not in CHECKPOINTS,
            f"checkpoint {window.checkpoint!r} is not one of {', '.join(CHECKPOINTS)}.",
        ),
        (window.checkpoint == "after" and window.state != "run", "checkpoint 'after' belongs to a run window."),
        (
            window.checkpoint == "before" and window.state == "run",
            "checkpoint 'before' belongs to a hold or off window.",
        ),
        (window.state == "off" and window.gpus != 0, f"state 'off' gives all GPUs back, but gpus is {window.gpus}."),
        (window.state != "off" and not held, f"state {window.state!r} needs at least 1 GPU, a pool and a block."),
        (not 0 <= window.tokens < math.inf, f"tokens is {window.tokens}, but must be finite and not negative."),
        (
            not 0 <= window.energy_kwh < math.inf,
            f"energy_kwh is {window.energy_kwh} kWh, but must be finite and not negative.",
        ),
        (not math.isfinite(window.kgco2e), f"kgco2e is {window.kgco2e} kg, but must be finite."),
        (
            limit is not None and not 0 < limit < math.inf,
            f"gpu_power_limit_w is {limit} W, but must be finite and above 0 W.",
        ),
    )
    return next((why for broken, why in faults if broken), "")


def check_calendar(calendar: Calendar, subject: str) -> None:
    """Refuse a header whose parts do not fit each other.

    Args:
        calendar: The header.
        subject: File, or name of the calendar, used in errors.

    Raises:
        CalendarError: Naming the key: slots that do not fill the validity, series of the wrong length, numbers
            that are not finite, runs or blocks named twice, or malformed hashes.
    """

    def refuse(where: str, why: str) -> CalendarError:
        return CalendarError(f"{subject}, key {where}", why, _MAKE_AGAIN)

    _check_header(calendar.calendar_id, calendar.issued_at, calendar.valid_from, calendar.valid_until, subject)
    if calendar.slot_minutes < 1 or calendar.n_slots < 1:
        raise refuse("n_slots", f"{calendar.n_slots} slots of {calendar.slot_minutes} min are not possible.")
    minutes = (calendar.valid_until - calendar.valid_from) / timedelta(minutes=1)
    if minutes != calendar.slot_minutes * calendar.n_slots:
        raise refuse(
            "n_slots",
            f"{calendar.n_slots} slots of {calendar.slot_minutes} min do not fill the {minutes:g} min of validity.",
        )
    if calendar.certified_gap is not None and not 0 <= calendar.certified_gap < math.inf:
        raise refuse("certified_gap", f"{calendar.certified_gap} must be finite and not negative.")
    faults = [(f"blocks[{i}]", _fault_of_block(plan, calendar.n_slots)) for i, plan in enumerate(calendar.blocks)]
    faults += [(f"ppas[{i}]", _fault_of_ppa(plan, calendar.n_slots)) for i, plan in enumerate(calendar.ppas)]
    faults += [
        (f"contracts[{i}]", _fault_of_contract(plan, calendar.n_slots)) for i, plan in enumerate(calendar.contracts)
    ]
    faults.append(("carbon_budget", _fault_of_budget(calendar.carbon_budget)))
    for where, why in faults:
        if why:
            raise refuse(where, why)
    _check_shortfalls(calendar.shortfalls, subject)
    malformed = [entry.run for entry in calendar.runs if not _SHA256.fullmatch(entry.sha256)]
    if malformed:
        raise refuse("runs", f"the sha256 of run {malformed[0]!r} must be 64 lower-case hexadecimal digits.")
    for where, names in (
        ("blocks", [plan.block for plan in calendar.blocks]),
        ("runs", [entry.run for entry in calendar.runs]),
        ("ppas", [agreement.ppa for agreement in calendar.ppas]),
        ("contracts", [contract.contract for contract in calendar.contracts]),
    ):
        twins = _fault_of_names(names)
        if twins:
            raise refuse(where, twins)


def _check_shortfalls(shortfalls: Iterable[Shortfall], subject: str) -> None:
    for position, short in enumerate(shortfalls):
        where = f"{subject}, key shortfalls[{position}]"
        _check_times((short.deadline,), where)
        if not (math.isfinite(short.tokens_short) and math.isfinite(short.hours_short)):
            raise CalendarError(where, "tokens_short and hours_short must be finite.", _MAKE_AGAIN)


def _fault_of_block(plan: BlockPlan, n_slots: int) -> str:
    series: dict[str, Iterable[float | None]] = {name: getattr(plan, name) for name in SERIES}
    series["supply_setpoint_c"] = plan.supply_setpoint_c
    series |= {name: getattr(plan, name) for name in OPTIONAL_SERIES if getattr(plan, name)}
    faults = [_fault_of_series(name, tuple(values), n_slots) for name, values in series.items()]
    faults += [_fault_of_generator(group, n_slots) for group in plan.generators]
    faults.append(_fault_of_names([group.generator for group in plan.generators], "generators' names"))
    return next(filter(None, faults), "")


def _fault_of_names(names: Sequence[str], kind: str = "names") -> str:
    twins = len(names) - len(set(names))
    return f"{twins} of its {kind} stand there more than once." if twins else ""


def _fault_of_generator(plan: GeneratorPlan, n_slots: int) -> str:
    if any(units < 0 for units in plan.units_on):
        return f"generator {plan.generator!r} runs fewer than no units."
    return _fault_of_series("units_on", plan.units_on, n_slots) or _fault_of_series(
        "generation_kw", plan.generation_kw, n_slots
    )


def _fault_of_ppa(plan: PpaPlan, n_slots: int) -> str:
    return next(filter(None, (_fault_of_series(name, getattr(plan, name), n_slots) for name in PPA_SERIES)), "")


def _fault_of_contract(plan: ContractPlan, n_slots: int) -> str:
    why = _fault_of_series("take_kw", plan.take_kw, n_slots)
    if why or 0 <= plan.bought_share <= 1:
        return why
    return f"bought_share is {plan.bought_share}, but must be from 0 to 1."


def _fault_of_budget(plan: CarbonBudgetPlan | None) -> str:
    if plan is not None and not (0 <= plan.most_kg < math.inf and math.isfinite(plan.planned_kg)):
        return f"most_kg is {plan.most_kg} and planned_kg {plan.planned_kg}: finite numbers, the budget not negative."
    return ""


def _fault_of_series(name: str, values: Sequence[float | None], n_slots: int) -> str:
    if len(values) != n_slots:
        return f"{name} has {len(values)} entries for {n_slots} slots."
    if not all(value is None or math.isfinite(value) for value in values):
        return f"{name} holds a number that is not finite."
    return ""


def _check_header(calendar_id: str, issued: datetime, start: datetime, end: datetime, subject: str) -> None:
    check_id(calendar_id, subject)
    _check_times((issued, start, end), subject)
    if end <= start:
        raise CalendarError(subject, f"valid_until {end} is not after valid_from {start}.", _MAKE_AGAIN)


def _check_times(times: Iterable[datetime], subject: str) -> None:
    for time in times:
        if time.tzinfo is None or time.utcoffset() != timedelta(0):
            raise CalendarError(subject, f"the time {time} must be timezone-aware UTC.", _MAKE_AGAIN)
