"""Calendars that say what no contract allows: the judge names each, and settles the bill all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.evaluate import evaluate
from planner.evaluate.bill import settle_bill
from planner.publish import to_calendar
from planner.schedule import Schedule
from power.contracts import EnergyContract
from tests.judged import N_SLOTS, kept, kinds, renamed, site
from trainer_hooks.calendar import ContractPlan

BASE = EnergyContract("base", 200.0, 0.05, min_take_share=0.8)
OFFER = EnergyContract("offer", 100.0, 0.07, offered=True, all_or_none=True)


def contracted():
    return replace(site(), contracts=(BASE, OFFER))


def plans(**changes) -> tuple[ContractPlan, ...]:
    """The plans of both contracts as published, one of them changed."""
    calendar, runs = to_calendar(contracted(), kept(), status="optimal", certified_gap=0.0)
    return calendar, runs, tuple(replace(p, **changes.get(p.contract, {})) for p in calendar.contracts)


def judged(calendar, runs, contracts):
    return evaluate(*renamed(replace(calendar, contracts=contracts), runs), contracted())


def test_what_is_published_is_clean():
    found = judged(*plans())
    assert found.clean
    assert [result.bought_share for result in found.contracts] == [1.0, 0.0]


BREAKS = {
    "more than the contract delivers": ({"base": {"take_kw": (200.1, *[0.0] * (N_SLOTS - 1))}}, {"contract-take"}),
    "less than nothing": ({"base": {"take_kw": (-1.0, *[0.0] * (N_SLOTS - 1))}}, {"contract-take"}),
    "of an offer that is not bought": ({"offer": {"take_kw": (1.0, *[0.0] * (N_SLOTS - 1))}}, {"contract-take"}),
    "half of an offer that is all or none": ({"offer": {"bought_share": 0.5}}, {"contract-bought"}),
    "half of a contract in force": (
        {"base": {"bought_share": 0.5, "take_kw": (0.0,) * N_SLOTS}},
        {"contract-bought"},
    ),
    "a series of another length": ({"base": {"take_kw": (0.0,)}}, set()),
}


@pytest.mark.parametrize(("changes", "broken"), BREAKS.values(), ids=BREAKS)
def test_each_is_named(changes, broken):
    assert kinds(judged(*plans(**changes))) == broken


def test_more_than_is_imported():
    both = replace(OFFER, offered=False, all_or_none=False, kw=400.0)
    week = replace(contracted(), contracts=(BASE, both))
    calendar, runs = to_calendar(week, kept(), status="optimal", certified_gap=0.0)
    full = (ContractPlan("base", 1.0, (200.0,) * N_SLOTS), ContractPlan("offer", 1.0, (400.0,) * N_SLOTS))
    found = evaluate(*renamed(replace(calendar, contracts=full), runs), week)
    assert kinds(found) == {"contract-cover"}


def test_contracts_that_are_unknown_missing_or_there_twice():
    calendar, runs, given = plans()
    other = ContractPlan("other", 1.0, (0.0,) * N_SLOTS)
    assert kinds(judged(calendar, runs, (*given, other))) == {"contract-unknown"}
    assert kinds(judged(calendar, runs, given[1:])) == {"contract-missing"}
    assert kinds(judged(calendar, runs, (*given, given[0]))) == {"contract-missing"}


def test_takes_shrink_with_an_import_that_is_less_than_planned():
    # by actual weather 250 kW instead of 400: 200 + 200 kW of takes become 125 + 125
    week = replace(contracted(), contracts=(BASE, replace(BASE, name="second", price_per_kwh=0.06)))
    takes = tuple(ContractPlan(name, 1.0, (200.0,) * N_SLOTS) for name in ("base", "second"))
    bill = settle_bill(week, week.signals, takes, np.full(N_SLOTS, 250.0))
    assert [result.take_kwh for result in bill.contracts] == [125.0 * N_SLOTS] * 2
    # each is paid for 160 kW, its minimum
    assert bill.contracted == pytest.approx(160.0 * N_SLOTS * (0.05 + 0.06))
    assert bill.spot == pytest.approx(0.0)


def test_a_schedule_that_buys_an_offer_takes_of_it():
    week = contracted()
    calendar, _ = to_calendar(
        week, Schedule(kept().runs, kept().blocks, (("offer", 1.0),)), status="optimal", certified_gap=0.0
    )
    dear = week.signals.price_per_kwh > OFFER.price_per_kwh
    assert np.array(calendar.contracts[1].take_kw)[dear].sum() > 0.0
    assert not np.array(calendar.contracts[1].take_kw)[~dear].any()
