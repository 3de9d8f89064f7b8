"""Every form of own supply worked by hand, and planned: the plan's bill and the judge's are the hand's to the cent.

The hall of `test_contract_bills`: 100 kW idle, 1,000 kW at work, cooled for nothing; eight hours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from power.export import GridExport
from power.generation import Generator
from power.hourly import HourlyValues
from power.ppa import AS_PRODUCED, BASELOAD, DIFFERENCE, PHYSICAL, Ppa
from tests.unit.test_contract_bills import CENT, hall, planned
from tests.weeks import START, battery

SETS = Generator("sets", 2, 500.0, 0.4, 3.0, 1.0, 60.0, 0.20, 500.0)


def with_own(week, ppas=(), **own):
    """The week with more behind its block's meter, and agreements."""
    return replace(week, blocks=(replace(week.blocks[0], **own),), ppas=tuple(ppas))


def check(week, **terms):
    """The plan's terms and the judge's are these, and all others nothing."""
    found, seen = planned(week)
    for name in ("energy", "generation", "export", "ppa", "wear", "demand", "contracts", "water"):
        assert getattr(seen.terms, name) == pytest.approx(terms.get(name, 0.0), abs=CENT), name
        assert dict(found.terms).get(name, 0.0) == pytest.approx(terms.get(name, 0.0), abs=CENT), name
    assert seen.cost == pytest.approx(sum(terms.values()), abs=CENT)
    return seen


def test_generators_start_for_two_dear_hours_and_stay_for_a_third():
    # the run needs all eight hours; at 0.50 both units give 500 kW, and 200 kW each in the hour that they must stay
    # import 5 x 1,000 + 600 kWh at 0.10; fuel 2,400 kWh x 0.20; two starts
    price = [0.10] * 2 + [0.50] * 2 + [0.10] * 4
    seen = check(with_own(hall(work_h=8.0, price=price), generators=(SETS,)), energy=560.0, generation=480.0 + 120.0)
    assert seen.generation_kwh == pytest.approx(2400.0)
    assert seen.generation_carbon_kg == pytest.approx(1200.0)


def test_generators_do_not_start_for_one_hour_that_is_not_dear_enough():
    # at 0.30 an hour of 500 kW saves 50, two more at lowest load lose 2 x 200 x 0.10 = 40, and a start is 60
    check(with_own(hall(work_h=8.0, price=[0.10] * 3 + [0.30] + [0.10] * 4), generators=(SETS,)), energy=1000.0)


def test_generators_export_where_the_sale_beats_the_fuel():
    # idle, 100 kW: at 0.20 a sale brings 0.9 x 0.20 - 0.01 = 0.17 for fuel of 0.12; at 0.10 the grid is the cheaper
    one = replace(SETS, units=1, min_up_h=1.0, start_cost=0.0, fuel_cost_per_kwh=0.12)
    week = hall(work_h=0.0, price=[0.10] * 4 + [0.20] * 4)
    sale = GridExport(300.0, price_share=0.9, fee_per_kwh=0.01)
    check(with_own(week, generators=(one,), export=sale), energy=40.0, generation=192.0, export=-204.0)


def test_a_battery_buys_cheap_and_gives_back_dear_with_its_losses():
    # from 40 to 360 kWh takes 355.56 kWh; 320 kWh of the store give 256
    store = battery(
        400.0, 100.0, charge_efficiency=0.9, discharge_efficiency=0.8, initial_share=0.1, final_share=0.1,
        wear_cost_per_kwh=0.02,
    )  # fmt: skip
    week = hall(work_h=0.0, price=[0.05] * 4 + [0.30] * 4, battery=store)
    check(week, energy=20.0 + 120.0 + 320 / 0.9 * 0.05 - 256 * 0.30, wear=5.12)


def test_self_discharge_by_hand():
    # half of what is stored is lost in a day: what is bought in the last cheap hour loses least, so that the first
    # hours buy nothing: 100 kW x 0.9 = 90 kWh an hour, given back at once
    store = battery(
        400.0, 100.0, charge_efficiency=0.9, discharge_efficiency=0.8, initial_share=0.0, final_share=0.0,
        min_share=0.0, wear_cost_per_kwh=0.0, self_discharge_share=0.5,
    )  # fmt: skip
    week = hall(work_h=0.0, price=[0.05] * 7 + [0.30], battery=store)
    kept = 0.5 ** (1 / 24)
    # the last hour takes 100 kW at most: 125 kWh of the store, of which 90 come from the hour before
    early = (125.0 - 90.0 * kept) / kept**2
    check(week, energy=0.05 * (700.0 + 100.0 + early / 0.9))


def farm(*output_kw, **more):
    """An agreement on a farm that makes so much per hour."""
    output = HourlyValues(START, np.array(output_kw, dtype=float), "farm.csv")
    return Ppa("farm", AS_PRODUCED, PHYSICAL, 0.05, output_kw=output, **({"sale_share": 0.9} | more))


def test_an_agreement_as_produced_with_surplus():
    # work in the hours at 0.04. Import at the tariff: 400 x 0.08 + 4,000 x 0.04 = 192
    # used: 400 x (0.05 - 0.08) + 2,400 x (0.05 - 0.04) = 12; sold: 2,000 x (0.05 - 0.9 x 0.08) = -44
    week = hall(price=[0.08] * 4 + [0.04] * 4)
    check(with_own(week, [farm(*[600.0] * 8)]), energy=192.0, ppa=12.0 - 44.0)


def test_an_agreement_as_produced_draws_the_work_to_its_hours():
    # 1,000 kW in the first hours at 0.08, nothing later at 0.079; half price for what is left over
    # at work in the first hours all 4,000 kWh are used: 4,000 x (0.05 - 0.08) = -120
    week = hall(price=[0.08] * 4 + [0.079] * 4)
    energy = 4000 * 0.08 + 400 * 0.079
    check(with_own(week, [farm(*[1000.0] * 4, *[0.0] * 4, sale_share=0.5)]), energy=energy, ppa=-120.0)


def test_surplus_below_a_price_of_zero_is_curtailed_where_that_is_the_cheaper():
    # at -0.02 a sale costs 0.05 + 0.022, curtailing 0.2 x 0.05, and use forgoes what the import earns: 0.05 + 0.02
    week = hall(work_h=0.0, price=[-0.02] * 8)
    check(with_own(week, [farm(*[600.0] * 8, curtailed_share=0.2)]), energy=-16.0, ppa=4800 * 0.01)


def test_a_baseload():
    # import 400 x 0.08 + 4,000 x 0.03 = 152; used 400 x (0.06 - 0.08) + 800 x (0.06 - 0.03); sold 400 x (0.06 - 0.064)
    flat = Ppa("flat", BASELOAD, PHYSICAL, 0.06, sale_share=0.8, baseload_kw=200.0)
    check(with_own(hall(price=[0.08] * 4 + [0.03] * 4), [flat]), energy=152.0, ppa=-8.0 + 24.0 - 1.6)


def test_a_contract_for_difference():
    # 2,400 kWh x (0.05 - 0.08) + 2,400 kWh x (0.05 - 0.04), whatever the site does
    deal = replace(farm(*[600.0] * 8), settlement=DIFFERENCE)
    check(with_own(hall(price=[0.08] * 4 + [0.04] * 4), [deal]), energy=192.0, ppa=-48.0)


@pytest.mark.parametrize("own", ["generators", "battery", "ppa"])
def test_quarters_of_equal_hours_come_to_the_same_money_and_carbon(own):
    def week(slot_minutes):
        n = 8 * 60 // slot_minutes
        per = n // 8
        price = np.repeat([0.10] * 2 + [0.50] * 2 + [0.10] * 4, per)
        found = hall(work_h=8.0)
        grid = replace(found.grid, slot_minutes=slot_minutes, n_slots=n)
        signals = replace(
            found.signals,
            **{
                name: np.repeat(getattr(found.signals, name), per)
                for name in ("ci_gco2_per_kwh", "dry_bulb_c", "wet_bulb_c", "ghi_w_per_m2")
            },
            price_per_kwh=price,
        )
        powered = np.ones(n, dtype=bool)
        block = replace(found.blocks[0], idle_powered=powered)
        if own == "generators":
            block = replace(block, generators=(SETS,))
        if own == "battery":
            block = replace(block, battery=battery(400.0, 100.0))
        ppas = (farm(*[600.0] * 8),) if own == "ppa" else ()
        return replace(found, grid=grid, signals=signals, blocks=(block,), ppas=ppas)

    (_, hours), (_, quarters) = planned(week(60)), planned(week(15))
    assert quarters.cost == pytest.approx(hours.cost, rel=1e-9, abs=1e-5)
    assert quarters.carbon_kg == pytest.approx(hours.carbon_kg, rel=1e-9, abs=1e-6)
