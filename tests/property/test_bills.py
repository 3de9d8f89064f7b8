"""Bills of any import: slots of another length change no money, and takes are the cheapest there are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.evaluate.bill import settle_bill
from planner.takes import best_takes, bought_shares
from power.contracts import EnergyContract
from power.tariff import ContractedDemand, Period, Tariff
from tests.weeks import make_block, tiny_week
from trainer_hooks.calendar import ContractPlan

HOURS = 10
STARTS = st.sampled_from(
    [
        datetime(2024, 5, 17, 3, tzinfo=UTC),
        datetime(2024, 3, 30, 22, tzinfo=UTC),  # across the clock change of spring
        datetime(2024, 10, 26, 22, tzinfo=UTC),  # and of autumn
        datetime(2024, 5, 31, 18, tzinfo=UTC),  # across a month
    ]
)
HOURLY = st.lists(st.floats(0.0, 1000.0), min_size=HOURS, max_size=HOURS)
PRICES = st.lists(st.floats(-0.05, 0.30), min_size=HOURS, max_size=HOURS)


@st.composite
def tariffs(draw) -> Tariff:
    edges = st.integers(0, 95).map(lambda quarter: 15 * quarter)
    periods = tuple(
        Period(
            f"p{i}",
            weekdays=draw(st.sampled_from([(), (5,), (6, 7)])),
            from_min=draw(edges),
            until_min=draw(edges),
            price_per_kwh=draw(st.sampled_from([None, 0.2])),
            adder_per_kwh=draw(st.sampled_from([0.0, 0.03])),
        )
        for i in range(draw(st.integers(0, 3)))
    )
    contracted = draw(st.sampled_from([None, ContractedDemand(600.0, 0.85, 0.6, (900.0,))]))
    return Tariff(0.01, 5.0, 200.0, draw(st.sampled_from([15, 30, 60])), periods, contracted)


@st.composite
def contracts(draw) -> tuple[EnergyContract, ...]:
    return tuple(
        EnergyContract(
            f"c{i}",
            draw(st.sampled_from([100.0, 400.0])),
            draw(st.sampled_from([0.0, 0.06, 0.12])),
            draw(st.sampled_from(["base", "peak"])),
            min_take_share=draw(st.sampled_from([0.0, 0.85, 1.0])),
        )
        for i in range(draw(st.integers(1, 3)))
    )


def week_of(start, minutes, price, tariff, given_contracts=()):
    per_hour = 60 // minutes
    n_slots = HOURS * per_hour
    week = tiny_week(
        start=start,
        slot_minutes=minutes,
        n_slots=n_slots,
        price_per_kwh=np.repeat(price, per_hour),
        blocks=(make_block(n_slots=n_slots),),
        tariff=tariff,
        runs=(),
    )
    return replace(week, contracts=given_contracts)


def plans_of(week, import_kw):
    shares = bought_shares(week, {})
    takes = best_takes(week, import_kw, shares)
    return takes, tuple(
        ContractPlan(c.name, shares[c.name], tuple(kw.tolist()))
        for c, kw in zip(week.contracts, takes.take_kw, strict=True)
    )


@settings(max_examples=40, deadline=timedelta(seconds=5))
@given(STARTS, PRICES, tariffs(), HOURLY, contracts())
def test_slots_of_15_and_60_minutes_make_one_bill(start, price, tariff, load, given_contracts):
    bills = []
    for minutes in (15, 30, 60):
        week = week_of(start, minutes, price, tariff, given_contracts)
        per_hour = 60 // minutes
        # what is taken is said by the hour, so that the bill alone is compared
        hourly = week_of(start, 60, price, tariff, given_contracts)
        volumes = np.array([hourly.contract_kw(c) for c in hourly.contracts])
        takes = np.minimum(volumes, np.array(load) / len(given_contracts))
        plans = tuple(
            ContractPlan(c.name, 1.0, tuple(np.repeat(kw, per_hour).tolist()))
            for c, kw in zip(week.contracts, takes, strict=True)
        )
        bills.append(settle_bill(week, week.signals, plans, np.repeat(load, per_hour)))
    for bill in bills[1:]:
        assert bill.spot == pytest.approx(bills[0].spot, rel=1e-9, abs=1e-9)
        assert bill.adders == pytest.approx(bills[0].adders, rel=1e-9, abs=1e-9)
        assert bill.contracted == pytest.approx(bills[0].contracted, rel=1e-9, abs=1e-9)
        assert bill.demand == pytest.approx(bills[0].demand, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=timedelta(seconds=5))
@given(PRICES, HOURLY, contracts(), st.randoms(use_true_random=False))
def test_no_other_takes_cost_less(price, load, given_contracts, rng):
    week = week_of(datetime(2024, 5, 17, 3, tzinfo=UTC), 60, price, Tariff(), given_contracts)
    import_kw = np.array(load)
    takes, plans = plans_of(week, import_kw)
    best = settle_bill(week, week.signals, plans, import_kw)
    assert best.energy + best.contracted == pytest.approx(takes.cost, abs=1e-3)
    left = import_kw.copy()
    others = []
    for contract in week.contracts:
        share = np.array([rng.random() for _ in range(HOURS)])
        take_kw = np.minimum(week.contract_kw(contract), left) * share
        left = left - take_kw
        others.append(ContractPlan(contract.name, 1.0, tuple(take_kw.tolist())))
    other = settle_bill(week, week.signals, others, import_kw)
    assert best.energy + best.contracted <= other.energy + other.contracted + 1e-3
