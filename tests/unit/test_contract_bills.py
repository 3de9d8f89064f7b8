"""Every form of contract worked by hand, and planned: the plan's bill and the judge's are the hand's to the cent.

A hall of 1,000 GPUs that draw 100 kW idle and 1,000 kW at work, cooled for nothing, and one run of four hours' work
in eight hours: 4 x 1,000 + 4 x 100 = 4,400 kWh.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from planner.baseline import counterfactuals
from planner.evaluate import Evaluation, evaluate
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.schedule import Plan
from planner.takes import offer_sentences
from planner.week import Prices, Week
from power.connection import Connection, GridUnit, UnitOutage
from power.contracts import EnergyContract, Interruption
from power.gpu import OperatingPoint
from power.tariff import ContractedDemand, Period, Tariff
from tests.weeks import START, at, make_block, make_pool, make_run, tiny_week
from thermal.plant import room_air

CENT = 0.005
FULL = (OperatingPoint(700.0, 1000.0, 1.0),)
CHEAP_THEN_DEAR = [0.05] * 4 + [0.12] * 4
SIX = datetime(2024, 5, 13, 4, tzinfo=UTC)  # Monday 06:00 in Berlin
AWAY = timedelta(days=30)


def hall(*contracts: EnergyContract, start=START, points=FULL, work_h=4.0, tariff=None, price=0.10, **power) -> Week:
    free = room_air(2000.0, room_fan_w_per_kw=0.0, outdoor_fan_w_per_kw=0.0)
    week = tiny_week(
        start=start,
        price_per_kwh=price,
        dry_bulb_c=-5.0,
        wet_bulb_c=-6.0,
        blocks=(make_block(capacity_kw=2000.0, n_slots=8, plant=free, **power),),
        pools=(make_pool(gpus=1000, idle_w=100.0, points=points),),
        runs=(make_run(gpus=1000, work_h=work_h, deadline_h=8.0, points=points, start=start),),
        tariff=tariff,
        prices=Prices("EUR", carbon_per_t=0.0, water_per_m3=0.0, lateness_per_gpu_h=30.0),
    )
    return replace(week, contracts=contracts)


def planned(week: Week) -> tuple[Plan, Evaluation]:
    found = plan(week, PlanOptions(gap_target=0.0))
    calendar, runs = to_calendar(week, found.schedule, status=found.status, certified_gap=found.mip_gap)
    seen = evaluate(calendar, runs, week)
    assert not seen.violations
    assert seen.deadlines_missed == 0
    return found, seen


def check(week: Week, *, energy: float, contracts: float = 0.0, demand: float = 0.0) -> Evaluation:
    found, seen = planned(week)
    assert seen.terms.energy == pytest.approx(energy, abs=CENT)
    assert seen.terms.contracts == pytest.approx(contracts, abs=CENT)
    assert seen.terms.demand == pytest.approx(demand, abs=CENT)
    assert seen.terms.paid == pytest.approx(energy + contracts + demand, abs=CENT)
    assert found.objective == pytest.approx(energy + contracts + demand, abs=CENT)
    return seen


def base(kw: float, price: float, min_take: float = 0.0, **more) -> EnergyContract:
    return EnergyContract("block", kw, price, min_take_share=min_take, **more)


def test_spot_alone():
    # at work in the cheap hours: 4,000 x 0.05, idle in the dear ones: 400 x 0.12
    check(hall(price=CHEAP_THEN_DEAR), energy=248.00)


def test_base_is_taken_where_it_is_cheaper_than_spot():
    # the cheap hours stay at spot: 4,000 x 0.05; the 400 kWh of the dear ones are taken at 0.07
    check(hall(base(600.0, 0.07), price=CHEAP_THEN_DEAR), energy=200.00, contracts=28.00)


def test_under_take_is_paid():
    # volume 2,400 kWh, minimum 2,040; no plan takes more than 4 x 300 + 4 x 100 = 1,600: 2,040 x 0.07 = 142.80
    # beyond the takes 4 x 700 kWh at 0.05 = 140.00
    seen = check(hall(base(300.0, 0.07, 0.85), price=CHEAP_THEN_DEAR), energy=140.00, contracts=142.80)
    (block,) = seen.contracts
    assert (block.volume_kwh, block.take_kwh, block.paid_kwh) == pytest.approx((2_400.0, 1_600.0, 2_040.0))


def test_over_take_settles_at_spot():
    # volume 720, minimum 612: the dear hours take 4 x 90 = 360, the cheap ones the 252 that are paid for anyway
    # spot: (4,000 - 252) x 0.05 + 4 x 10 x 0.12 = 187.40 + 4.80; contract 612 x 0.07 = 42.84
    check(hall(base(90.0, 0.07, 0.85), price=CHEAP_THEN_DEAR), energy=192.20, contracts=42.84)


@pytest.mark.parametrize(("min_take", "contracts"), [(0.0, 28.00), (1.0, 336.00)])
def test_nothing_is_taken_where_import_is_paid_for(min_take, contracts):
    # four hours at -0.05 earn 4,000 x 0.05 = 200.00 at spot; the dear hours take 400 kWh; take or pay is due in full
    seen = check(hall(base(600.0, 0.07, min_take), price=[-0.05] * 4 + [0.12] * 4), energy=-200.00, contracts=contracts)
    assert seen.contracts[0].take_kwh == pytest.approx(400.0)


def test_peak_draws_the_run_into_its_hours():
    # 08:00-14:00 are six peak hours of 500 kW: 3,000 kWh at 0.08, all paid
    # four of them at work: 4 x 500 kWh at 0.10, and 2 x 100 kWh outside the peak
    contract = EnergyContract("peak", 500.0, 0.08, "peak", min_take_share=1.0)
    seen = check(hall(contract, start=SIX), energy=220.00, contracts=240.00)
    assert seen.contracts[0].take_kwh == pytest.approx(4 * 500 + 2 * 100)


def test_week_profile():
    # Monday 02-06 h: 400 kW, 06-10 h: 800 kW; at work in the second half, takes 400 + 3,200 kWh at 0.06
    shares = (0.0,) * 2 + (0.5,) * 4 + (1.0,) * 4 + (0.0,) * 158
    check(hall(EnergyContract("week", 800.0, 0.06, "week", shares)), energy=80.00, contracts=216.00)


def test_custom_profile():
    # hours 2, 3 and 4 deliver 1,000, 500 and 250 kW at 0.02; at work in them and in one more hour
    # spot: 0 + 500 + 750 + 1,000 at work, 400 idle
    contract = EnergyContract("custom", 1000.0, 0.02, "custom", (1.0, 0.5, 0.25), start=at(2))
    check(hall(contract), energy=265.00, contracts=35.00)


def test_an_interruption_is_worked_around():
    # 1,000 kW at 0.05 but for hours 0 to 3: 4 x 1,000 taken at work in the others, 400 kWh at spot
    contract = base(1000.0, 0.05, interruptible=True, interruptions=(Interruption(at(0), at(4)),))
    check(hall(contract), energy=40.00, contracts=200.00)


def test_all_or_none_is_not_bought_where_it_costs_more():
    # 800 kW take or pay at 0.07: 448.00 + 4 x 200 x 0.10 = 528.00; spot alone 4,400 x 0.10
    seen = check(hall(base(800.0, 0.07, 1.0, offered=True, all_or_none=True)), energy=440.00)
    assert seen.contracts[0].bought_share == 0.0
    assert seen.contracts[0].why == (
        "Offer 'block', 800 kW (base) at 0.07 EUR/kWh, is not bought: it would cost 88.00 EUR more than the energy "
        "price of the hours, with 56 % of it taken."
    )


def test_all_or_none_is_bought_where_it_saves():
    # at 0.05: 320.00 + 80.00 = 400.00, 40.00 less than spot
    seen = check(hall(base(800.0, 0.05, 1.0, offered=True, all_or_none=True)), energy=80.00, contracts=320.00)
    assert seen.contracts[0].bought_share == 1.0
    assert seen.contracts[0].why == (
        "Offer 'block', 800 kW (base) at 0.05 EUR/kWh, is bought: it saves 40.00 EUR against the energy price of the "
        "hours, and 56 % of it is taken."
    )


def test_an_offer_that_may_be_divided_is_bought_as_far_as_it_saves():
    # the first 100 kW are taken in every hour: 800 kWh at 0.06 for 0.10; the next only at work, half of what is paid
    seen = check(hall(base(800.0, 0.06, 1.0, offered=True)), energy=360.00, contracts=48.00)
    assert seen.contracts[0].bought_share == 0.125
    assert "is bought by 12.5 %: it saves 32.00 EUR" in seen.contracts[0].why


def test_an_offer_without_delivery_is_not_bought():
    seen = check(hall(base(800.0, 0.06, offered=True, all_or_none=True, start=at(0) + AWAY)), energy=440.00)
    assert seen.contracts[0].why.endswith("is not bought: it delivers nothing in this horizon.")


def test_offers_that_save_nothing_and_plans_that_stopped_early_are_told_as_they_are():
    first = replace(base(1000.0, 0.03), name="first")
    week = hall(first, base(800.0, 0.06, offered=True, all_or_none=True))
    load = np.full(8, 500.0)
    (told,) = offer_sentences(week, load, {"first": 1.0, "block": 0.0}).values()
    assert told.endswith("is not bought: it would save nothing against the energy price of the hours.")
    # 8 x 500 x (0.10 - 0.06) = 160.00 that a search without time may have left
    alone = replace(week, contracts=week.contracts[1:])
    (told,) = offer_sentences(alone, load, {"block": 0.0}).values()
    assert told.endswith("is not bought: it would save 160 EUR, but the plan's gap does not rule that out.")
    dear = replace(alone, contracts=(replace(alone.contracts[0], min_take_share=1.0),))
    (told,) = offer_sentences(dear, load, {"block": 1.0}).values()
    # paid 8 x 800 x 0.06 = 384.00, spared 400.00
    assert "is bought: it saves 16.00 EUR against" in told
    dearer = replace(dear, contracts=(replace(dear.contracts[0], price_per_kwh=0.07),))
    (told,) = offer_sentences(dearer, load, {"block": 1.0}).values()
    assert "is bought: it costs 48.00 EUR more, within the plan's gap, against" in told


def test_a_week_without_a_plan_takes_of_the_same_contracts():
    # as soon as possible is in the dear hours: 4 x 600 x 0.07 taken, 4 x 400 x 0.12 beyond, 400 kWh idle at 0.05;
    # the plan waits for the cheap ones: 4,000 x 0.05, and 400 x 0.07 idle; neither buys what costs more
    offer = replace(base(800.0, 0.09, 1.0, offered=True), name="offer")
    week = hall(base(600.0, 0.07), offer, price=[0.12] * 4 + [0.05] * 4)
    seen = check(week, energy=200.00, contracts=28.00)
    soon, _ = counterfactuals(week, seen)
    assert (soon.evaluation.terms.contracts, soon.evaluation.terms.energy) == pytest.approx((168.00, 212.00), abs=CENT)
    assert soon.evaluation.clean
    assert soon.savings is not None
    assert soon.savings.cost_pct == pytest.approx(100 * (1 - 228 / 380))


@pytest.mark.parametrize("names", [("first", "second"), ("cal-24", "cal_24")])
def test_two_contracts_share_the_import(names):
    # 600 kW at 0.03 and 600 kW at 0.06: at work 600 + 400, idle 100 + 0
    # 4 x 700 x 0.03 = 84.00; 4 x 400 x 0.06 = 96.00
    first, second = replace(base(600.0, 0.03), name=names[0]), replace(base(600.0, 0.06), name=names[1])
    check(hall(first, second), energy=0.0, contracts=180.00)


def test_adders_are_paid_on_what_is_taken_too():
    check(hall(base(1000.0, 0.05), tariff=Tariff(adder_per_kwh=0.02)), energy=88.00, contracts=220.00)


def test_time_of_use_across_the_change_of_clocks():
    # the clocks skip 02:00: of 01:00-04:00 only 01 and 03 h exist, at 1.00; 100 kW idle in them
    # 4,000 x 0.10 + 2 x 100 x 0.10 + 200 x 1.00
    early = Period("early", from_min=60, until_min=240, price_per_kwh=1.00)
    start = datetime(2024, 3, 30, 23, tzinfo=UTC)
    check(hall(start=start, tariff=Tariff(periods=(early,))), energy=620.00)


def test_demand_of_a_period_is_avoided():
    # two hours of work fit before 08:00: (2,000 + 600) x 0.10, and 100 kW of idle demand in the peak at 5.00
    peak = Period("peak", weekdays=(1, 2, 3, 4, 5), from_min=480, until_min=1200, demand_charge_per_kw_month=5.0)
    check(hall(start=SIX, work_h=2.0, tariff=Tariff(periods=(peak,))), energy=260.00, demand=500.00)


def test_contracted_demand_with_a_ratchet():
    # owed: max(0.5 x 1,000, 0.6 x 900) = 540 kW; at work 1,000: 460 kW x 10.00
    contracted = ContractedDemand(1000.0, 0.5, 0.6, (900.0, 700.0))
    tariff = Tariff(demand_charge_per_kw_month=10.0, contracted=contracted)
    check(hall(tariff=tariff), energy=440.00, demand=4_600.00)


def test_slower_work_below_what_is_owed():
    # a point of 520 kW with half the speed stays below the 540 kW: 8 x 520 x 0.10 and no demand
    contracted = ContractedDemand(1000.0, 0.5, 0.6, (900.0, 700.0))
    tariff = Tariff(demand_charge_per_kw_month=10.0, contracted=contracted)
    points = (OperatingPoint(350.0, 520.0, 0.5), *FULL)
    check(hall(tariff=tariff, points=points), energy=416.00)


def test_demand_of_two_months():
    # four hours of May, whose peak so far is 900 kW, and four of June: at work in May
    # (1,000 - 900) x 2.00 + 100 x 2.00
    start = datetime(2024, 5, 31, 18, tzinfo=UTC)
    tariff = Tariff(demand_charge_per_kw_month=2.0, month_to_date_peak_kw=900.0)
    check(hall(start=start, tariff=tariff), energy=440.00, demand=400.00)


def test_a_month_that_begins_owes_what_is_contracted():
    # May owes 850 kW already and is raised to 1,000; June owes 850 kW in full: (150 + 850) x 2.00
    start = datetime(2024, 5, 31, 18, tzinfo=UTC)
    tariff = Tariff(demand_charge_per_kw_month=2.0, contracted=ContractedDemand(1000.0, 0.85))
    check(hall(start=start, tariff=tariff), energy=440.00, demand=2_000.00)


def test_n1_of_feeders_moves_the_run_out_of_maintenance():
    # three feeders of 600 kW carry 1,200 kW by N-1, with one out 600: at work only after it, in the dear hours
    feeders = tuple(GridUnit(f"F{i}", "feeder", 600.0) for i in (1, 2, 3))
    connection = Connection(feeders, n1=True, outages=(UnitOutage("F2", at(0), at(4)),))
    week = hall(price=CHEAP_THEN_DEAR, connection=connection)
    check(week, energy=500.00)
    assert week.import_limit_kw(week.blocks[0]).tolist() == [600.0] * 4 + [1200.0] * 4


def test_a_call_of_the_connection_moves_the_run():
    called = Connection(interruptible_kw=1500.0, interruptions=(Interruption(at(1), at(3)),))
    # hours 1 and 2 carry 500 kW: 2 x 1,000 x 0.05 + 2 x 100 x 0.05, then 2 x 1,000 x 0.12 + 2 x 100 x 0.12
    check(hall(price=CHEAP_THEN_DEAR, connection=called), energy=374.00)
