"""The site file as a whole: what it means, and one sentence with line and mend for what can be wrong in it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planner.config import SiteFaults, site_from_text, starter_site
from planner.config.build import ALWAYS
from tests.starter import FILE, assert_told, edited, faults_of, site_of


def test_the_starter_site_is_sound_and_has_no_warnings():
    site = site_from_text(starter_site(), FILE)
    assert site.warnings == ()
    assert site.name == "my-site"
    assert [run.name for run in site.runs] == ["assistant-8b", "search-1b", "vision-3b"]


def test_times_without_an_offset_are_site_time():
    site = site_of()
    assert site.runs[0].stages[0].deadline == datetime(2024, 5, 16, 16, tzinfo=UTC)  # 18:00 in Berlin, summer
    assert site.blocks[0].power.deratings[0].start == datetime(2024, 5, 15, 6, tzinfo=UTC)


def test_times_with_an_offset_are_taken_as_written():
    site = site_of(("deadline = 2024-05-16T18:00:00", "deadline = 2024-05-16T18:00:00-07:00"))
    assert site.runs[0].stages[0].deadline == datetime(2024, 5, 17, 1, tzinfo=UTC)


def test_left_out_keys_have_their_defaults():
    site = site_of()
    run, block = site.runs[2], site.blocks[0]
    assert (run.priority, run.min_run_h, run.min_pause_h, run.max_pauses) == (3, 2.0, 1.0, 7)
    assert run.earliest_start == ALWAYS
    assert block.solar.inverter_kw == block.solar.peak_kw == 40.0
    assert block.battery.min_share == 0.1
    assert site.pools[0].island == "racks"
    assert site.pools[0].commissioning == ((ALWAYS, 64),)
    assert site.flat_price_per_kwh is None


FAULTS = {
    "unknown zone of time": (
        'timezone = "Europe/Berlin"',
        'timezone = "Europe/Berlln"',
        "did you mean 'Europe/Berlin'",
    ),
    "unknown demo zone": ('zone = "demo-central"', 'zone = "demo-centrl"', "did you mean 'demo-central'"),
    "currency of the demo": ('currency = "EUR"', 'currency = "USD"', 'set it to "EUR"'),
    "form of the currency": ('currency = "EUR"', 'currency = "euro"', 'write it like currency = "EUR"'),
    "missing key": ("latitude = 51.0\n", "", "add latitude = ..."),
    "not finite": ("latitude = 51.0", "latitude = nan", "no finite number"),
    "too high": ("latitude = 51.0", "latitude = 151.0", "151.0 is above 90"),
    "truth value": ("latitude = 51.0", "latitude = true", "true, a truth value; a number is wanted"),
    "no week": ('week = "2024-W20"', 'week = "2024-W54"', "'2024-W54' is no ISO week"),
    "unknown table": ("[carbon]", "[carbn]", "did you mean 'carbon'"),
    "unknown basis": ('basis = "direct"', 'basis = "dirct"', "did you mean 'direct'"),
    "runs_csv in a table": ("month_to_date_peak_kw = 60 #", 'runs_csv = "runs.csv" #', "to the top of the file"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_one_fault_is_told_once_on_its_line_with_a_mend(case):
    assert_told(*FAULTS[case])


def test_a_fault_names_the_line_where_the_key_stands():
    text = edited(("min_run_h = 4", "min_run_h = 169"))
    (fault,) = faults_of(text)
    assert text.split("\n")[fault.line - 1] == "min_run_h = 169"
    assert fault.key == "run[0].min_run_h"
    assert str(fault).startswith(f"site.toml:{fault.line}: run[0].min_run_h: 169 h")


def test_a_wrong_key_does_not_hide_the_other_faults_of_its_table():
    faults = faults_of(
        edited(("gpus = 32", 'gpus = "32"'), ("min_run_h = 4", "min_run_h = 169"), ("basis =", "bsis ="))
    )
    assert [f.key for f in faults] == ["carbon.bsis", "run[0].gpus", "run[0].min_run_h"]


def test_missing_tables_are_named_with_what_to_add():
    faults = faults_of('[site]\nname = "x"\n')
    told = {f.key: f.fix for f in faults}
    assert told["block"] == "add a table [[block]]"
    assert told["prices"] == "add a table [prices]"
    assert told["site.timezone"] == "add timezone = ..."
    assert told["run"].startswith("add a [[run]] table")


@pytest.mark.parametrize(("old", "new"), [("[[block]]", "[block]"), ("[[pool]]", "[pool]")])
def test_a_single_table_in_place_of_a_list_is_told(old, new):
    (fault, *_) = [f for f in faults_of(edited((old, new))) if "a list of tables is wanted" in f.what]
    assert fault.fix == f"write [{new}]"


def test_many_faults_are_cut_in_the_message_but_kept_in_the_list():
    run = '[[run]]\nname = "r{}"\ngpus = 0\ntokens_per_gpu_s = 1\nstages = []\n'
    faults = faults_of(starter_site() + "".join(run.format(i) for i in range(60)))
    assert len(faults) == 120
    with pytest.raises(SiteFaults, match="and 70 more"):
        site_from_text(starter_site() + "".join(run.format(i) for i in range(60)), FILE)
