"""The cooling plant of a block: settings, tank, heat pumps, reserve, and what can be wrong with them."""

from __future__ import annotations

import json
import tomllib

import jsonschema
import pytest

from planner.config import site_schema
from planner.heat import HeatBuyer
from tests.starter import assert_told, edited, faults_of, site_of
from thermal.catalogue import describe
from thermal.reserve import Reserve

RATED = "rated_it_kw = 90\n"


def with_cooling(*lines):
    return (RATED, RATED + "\n".join(lines) + "\n")


def test_settings_of_the_plant_go_to_the_plant():
    assert site_of(("rated_it_kw = 90", "rated_it_kw = 90\nsupply_limit_c = 42")).blocks[0].plant.supply_limit_c == 42.0


FAULTS = {
    "plant of another unit": ("rated_it_kw = 90", "rated_it_kw = 0.09", "W, kW and MW are mixed up"),
    "unknown cooling setting": ("rated_it_kw = 90", "rated_it_kw = 90\nsuply_limit_c = 40", "mean 'supply_limit_c'"),
    "cooling setting as text": (
        "rated_it_kw = 90",
        'rated_it_kw = 90\nsupply_limit_c = "40"',
        "a number of C is wanted",
    ),
    "cooling out of range": ("rated_it_kw = 90", "rated_it_kw = 90\nliquid_heat_share = 1.5", "liquid_heat_share"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_one_fault_is_told_once_on_its_line_with_a_mend(case):
    assert_told(*FAULTS[case])


def test_a_graded_setting_counts_like_a_plain_one_and_keeps_its_source():
    graded = site_of(
        with_cooling('cdu_approach_k = { value = 3.5, grade = "measured", source = "records, May" }', "loop_rise_k = 9")
    )
    plain = site_of(with_cooling("cdu_approach_k = 3.5", "loop_rise_k = 9.0"))
    plant = graded.blocks[0].plant
    assert plant.loop == plain.blocks[0].plant.loop
    told = {entry.name: entry for entry in describe(plant)}
    assert (told["cdu_approach_k"].grade, told["cdu_approach_k"].source) == ("measured", "records, May")
    assert told["loop_rise_k"].grade == "assumed"


def test_all_faults_of_a_plant_are_told_at_once():
    faults = faults_of(
        edited(
            with_cooling(
                "cdu_approach_k = 30",
                'sequence = "cheapest"',
                "chiller_count = 2.5",
                'loop_rise_k = { value = "ten" }',
                'pad_effectiveness = { valu = 0.7, grade = "measured" }',
                'supply_limit_c = { value = 46, grade = "measured" }',
                'facility_rise_k = { value = 10, grade = "guessed" }',
                "lop_rise_k = 3",
            )
        )
    )
    told = {fault.key.removeprefix("block[0].cooling."): f"{fault.what}; {fault.fix}" for fault in faults}
    assert "is 30 K, outside" in told["cdu_approach_k"]
    assert "site, optimal" in told["sequence"]
    assert "a whole number is wanted" in told["chiller_count"]
    assert "is 'ten'; a number of K is wanted" in told["loop_rise_k.value"]
    assert "did you mean 'value'" in told["pad_effectiveness.valu"]
    assert "is missing" in told["pad_effectiveness.value"]
    assert "'measured' without a source" in told["supply_limit_c.grade"]
    assert "'guessed' is not allowed" in told["facility_rise_k.grade"]
    assert "did you mean 'loop_rise_k'" in told["lop_rise_k"]


@pytest.mark.parametrize("value", ["nan", "inf", "true", "[1, 2]", "2024-05-13"])
def test_what_is_no_number_is_no_setting(value):
    (fault,) = faults_of(edited(with_cooling(f"cdu_approach_k = {value}")))
    assert "cdu_approach_k" in fault.key
    (fault,) = faults_of(edited(with_cooling(f"cdu_approach_k = {{ value = {value} }}")))
    assert fault.key.endswith("cdu_approach_k.value")


def test_a_setting_that_would_do_nothing_is_refused():
    for line, size in (
        ("store_rise_k = 8", "store_volume_m3"),
        ("heat_pump_supply_c = 70", "heat_pump_capacity_share"),
    ):
        (fault,) = faults_of(edited(with_cooling(line)))
        assert fault.key == f"block[0].cooling.{line.split()[0]}"
        assert fault.what == f"would do nothing: {size} is 0"


HEAT = ("[block.solar]", "[block.heat]\nprice_per_kwh = 0.03\ndemand_kw = 20\n\n[block.solar]")


def test_a_tank_and_a_buyer_of_heat_are_read():
    tank = 'store_volume_m3 = { value = 40, grade = "datasheet", source = "its plate" }'
    site = site_of(with_cooling(tank, "store_initial_share = 0.8", "heat_pump_capacity_share = 0.2"), HEAT)
    loop = site.blocks[0].plant.loop
    assert (loop.store.volume_m3, loop.store.initial_share, loop.store.final_share) == (40.0, 0.8, 0.5)
    assert [(p.setting, p.grade) for p in site.blocks[0].plant.provenance] == [("store_volume_m3", "datasheet")]
    assert site.blocks[0].heat == HeatBuyer(0.03, 20.0)
    by_hour = f"hour_share = [{', '.join(['0.0'] * 8 + ['1.0'] * 16)}]\nmonths = [1, 5]\nsupply_c = 80"
    heat = (HEAT[0], HEAT[1].replace("demand_kw = 20", f"demand_kw = 20\n{by_hour}"))
    buyer = site_of(with_cooling("heat_pump_capacity_share = 0.2"), heat).blocks[0].heat
    assert buyer == HeatBuyer(0.03, 20.0, (0.0,) * 8 + (1.0,) * 16, (1, 5))


@pytest.mark.parametrize(
    ("edits", "key", "what"),
    [
        ([HEAT], "heat", "has no heat pumps whose heat could be bought"),
        (
            [with_cooling("heat_pump_capacity_share = 0.2")],
            "cooling.heat_pump_capacity_share",
            "is above 0, but nobody buys the heat",
        ),
        (
            [
                with_cooling("heat_pump_capacity_share = 0.2", "heat_pump_supply_c = 60"),
                (HEAT[0], HEAT[1].replace("demand_kw = 20", "demand_kw = 20\nsupply_c = 75")),
            ],
            "heat.supply_c",
            "the buyer asks for 75 C, but the heat pumps give 60 C",
        ),
        (
            [
                with_cooling("heat_pump_capacity_share = 0.2"),
                (HEAT[0], HEAT[1].replace("demand_kw = 20", "demand_kw = 20\nmonths = [13]")),
            ],
            "heat.months[0]",
            "13 is above 12",
        ),
        (
            [with_cooling("store_volume_m3 = 40", "store_final_share = 0.9")],
            "cooling",
            "above store_initial_share of 0.5",
        ),
    ],
)
def test_tank_heat_pumps_and_buyer_fit_together(edits, key, what):
    (fault,) = faults_of(edited(*edits))
    assert fault.key == f"block[0].{key}"
    assert what in fault.what


def test_values_that_contradict_each_other_are_one_fault_of_the_plant():
    (fault,) = faults_of(edited(with_cooling("supply_setpoint_c = 44", "supply_limit_c = 42")))
    assert fault.key == "block[0].cooling"
    assert "above supply_limit_c" in fault.what


def test_a_reserve_is_read_and_is_off_where_nothing_is_said():
    assert site_of().blocks[0].reserve == Reserve()
    kept = site_of(("capacity_kw = 100 ", "cooling_n1 = true\nride_through_restart_s = 300\ncapacity_kw = 100 "))
    assert kept.blocks[0].reserve == Reserve(one_out=True, restart_s=300.0)


def test_no_unit_can_be_spared_of_a_single_one():
    (fault,) = faults_of(
        edited(("capacity_kw = 100 ", "cooling_n1 = true\ncapacity_kw = 100 "), with_cooling("cdu_count = 1"))
    )
    assert fault.key == "block[0].cooling_n1"
    assert "a single one of: cdu" in fault.what


def test_a_room_without_liquid_cannot_ride_through():
    (fault,) = faults_of(
        edited(
            ("capacity_kw = 100 ", "ride_through_restart_s = 300\ncapacity_kw = 100 "),
            ('kind = "dry_cooler"', 'kind = "room_air"'),
        )
    )
    assert fault.key == "block[0].ride_through_restart_s"
    assert "no liquid loop" in fault.what


def test_the_schema_takes_plain_and_graded_settings_and_no_others():
    validator = jsonschema.Draft202012Validator(site_schema())
    for line, sound in (
        ("cdu_approach_k = 3.5", True),
        ('cdu_approach_k = { value = 3.5, grade = "measured", source = "records" }', True),
        ("cdu_approach_k = 99", False),
        ('cdu_approach_k = { grade = "measured" }', False),
        ('sequence = "optimal"', True),
        ('sequence = "cheapest"', False),
    ):
        values = json.loads(json.dumps(tomllib.loads(edited(with_cooling(line))), default=str))
        assert validator.is_valid(values) == sound, line
