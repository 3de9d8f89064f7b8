from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from power.quarters import quarters
from power.tariff import (
    ContractedDemand,
    Period,
    Tariff,
    demand_cost,
    demand_registers,
    energy_cost,
    rates,
)

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)


def slots(start: datetime, count: int, minutes: int = 60, tz: ZoneInfo = BERLIN):
    slot = timedelta(minutes=minutes)
    return quarters([start + i * slot for i in range(count)], slot, tz)


PEAK = Period("peak", weekdays=(1, 2, 3, 4, 5), from_min=8 * 60, until_min=20 * 60, adder_per_kwh=0.03)
NIGHT = Period("night", from_min=22 * 60, until_min=6 * 60, price_per_kwh=0.05)


def test_the_first_period_that_holds_decides():
    # Friday 2024-05-17 in Berlin (UTC+2), hours 6 to 10 and 21 to 23 on the clocks.
    when = slots(datetime(2024, 5, 17, 4, tzinfo=UTC), 4)
    found = rates(Tariff(0.01, periods=(PEAK, NIGHT)), np.full(4, 0.10), when)
    assert found.energy_per_kwh.tolist() == [0.10, 0.10, 0.10, 0.10]
    assert found.adder_per_kwh == pytest.approx([0.01, 0.01, 0.04, 0.04])
    late = slots(datetime(2024, 5, 17, 19, tzinfo=UTC), 3)
    assert rates(Tariff(0.01, periods=(PEAK, NIGHT)), np.full(3, 0.10), late).energy_per_kwh.tolist() == [
        0.10,
        0.05,
        0.05,
    ]


def test_weekdays_and_months_are_those_of_the_site():
    # Sunday 22:00 UTC is Monday 00:00 in Berlin, and May.
    when = slots(datetime(2024, 5, 12, 21, tzinfo=UTC), 2)
    monday = Period("monday", weekdays=(1,), adder_per_kwh=1.0)
    assert rates(Tariff(periods=(monday,)), np.zeros(2), when).adder_per_kwh.tolist() == [0.0, 1.0]
    turn = slots(datetime(2024, 5, 31, 21, tzinfo=UTC), 2)
    june = Period("june", months=(6,), price_per_kwh=7.0)
    assert rates(Tariff(periods=(june,)), np.zeros(2), turn).energy_per_kwh.tolist() == [0.0, 7.0]


def test_the_night_of_a_clock_change_has_as_many_dear_hours_as_the_clocks_show():
    # 02:00-04:00 on the clocks: one hour when they skip 02:00, three when they show it twice.
    early = Period("early", from_min=2 * 60, until_min=4 * 60, price_per_kwh=1.0)
    spring = slots(datetime(2024, 3, 30, 23, tzinfo=UTC), 23)
    autumn = slots(datetime(2024, 10, 26, 22, tzinfo=UTC), 25)
    assert rates(Tariff(periods=(early,)), np.zeros(23), spring).energy_per_kwh.sum() == 1.0
    assert rates(Tariff(periods=(early,)), np.zeros(25), autumn).energy_per_kwh.sum() == 3.0
    # 1,000 kW all day at 0.10 but for these hours at 1.00
    spot = np.full(23, 0.10)
    bill = energy_cost(rates(Tariff(periods=(early,)), spot, spring).total_per_kwh, np.full(23, 1000.0), 1.0)
    assert bill == pytest.approx(22 * 100.0 + 1000.0)


def test_a_slot_across_an_edge_of_a_period_pays_by_quarters():
    half = Period("late", from_min=8 * 60 + 45, until_min=20 * 60, adder_per_kwh=0.04)
    when = slots(datetime(2024, 5, 17, 6, tzinfo=UTC), 1)
    assert rates(Tariff(periods=(half,)), np.zeros(1), when).adder_per_kwh == pytest.approx([0.01])


def test_contracted_demand_by_hand():
    # 85 % of 20 MW = 17,000 kW; 60 % of the past months' highest 30 MW = 18,000 kW
    contracted = ContractedDemand(20_000.0, 0.85, 0.60, (25_000.0, 30_000.0))
    assert contracted.least_kw(0, 99_000.0) == 18_000.0
    assert ContractedDemand(20_000.0, 0.85).least_kw(0, 0.0) == 17_000.0
    # in the next month this month's peak so far is a past one
    assert contracted.least_kw(1, 40_000.0) == 24_000.0
    # and of twelve past months the oldest no longer counts
    old = ContractedDemand(0.0, 0.0, 1.0, (9_000.0, *[100.0] * 10))
    assert old.least_kw(0, 500.0) == 9_000.0
    assert old.least_kw(1, 500.0) == 500.0


@pytest.mark.parametrize(
    ("peak_kw", "billed_kw"), [(12_000.0, 0.0), (17_500.0, 0.0), (18_500.0, 500.0), (21_000.0, 3_000.0)]
)
def test_what_is_contracted_is_owed_and_only_more_is_added(peak_kw, billed_kw):
    contracted = ContractedDemand(20_000.0, 0.85, 0.60, (30_000.0,))
    tariff = Tariff(demand_charge_per_kw_month=10.0, month_to_date_peak_kw=16_000.0, contracted=contracted)
    (register,) = demand_registers(tariff, slots(datetime(2024, 5, 13, tzinfo=UTC), 3))
    load = np.array([peak_kw, 4_000.0, 0.0])
    assert register.added_kw(load) == billed_kw
    assert demand_cost((register,), load) == 10.0 * billed_kw


def test_demand_of_two_months_by_hand():
    # Berlin's June begins at 22:00 UTC: 20 h of May, 4 h of June
    when = slots(datetime(2024, 5, 31, 2, tzinfo=UTC), 24)
    tariff = Tariff(demand_charge_per_kw_month=10.0, month_to_date_peak_kw=900.0)
    may, june = demand_registers(tariff, when)
    load = np.concatenate([np.full(20, 800.0), np.full(4, 700.0)])
    load[3] = 1_000.0
    assert (may.added_kw(load), june.added_kw(load)) == (100.0, 700.0)
    assert demand_cost((may, june), load) == 10.0 * 800.0
    # a month that begins owes its minimum in full
    floor = Tariff(demand_charge_per_kw_month=10.0, contracted=ContractedDemand(1_000.0, 0.85))
    assert demand_cost(demand_registers(floor, when), load) == pytest.approx(10.0 * (150.0 + 850.0))


def test_demand_of_a_period_counts_the_slots_that_it_touches():
    # 08:00-20:00 on Friday: hours 8 to 19 on the clocks, 6 to 17 UTC
    when = slots(datetime(2024, 5, 17, tzinfo=UTC), 24)
    peak = Period("peak", weekdays=(5,), from_min=8 * 60, until_min=20 * 60, demand_charge_per_kw_month=4.0)
    tariff = Tariff(demand_charge_per_kw_month=10.0, periods=(peak,))
    whole, in_peak = demand_registers(tariff, when)
    load = np.full(24, 500.0)
    load[2], load[6], load[18] = 900.0, 700.0, 800.0
    assert (whole.peak_kw(load), in_peak.peak_kw(load)) == (900.0, 700.0)
    assert demand_cost((whole, in_peak), load) == 10.0 * 900.0 + 4.0 * 700.0
    assert in_peak.name == "month 1 peak"


def test_a_period_without_an_hour_in_the_horizon_bills_nothing():
    sunday = Period("sunday", weekdays=(7,), demand_charge_per_kw_month=4.0)
    assert demand_registers(Tariff(periods=(sunday,)), slots(datetime(2024, 5, 17, tzinfo=UTC), 20)) == ()


def test_demand_is_the_mean_over_its_interval():
    load = np.array([100.0, 300.0, 200.0, 200.0, 500.0, 100.0])
    start = datetime(2024, 5, 17, tzinfo=UTC)
    half_hours = Tariff(demand_charge_per_kw_month=1.0, demand_interval_min=30)
    (register,) = demand_registers(half_hours, slots(start, 6, 15))
    assert not register.by_slot
    assert register.peak_kw(load) == 300.0
    (by_quarter,) = demand_registers(Tariff(demand_charge_per_kw_month=1.0), slots(start, 6, 15))
    assert by_quarter.by_slot
    assert by_quarter.peak_kw(load) == 500.0
    # slots of an hour stand for the half hours in them
    (by_hour,) = demand_registers(half_hours, slots(start, 6, 60))
    assert by_hour.by_slot
    assert by_hour.peak_kw(load) == 500.0


def test_intervals_lie_on_the_clocks_of_the_site():
    # Kathmandu is 5:45 ahead of UTC: its half hours begin at :15 and :45 UTC
    start = datetime(2024, 5, 17, 0, 15, tzinfo=UTC)
    tariff = Tariff(demand_charge_per_kw_month=1.0, demand_interval_min=30)
    (register,) = demand_registers(tariff, slots(start, 4, 15, ZoneInfo("Asia/Kathmandu")))
    assert register.interval.tolist() == [0, 0, 1, 1]


def test_energy_cost_by_hand_with_a_negative_price():
    when = slots(datetime(2024, 5, 17, tzinfo=UTC), 2, 15)
    price, load = np.array([0.1, -0.02]), np.array([1_000.0, 3_000.0])
    bill = energy_cost(rates(Tariff(adder_per_kwh=0.01), price, when).total_per_kwh, load, 0.25)
    assert bill == pytest.approx(0.25 * (110 - 30))
