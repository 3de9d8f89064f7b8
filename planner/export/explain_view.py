"""An explained plan as words and rows: the command prints them, the report lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.export import wording
from planner.timegrid import iso

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from planner.optimize.explain import Explanation
    from planner.optimize.fixed import Worth
    from planner.optimize.mends import Mend, Unkept
    from planner.optimize.whythen import Hours, WhyThen
    from planner.optimize.worth import ChangeWorth, HourPrice
    from planner.week import Week

MW = 1000.0
SHOWN = 8  # dearest hours of a block
SMALL = 5e-4  # money and kg below it are told as nothing
POWER_HEADS = (
    "Block",
    "Hour",
    "Worth of the first {unit}",
    "Paid less",
    "Carbon less",
    "Late less",
    "Holds for",
    "{step} in all",
)
CHANGE_HEADS = ("What", "Worth", "Paid less", "Carbon less", "Late less", "Rests on")


@dataclass(frozen=True)
class Table:
    """One table: heads and rows."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def power_tables(explanation: Explanation, week: Week) -> tuple[Table, ...]:
    """Return one table per block: its dearest hours, and what more power in them would be worth."""
    tables = []
    for block in week.blocks:
        priced = [p for p in explanation.hours if p.block == block.name][:SHOWN]
        if priced:
            step_kw = priced[0].step_kw
            unit = "MW" if step_kw >= MW else "kW"
            heads = tuple(h.format(unit=unit, step=wording.power(step_kw)) for h in POWER_HEADS)
            tables.append(Table(heads, tuple(_power_row(p, week, MW if unit == "MW" else 1.0) for p in priced)))
    return tuple(tables)


def power_note(explanation: Explanation, week: Week) -> str:
    """Return what is said where power in no hour would be worth more."""
    more = len(explanation.hours)
    if not more:
        return "More power in a block would be worth nothing in these hours: none holds the plan back."
    shown = sum(len(table.rows) for table in power_tables(explanation, week))
    return f"{shown} of {more} hours in which more power would be worth something." if shown < more else ""


def load_lines(explanation: Explanation, week: Week) -> tuple[str, ...]:
    """Return what a kilowatt-hour more of load costs: in the hour asked about, or the dearest and cheapest hours."""
    lines = []
    for block in week.blocks:
        prices = [p for p in explanation.load if p.block == block.name]
        if not prices:
            continue
        ranked = sorted(prices, key=lambda p: (p.per_kwh.total, p.slot))
        for word, one in (("least", ranked[0]), ("most", ranked[-1])) if len(ranked) > 1 else (("", ranked[0]),):
            word_told = f" {word}" if word else ""
            lines.append(
                f"A kWh more of load in block {block.name!r} costs{word_told} at {_slot(week, one.slot)}: "
                f"{_amount(one.per_kwh.total, week)}, {wording.number(one.per_kwh.carbon_kg)} kg CO2e"
            )
    return tuple(lines)


def change_table(explanation: Explanation, week: Week) -> Table:
    """Return what changes of the week would be worth."""
    return Table(CHANGE_HEADS, tuple(_change_row(c, week) for c in explanation.changes))


def why_lines(explanation: Explanation, week: Week) -> tuple[str, ...]:
    """Return one sentence per run: its hours, and what its best other hours would have cost."""
    return tuple(_why(why, week) for why in explanation.why)


def unkept_lines(explanation: Explanation, week: Week) -> tuple[str, ...]:
    """Return one sentence per promise not kept, with what would do."""
    if explanation.mended is None:
        return ()
    lines = [_unkept(one, week) for one in explanation.mended.unkept]
    if explanation.mended.together:
        lines.append(f"All of them would be kept by: {_either(explanation.mended.together)}.")
    return tuple(lines)


def lines(explanation: Explanation, week: Week) -> tuple[str, ...]:
    """Return the whole explanation as lines of text."""
    found: list[str] = []
    for table in power_tables(explanation, week):
        found += ["", *_columns(table)]
    note = power_note(explanation, week) if explanation.asked.kind != "run" or explanation.hours else ""
    found += ["", note] if note else []
    found += load_lines(explanation, week)
    changes = change_table(explanation, week)
    if changes.rows:
        found += ["", *_columns(changes)]
    for told in (why_lines(explanation, week), unkept_lines(explanation, week)):
        if told:
            found += ["", *told]
    return tuple(found[1:] if found and not found[0] else found)


def document(explanation: Explanation, week: Week) -> dict[str, Any]:
    """Return the explanation as one JSON object."""
    mended = explanation.mended
    return {
        "asked": {"kind": explanation.asked.kind, "name": explanation.asked.name},
        "currency": week.prices.currency,
        "plan": _json(explanation.worth),
        "power": [
            {
                "block": p.block,
                "slot": iso(week.grid.starts[p.slot]),
                "per_kw": _json(p.per_kw),
                "holds_kw": p.holds_kw,
                "step_kw": p.step_kw,
                "step": None if p.step is None else _json(p.step),
            }
            for p in explanation.hours
        ],
        "load": [
            {"block": p.block, "slot": iso(week.grid.starts[p.slot]), "per_kwh": _json(p.per_kwh)}
            for p in explanation.load
        ],
        "changes": [
            {
                "change": c.told,
                "of": {"kind": c.subject[0], "name": c.subject[1]},
                "worth": None if c.worth is None else _json(c.worth),
                "at_most": c.at_most,
                "reason": c.reason,
            }
            for c in explanation.changes
        ],
        "why": [
            {
                "run": w.run,
                "now": _hours_json(w.now, week),
                "then": None if w.then is None else _hours_json(w.then, week),
                "more": None if w.more is None else _json(w.more),
                "unproven": w.unproven,
                "binds": list(w.binds),
                "sentence": _why(w, week),
            }
            for w in explanation.why
        ],
        "unkept": None
        if mended is None
        else [
            {
                "run": u.promise.run,
                "stage": u.promise.stage,
                "hours_short": u.hours_short,
                "possible": u.possible,
                "clash": [{"run": p.run, "stage": p.stage} for p in u.clash],
                "mends": [m.told for m in u.mends],
                "sentence": _unkept(u, week),
            }
            for u in mended.unkept
        ],
        "mends_of_all": None if mended is None else [m.told for m in mended.together],
    }


def _json(worth: Worth) -> dict[str, float]:
    return {
        "total": worth.total,
        "paid": worth.paid,
        "carbon_kg": worth.carbon_kg,
        "lateness": worth.lateness,
        "over_budget": worth.over_budget,
    }


def _hours_json(hours: Hours, week: Week) -> dict[str, Any]:
    starts = (*week.grid.starts, week.grid.end)
    told = [{"start": iso(starts[a]), "end": iso(starts[b])} for a, b in hours.spells]
    held = ({"pool": stay.pool, "gpus": stay.gpus} for stay in hours.stays)
    stays = {"stays": [span | place for span, place in zip(told, held, strict=True)]} if hours.stays else {}
    return {"pool": hours.pool, "spells": told, **stays}


def _power_row(price: HourPrice, week: Week, unit_kw: float) -> tuple[str, ...]:
    holds, step = "", ""
    if price.holds_kw is not None:
        holds = wording.power(price.holds_kw) if price.holds_kw else f"less than {wording.power(price.step_kw / 100)}"
    if price.step is not None:
        step = _amount(price.step.total, week)
    return (price.block, _slot(week, price.slot), *_parts(price.per_kw.times(unit_kw), week), holds, step)


def _change_row(change: ChangeWorth, week: Week) -> tuple[str, ...]:
    if change.worth is None:
        return (change.told, "none told", "", "", "", change.reason)
    rests = "every run in its planned hours"
    if change.at_most is not None:
        rests = f"runs moved; no plan could gain more than {_amount(max(0.0, change.at_most), week)}"
    return (change.told, *_parts(change.worth, week), rests)


def _parts(worth: Worth, week: Week) -> tuple[str, str, str, str]:
    return (
        _amount(worth.total, week),
        _amount(worth.paid, week),
        f"{_number(worth.carbon_kg)} kg CO2e",
        _amount(worth.lateness, week),
    )


def _why(why: WhyThen, week: Week) -> str:
    if why.window is None:
        return f"Run {why.run!r} does not run in this horizon."
    stands = f"Run {why.run!r} trains {_trains(why.now, week)}"
    if why.then is None or why.more is None:
        return f"{stands}; without {_span(why.window, week)} there is no plan: {'; '.join(why.binds)}."
    then = f"it would train {_trains(why.then, week)}" if why.then.pool else "it would not run"
    dearer = "more" if why.more.total >= 0 else "less (the plan stands within its certified gap)"
    parts = (
        f"{_amount(why.more.paid, week, sign=True)} paid, {_number(why.more.carbon_kg, sign=True)} kg CO2e, "
        f"{_amount(why.more.lateness, week, sign=True)} of lateness"
    )
    held = f" What holds it back: {'; '.join(why.binds)}." if why.binds else ""
    unproven = ""
    if why.unproven > max(SMALL, abs(why.more.total) / 100.0):
        unproven = f" Hours still better by up to {_amount(why.unproven, week)} were not ruled out."
    return (
        f"{stands}; without {_span(why.window, week)} {then} and cost {_amount(abs(why.more.total), week)} {dearer} "
        f"({parts}).{held}{unproven}"
    )


def _unkept(one: Unkept, week: Week) -> str:
    due = next(d for s, d, _ in week.due_tokens(week.run(one.promise.run)) if s == one.promise.stage)
    said = (
        f"Run {one.promise.run!r} stage {one.promise.stage!r} misses {_local(week, due)} by "
        f"{wording.number(one.hours_short)} h of the whole gang"
    )
    others = " and ".join(f"{p.run!r} {p.stage!r}" for p in one.clash[:-1])
    if one.possible:
        dear = f"but not together with {others}" if others else "at a price above that of lateness"
        said += f"; it could be kept, {dear}"
    elif one.clash:
        said += f"; it cannot be kept together with {others}" if others else "; it cannot be kept even alone"
    if one.mends:
        return f"{said}; {_either(one.mends)} would do."
    return f"{said}; no single change was found that keeps it without missing another."


def _either(mends: tuple[Mend, ...]) -> str:
    return ", or ".join(mend.told for mend in mends)


def _trains(hours: Hours, week: Week) -> str:
    if not hours.stays:
        return f"{', '.join(_span(spell, week) for spell in hours.spells)} in pool {hours.pool!r}"
    return ", ".join(
        f"{_span((stay.first, stay.after), week)} on {stay.gpus:,} GPUs of pool {stay.pool!r}" for stay in hours.stays
    )


def _span(spell: tuple[int, int], week: Week) -> str:
    starts = (*week.grid.starts, week.grid.end)
    return f"{_local(week, starts[spell[0]])} to {_local(week, starts[spell[1]])}"


def _slot(week: Week, slot: int) -> str:
    return _local(week, week.grid.starts[slot])


def _local(week: Week, t: datetime) -> str:
    return wording.local(t, week.tz)


def _amount(value: float, week: Week, *, sign: bool = False) -> str:
    return f"{_number(value, sign=sign)} {week.prices.currency}"


def _number(value: float, *, sign: bool = False) -> str:
    if abs(value) < SMALL:
        return "0"
    return f"{'+' if sign and value > 0 else ''}{wording.number(value)}"


def _columns(table: Table) -> list[str]:
    rows = [table.heads, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.heads))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
