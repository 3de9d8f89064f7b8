"""Plants, contracts and agreements as the accounts see them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.accounts import carbon_accounts
from planner.accounts.supply import GENERATOR, contract_hours
from planner.errors import ConfigError
from power.accounts import ON_SITE
from power.contracts import Attributes, EnergyContract
from power.generation import Generator
from power.ppa import Ppa
from power.wind import WindTurbines
from tests.accounting import SET, accounted_outcome
from trainer_hooks.contract import ContractPlan, GeneratorPlan, PpaPlan

N = 168
SETS = Generator("gas-sets", 2, 100.0, 0.4, 1.0, 1.0, 0.0, 0.1, 490.0)
WIND = Attributes("wind", 11.0, "lifecycle", "zone-a")
FARM = WindTurbines("far-farm", 500.0, 90.0)


def flat(kw: float) -> tuple[float, ...]:
    return (kw,) * N


@pytest.fixture(scope="module")
def plain():
    return accounted_outcome()


def supplied(outcome, *, seen=None, generators=(), contracts=(), ppas=(), takes=(), flows=(), wind=None):
    """The contract hours of the sample outcome with more of everything in its first hall."""
    week, calendar = outcome.week, outcome.calendar
    first = replace(week.blocks[0], generators=tuple(g for g, _ in generators), wind=wind)
    week = replace(week, blocks=(first, *week.blocks[1:]), contracts=tuple(contracts), ppas=tuple(ppas))
    plans = tuple(GeneratorPlan(g.name, (1,) * N, flat(kw)) for g, kw in generators)
    blocks = (replace(calendar.blocks[0], generators=plans), *calendar.blocks[1:])
    calendar = replace(calendar, blocks=blocks, contracts=tuple(takes), ppas=tuple(flows))
    results = list(outcome.evaluation.blocks)
    if seen:
        results[0] = replace(results[0], **{name: np.full(N, kw) for name, kw in seen.items()})
    found = contract_hours(week, calendar, results, SET, week.signals)
    return {one.name: one for one in found}, week, calendar, results


def test_what_a_block_exports_is_taken_off_its_sun_and_wind(plain):
    seen = {"solar_kw": 30.0, "wind_kw": 90.0, "export_kw": 40.0}
    found, *_ = supplied(plain, seen=seen, wind=FARM)
    assert found["roof of hall-a"].kw.tolist() == pytest.approx([20.0] * N)
    assert found["far-farm of hall-a"].kw.tolist() == pytest.approx([60.0] * N)
    assert {one.boundary for one in found.values()} == {ON_SITE}


def test_no_more_is_taken_off_than_sun_and_wind_make(plain):
    found, *_ = supplied(plain, seen={"solar_kw": 30.0, "wind_kw": 0.0, "export_kw": 50.0}, generators=((SETS, 150.0),))
    assert not found["roof of hall-a"].kw.any()
    assert found["gas-sets of hall-a"].kw.tolist() == [150.0] * N


def test_generators_are_never_free_of_carbon(plain):
    found, *_ = supplied(plain, generators=((SETS, 150.0),))
    sets = found["gas-sets of hall-a"]
    assert (sets.technology, sets.factor_gco2_per_kwh, sets.boundary) == (GENERATOR, 490.0, ON_SITE)
    assert GENERATOR not in SET.carbon_free | SET.renewable


def test_of_a_contract_the_takes_count_and_one_without_attributes_is_the_residual_mix(plain):
    known = EnergyContract("cal-24", 100.0, 0.07, attributes=WIND)
    grey = EnergyContract("grey", 100.0, 0.06)
    takes = (ContractPlan("cal-24", 1.0, flat(70.0)), ContractPlan("grey", 1.0, flat(50.0)))
    found, *_ = supplied(plain, contracts=(known, grey), takes=takes)
    assert "grey" not in found
    cal = found["cal-24"]
    assert (cal.kw[0], cal.factor_gco2_per_kwh, cal.basis, cal.boundary) == (70.0, 11.0, "lifecycle", "zone-a")


def test_of_an_agreement_its_use_counts_and_by_difference_all_that_the_farm_makes(plain):
    physical = Ppa(
        "north", "as_produced", "physical", 0.05, technology="wind", factor_gco2_per_kwh=11.0, boundary="zone-a"
    )
    virtual = Ppa(
        "south", "baseload", "difference", 0.05, baseload_kw=80.0, technology="solar", factor_gco2_per_kwh=45.0,
        boundary="zone-b",
    )  # fmt: skip
    flows = (PpaPlan("north", flat(90.0), flat(60.0), flat(20.0), flat(10.0)),)
    found, *_ = supplied(plain, ppas=(virtual, physical), flows=flows)
    assert list(found)[-2:] == ["north", "south"]
    assert found["north"].kw.tolist() == [60.0] * N
    assert found["south"].kw.tolist() == pytest.approx([80.0] * N)
    assert found["south"].boundary == "zone-b"


def test_on_actual_series_an_agreement_supplies_no_more_than_its_farm_then_makes(plain):
    farm = Ppa("north", "as_produced", "physical", 0.05, wind=FARM, boundary="zone-a")
    flows = (PpaPlan("north", flat(90.0), flat(60.0), flat(30.0), flat(0.0)),)
    still = replace(plain.week.signals, wind_speed_m_per_s=np.zeros(N))
    _, week, calendar, results = supplied(plain, ppas=(farm,), flows=flows)
    (planned,) = (h for h in contract_hours(week, calendar, results, SET, week.signals) if h.name == "north")
    (actual,) = (h for h in contract_hours(week, calendar, results, SET, still) if h.name == "north")
    assert planned.kw.tolist() == [60.0] * N
    assert actual.kw.tolist() == [0.0] * N


def test_the_account_of_a_site_with_everything_closes(plain):
    seen = {"solar_kw": 30.0, "wind_kw": 0.0, "export_kw": 10.0, "import_kw": 300.0}
    known = EnergyContract("cal-24", 100.0, 0.07, attributes=WIND)
    _, week, calendar, results = supplied(
        plain,
        seen=seen,
        generators=((SETS, 150.0),),
        contracts=(known,),
        takes=(ContractPlan("cal-24", 1.0, flat(70.0)),),
    )
    evaluation = replace(plain.evaluation, blocks=tuple(results))
    account = carbon_accounts(week, calendar, plain.runs, evaluation).account
    other_kw = float(results[1].import_kw[0])
    assert account.import_kwh[0] == pytest.approx(300.0 + other_kw)
    assert account.load_kwh[0] == pytest.approx(300.0 + other_kw + 20.0 + 150.0)
    assert account.onsite_kg[0] == pytest.approx((20.0 * 45.0 + 150.0 * 490.0) / 1000.0)
    assert account.matched_kwh[0] == pytest.approx(70.0)
    assert account.cfe_kwh[0] == pytest.approx(90.0)


def test_a_contract_of_the_other_basis_is_an_error_of_the_site_file(plain):
    direct = EnergyContract("cal-24", 100.0, 0.07, attributes=replace(WIND, basis="direct"))
    takes = (ContractPlan("cal-24", 1.0, flat(70.0)),)
    _, week, calendar, _ = supplied(plain, contracts=(direct,), takes=takes)
    with pytest.raises(ConfigError, match="contract 'cal-24' is direct, but the account is lifecycle") as told:
        carbon_accounts(week, calendar, plain.runs, plain.evaluation)
    assert told.value.exit_code == 2
    assert "one basis" in told.value.fix


def test_a_technology_without_a_factor_is_an_error_of_the_site_file(plain):
    poor = replace(SET, factors={"wind": SET.factors["wind"]})
    week = replace(plain.week, accounting=replace(plain.week.accounting, factors=poor))
    with pytest.raises(ConfigError, match="made-up/3 has no value for 'solar'"):
        carbon_accounts(week, plain.calendar, plain.runs, plain.evaluation)
