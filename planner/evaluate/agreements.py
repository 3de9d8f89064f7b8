"""Power purchase agreements: whether what a calendar says of them adds up, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import RELATIVE, differs, worst
from planner.evaluate.record import Violation
from power.ppa import PpaFlows, difference_cost, physical_cost
from trainer_hooks.codec import PPA_SERIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from planner.week import Signals, Week
    from trainer_hooks.calendar import Calendar, PpaPlan

    Floats = npt.NDArray[np.float64]

_LAST_DIGIT_KW = 1e-5


def ppa_flows(week: Week, calendar: Calendar, signals: Signals | None, import_kw: Floats) -> tuple[PpaFlows, ...]:
    """Return where the energy of each physical agreement of the week goes.

    By the plan's own signals, as the calendar says. By actual signals, as much is used as the calendar says, of what
    then is delivered and imported; the rest is sold, or curtailed where the calendar curtails.

    Args:
        week: All inputs.
        calendar: The header.
        signals: Grid and weather as they were, or None for the week's own.
        import_kw: Import of the site by the signals, kW, shape (T,).
    """
    given, found, left = {plan.ppa: plan for plan in calendar.ppas}, [], np.maximum(import_kw, 0.0)
    for ppa in week.ppas:
        if not ppa.physical:
            continue
        volume = week.ppa_kw(ppa, signals)
        used, sold, curtailed = _split(given.get(ppa.name), volume)
        if signals is not None:
            used = np.minimum(np.minimum(used, volume), left)
            curtailed = np.where(curtailed > 0.0, volume - used, 0.0)
            sold = volume - used - curtailed
        left = left - used
        found.append(PpaFlows(volume, used, sold, curtailed))
    return tuple(found)


def agreement_money(week: Week, signals: Signals, flows: tuple[PpaFlows, ...]) -> float:
    """Return what all agreements add to the bill of the import at the tariff's rate, money."""
    price, rate, slot_h = signals.price_per_kwh, week.rates(signals).energy_per_kwh, week.grid.slot_h
    physical = [ppa for ppa in week.ppas if ppa.physical]
    cost = sum(physical_cost(p, f, price, rate, slot_h) for p, f in zip(physical, flows, strict=True))
    return cost + sum(
        difference_cost(ppa, week.ppa_kw(ppa, signals), price, slot_h) for ppa in week.ppas if not ppa.physical
    )


def check_agreements(week: Week, calendar: Calendar, import_kw: Floats, taken_kw: Floats) -> Iterator[Violation]:
    """Yield what is wrong with what a calendar says of agreements.

    Args:
        week: All inputs.
        calendar: The header.
        import_kw: Import of the site by the plan's signals, kW, shape (T,).
        taken_kw: What other contracts cover of it, kW, shape (T,).
    """
    physical = {ppa.name: ppa for ppa in week.ppas if ppa.physical}
    given = {plan.ppa: plan for plan in calendar.ppas}
    for name in sorted(set(given) ^ set(physical)):
        told = name in given
        sentence = (
            f"the site buys from no agreement {name}" if told else f"the calendar says nothing of agreement {name}"
        )
        yield Violation("ppa-unknown" if told else "ppa-missing", name, None, name, "the site's names", "", sentence)
    used = np.zeros(week.grid.n_slots)
    for name, ppa in physical.items():
        plan, subject, volume = given.get(name), f"agreement {name}", week.ppa_kw(ppa)
        if plan is None:
            continue
        for series in PPA_SERIES:
            yield from worst(week, "ppa", subject, np.array(getattr(plan, series)), 0.0, "kW", "states", least=True)
        parts = [np.array(getattr(plan, series)) for series in PPA_SERIES[1:]]
        used = used + parts[0]
        tolerance = _LAST_DIGIT_KW + RELATIVE * volume
        yield from differs(week, "ppa-volume", subject, np.array(plan.volume_kw), volume, tolerance, "kW", "volume")
        yield from differs(
            week, "ppa-volume", subject, np.sum(parts, axis=0), volume, tolerance, "kW", "use, sale and curtailment"
        )
        if not ppa.may_curtail:
            yield from worst(week, "ppa-curtailed", subject, parts[2], 0.0, "kW", "curtails")
    if physical:
        yield from worst(week, "ppa-used", "all agreements", used, import_kw - taken_kw, "kW", "of the import cover")


def _split(plan: PpaPlan | None, volume: Floats) -> tuple[Floats, Floats, Floats]:
    if plan is None:
        return np.zeros_like(volume), volume, np.zeros_like(volume)
    return np.array(plan.used_kw), np.array(plan.sold_kw), np.array(plan.curtailed_kw)
