"""Own supply and agreements in the site file: what they mean, and a sentence for each fault."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planner.config import SiteFaults, site_from_text, starter_site
from planner.errors import GapInSeries
from planner.gather import gather
from power.battery import FREE
from power.export import GridExport
from power.generation import Generator
from power.sun import Plane
from power.wind import NREL_5MW

NOW = datetime(2024, 5, 10, tzinfo=UTC)
STORE = "[block.battery]\nenergy_kwh = 100\ncharge_kw = 50\ndischarge_kw = 50\nwear_cost_per_kwh = 0.03\n"
SOLAR = "[block.solar] # leave out what you do not have\npeak_kw = 40\n"
GENERATOR = '[[block.generator]]\nname = "sets"\nunit_kw = 20\nfuel_cost_per_kwh = 0.2\ndirect_gco2_per_kwh = 520\n'
WIND = "[block.wind]\nrated_kw = 50\nhub_height_m = 80\n"
BATTERY = "[block.battery]\nenergy_kwh = 100\nc_rate_per_h = 0.5\nwear_cost_per_kwh = 0.02\n"
FARM = "wind = { rated_kw = 500, hub_height_m = 100 }\n"
PPA = f'[[ppa]]\nname = "farm"\nkind = "as_produced"\nstrike_per_kwh = 0.06\n{FARM}'


def text_of(own: str = "", ppa: str = "", basis: str = "direct") -> str:
    """The starter site with tables of its block in place of solar array and battery, and agreements at its end."""
    text = starter_site().replace('basis = "direct"', f'basis = "{basis}"')
    assert SOLAR in text
    assert STORE in text
    return text.replace(STORE, "", 1).replace(SOLAR, own, 1) + "\n" + ppa


def site_of(*args: str):
    return site_from_text(text_of(*args), Path("site.toml"))


def fault_of(*args: str) -> str:
    with pytest.raises(SiteFaults) as refused:
        site_of(*args)
    return str(refused.value)


def test_a_flat_array_has_no_plane_and_a_tilted_one_faces_the_equator():
    flat = site_of(SOLAR).blocks[0].solar
    assert flat.plane is None
    tilted = site_of(SOLAR + "tilt_deg = 30\n")
    place = tilted.place
    assert tilted.blocks[0].solar.plane == Plane(place.latitude, place.longitude, 30.0, 180.0)
    tracker = site_of(SOLAR + "tracking = true\nmax_angle_deg = 50\nground_cover_share = 0.4\nazimuth_deg = 175\n")
    assert tracker.blocks[0].solar.plane == Plane(
        place.latitude, place.longitude, 0.0, 175.0, tracking=True, max_angle_deg=50.0, ground_cover_share=0.4
    )


def test_wind_has_a_curve_of_its_own_or_the_reference():
    assert site_of(WIND).blocks[0].wind.curve == NREL_5MW
    own = site_of(WIND + "curve = [[3, 0], [12, 1], [25, 1]]\nmeasured_height_m = 10\n").blocks[0].wind
    assert own.curve == ((3.0, 0.0), (12.0, 1.0), (25.0, 1.0))
    assert own.measured_height_m == 10.0


def test_a_battery_by_its_c_rate_and_its_replacement():
    own = BATTERY.replace(
        "wear_cost_per_kwh = 0.02", "replacement_cost_per_kwh = 150\ncycles = 6000\ndepth_share = 0.9"
    )
    found = site_of(own + 'final_rule = "free"\nfinal_worth_per_kwh = 0.05\nreserve_min = 5\n').blocks[0].battery
    assert (found.charge_kw, found.discharge_kw) == (50.0, 50.0)
    assert found.wear_cost_per_kwh == pytest.approx(150 / (6000 * 0.9 * 0.922))
    assert (found.final_rule, found.final_worth_per_kwh, found.reserve_min) == (FREE, 0.05, 5.0)


def test_a_generator_by_its_fuel_and_the_carbon_of_the_plans_basis():
    own = (
        '[[block.generator]]\nname = "sets"\nunits = 3\nunit_kw = 20\nfuel_price_per_kwh = 0.05\n'
        "generating_efficiency = 0.5\ndirect_gco2_per_kwh = 500\nlifecycle_gco2_per_kwh = 590\n"
        "available_from = 2024-05-14T00:00:00\n"
    )
    (found,) = site_of(own).blocks[0].generators
    assert found == Generator(
        "sets", 3, 20.0, 0.4, 1.0, 1.0, 0.0, 0.1, 500.0, available_from=datetime(2024, 5, 13, 22, tzinfo=UTC)
    )
    (other,) = site_of(own, "", "lifecycle").blocks[0].generators
    assert other.factor_gco2_per_kwh == 590.0


def test_export_and_agreements():
    site = site_of("[block.export]\nlimit_kw = 20\nprice_share = 0.9\nfee_per_kwh = 0.01\n", PPA + "share = 0.4\n")
    assert site.blocks[0].export == GridExport(20.0, 0.9, 0.01)
    (farm,) = site.ppas
    assert (farm.technology, farm.share, farm.boundary, farm.physical) == ("wind", 0.4, site.place.zone, True)
    assert site.has_wind
    assert not site.has_solar


def test_wind_is_asked_for_only_where_something_turns_in_it():
    week = gather(site_of(), week="2024-W20", now=NOW)
    assert week.signals.wind_speed_m_per_s is None
    windy = gather(site_of(WIND), week="2024-W20", now=NOW)
    assert windy.signals.wind_speed_m_per_s.max() > 5.0
    assert "wind_speed_m_per_s" in {entry.signal for entry in windy.provenance}
    assert windy.wind_kw(windy.blocks[0]).max() > 10.0
    # the digest of a week without own supply is what it was before there was any
    assert b'"wind"' not in week.canonical()
    assert b"generators" not in week.canonical()


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (SOLAR + "azimuth_deg = 90\n", "azimuth_deg: does nothing for modules that lie flat"),
        (SOLAR + "tilt_deg = 20\nmax_angle_deg = 50\n", "max_angle_deg: does nothing without tracking"),
        (WIND + "curve = [[12, 1], [3, 0]]\n", "its wind speeds do not rise"),
        (WIND + "curve = [[3, 0], [12, 50]]\n", "a share of rated power is above 1"),
        (BATTERY + "charge_kw = 50\n", "stands beside c_rate_per_h"),
        (BATTERY.replace("c_rate_per_h = 0.5\n", "charge_kw = 50\n"), "discharge_kw: is missing"),
        (BATTERY.replace("wear_cost_per_kwh = 0.02\n", ""), "nothing says what a kWh discharged wears off"),
        (BATTERY + "cycles = 6000\n", "cycles: does nothing beside wear_cost_per_kwh"),
        (BATTERY + "final_worth_per_kwh = 0.05\n", "final_worth_per_kwh: does nothing unless the end is free"),
        (BATTERY + 'final_rule = "free"\nfinal_share = 0.5\n', 'does nothing with final_rule = "free"'),
        (GENERATOR.replace("direct_", "lifecycle_"), "is missing, and the plan counts direct carbon"),
        (GENERATOR.replace("fuel_cost_per_kwh = 0.2\n", ""), "nothing says what a kWh generated costs"),
        (GENERATOR + "generating_efficiency = 0.4\n", "does nothing beside fuel_cost_per_kwh"),
        (GENERATOR + "units = 2\ninitial_units = 3\n", "3 units run of 2"),
        (
            GENERATOR.replace("= 20", "= 2500") + "units = 2\n",
            "generators 'sets' of 5000 kW beside a capacity of 100 kW",
        ),
        (BATTERY.replace("= 100", "= 10000"), "battery.c_rate_per_h: battery power of 5000 kW beside a capacity"),
        (GENERATOR + GENERATOR, "'sets' is the name of an earlier group"),
        (GENERATOR + "available_from = 2024-05-14T00:00:00\navailable_until = 2024-05-13T00:00:00\n", "is not after"),
        (
            "[block.export]\nlimit_kw = 20\nfixed_per_kwh = 0.1\nprice_share = 1.0\n",
            "does nothing beside fixed_per_kwh",
        ),
        ("grid_kw = 1e7\n", "is above the block's capacity"),
    ],
)
def test_each_fault_of_own_supply_is_told(own, said):
    if own.startswith("grid_kw"):
        text = text_of().replace("[block.cooling]\n", f"{own}\n[block.cooling]\n", 1)
        with pytest.raises(SiteFaults, match=said):
            site_from_text(text, Path("site.toml"))
    else:
        assert said in fault_of(own)


@pytest.mark.parametrize(
    ("ppa", "said"),
    [
        (PPA.replace(FARM, ""), "has one farm, and this has 0"),
        (PPA + "solar = { peak_kw = 10 }\n", "has one farm, and this has 2"),
        (PPA + "baseload_kw = 10\n", "baseload_kw: does nothing for an agreement as produced"),
        (PPA.replace("as_produced", "baseload"), "is missing, and the agreement is a baseload"),
        (PPA + 'settlement = "difference"\nsale_share = 0.9\n', "does nothing for a contract for difference"),
        (PPA + PPA, "'farm' is the name of an earlier ppa"),
    ],
)
def test_each_fault_of_an_agreement_is_told(ppa, said):
    assert said in fault_of("", ppa)


def test_an_agreement_needs_the_carbon_of_the_plans_basis():
    assert "lifecycle_gco2_per_kwh: is missing" in fault_of("", PPA, "lifecycle")


def test_a_farm_by_its_hourly_output(tmp_path):
    text = text_of("", PPA.replace(FARM, 'output_csv = "farm.csv"\n') + "share = 0.5\n")
    start = datetime(2024, 5, 12, 20, tzinfo=UTC)
    rows = [f"{start + timedelta(hours=i):%Y-%m-%dT%H:%MZ},{i}" for i in range(170)]

    def site(lines):
        (tmp_path / "farm.csv").write_text("\n".join(["start_utc,output_kw", *lines]), "utf-8")
        return site_from_text(text, tmp_path / "site.toml")

    week = gather(site(rows), week="2024-W20", now=NOW)
    # the week starts at 22:00 UTC: its first hour is the third of the file, half of which is bought
    assert week.ppa_kw(week.ppas[0])[:3].tolist() == [1.0, 1.5, 2.0]
    assert len(week.canonical()) > 0
    with pytest.raises(GapInSeries, match=r"the farm of agreement 'farm' in .* covers"):
        gather(site(rows[:100]), week="2024-W20", now=NOW)
    with pytest.raises(SiteFaults, match=r"farm\.csv:3: .*is '-1'"):
        site([rows[0], rows[1].replace(",1", ",-1")])
    (tmp_path / "farm.csv").unlink()
    with pytest.raises(SiteFaults, match="output_csv"):
        site_from_text(text, tmp_path / "site.toml")
