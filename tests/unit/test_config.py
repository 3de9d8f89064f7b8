"""The site file: what it means, and one sentence with line and mend for everything that can be wrong in it."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from planner.config import SiteFaults, load_site, schema_text, site_from_text, site_schema, starter_files, starter_site
from planner.config.build import ALWAYS, default_on_off_grid_h
from planner.config.catalogue import GRADES, gpu_catalogue, gpu_facts
from planner.errors import ConfigError
from planner.heat import HeatBuyer
from power.gpu import at_limit
from thermal.catalogue import describe
from thermal.reserve import Reserve

SITES = ("lab-8gpu", "block-20mw", "superfactory")
FILE = Path("site.toml")


def edited(*changes):
    """Return the starter site with each (old, new) put in place."""
    text = starter_site()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def faults_of(text, file=FILE):
    with pytest.raises(SiteFaults) as caught:
        site_from_text(text, file)
    return caught.value.faults


def site_of(*changes):
    return site_from_text(edited(*changes), FILE)


# --- what a sound file means -------------------------------------------------------------------------------------


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


def test_a_rate_holds_at_the_gpus_highest_limit():
    option = site_of().runs[0].options[0]
    assert option.tokens_per_gpu_s == 8400.0
    assert option.points[-1].gpu_power_limit_w == 700.0
    assert option.points[-1].relative_throughput == 1.0


def test_limits_of_a_run_cut_its_points_and_scale_its_rate():
    site = site_of(("priority = 2 # 1 first, 5 last", "power_limits_w = [437.5, 525, 500]"))
    option = site.runs[0].options[0]
    _, throughput = at_limit(gpu_catalogue()["H100-SXM"].points, 525.0)
    assert option.points[-1].gpu_power_limit_w == 525.0
    assert option.points[-1].relative_throughput == 1.0
    assert option.tokens_per_gpu_s == pytest.approx(8400.0 * float(throughput))
    slower = option.points[0]
    assert slower.gpu_power_limit_w == 437.5
    assert slower.relative_throughput * option.tokens_per_gpu_s == pytest.approx(8400.0 * 0.784)


def test_rates_by_gpu_type_choose_the_pools():
    other = '[[pool]]\nname = "old"\nblock = "hall"\ngpu = "A100-SXM"\ncount = 64\n\n[[run]]'
    site = site_of(("tokens_per_gpu_s = 8400", "tokens_per_gpu_s = { A100-SXM = 3000 }"), ("[[run]]", other))
    assert [(o.pool, o.tokens_per_gpu_s) for o in site.runs[0].options] == [("old", 3000.0)]
    assert [o.pool for o in site.runs[1].options] == ["racks", "old"]


def test_pools_too_small_for_the_gang_are_no_option():
    small = '[[pool]]\nname = "small"\nblock = "hall"\ngpu = "H100-SXM"\ncount = 16\n\n[[run]]'
    site = site_of(("[[run]]", small))
    assert [o.pool for o in site.runs[0].options] == ["racks"]
    assert [o.pool for o in site.runs[1].options] == ["racks", "small"]


def test_own_gpu_types_stand_in_place_of_the_catalogue():
    own = (
        "[gpu.H100-SXM]\nidle_w_per_gpu = 200\npoints = [{ gpu_power_limit_w = 350, it_w_per_gpu = 600, "
        "relative_throughput = 0.7 }, { gpu_power_limit_w = 700, it_w_per_gpu = 1000, relative_throughput = 1.0 }]\n"
    )
    site = site_from_text(starter_site() + own, FILE)
    assert site.pools[0].gpu.idle_w_per_gpu == 200.0
    assert [p.it_w_per_gpu for p in site.runs[0].options[0].points] == [600.0, 1000.0]


def test_commissioning_steps_are_kept_in_order():
    steps = "commissioning = [{ since = 2024-05-14T06:00:00, count = 32 }, { since = 2024-05-16T06:00:00, count = 64 }]"
    pool = site_of(("count = 64", steps)).pools[0]
    assert pool.commissioning == (
        (datetime(2024, 5, 14, 4, tzinfo=UTC), 32),
        (datetime(2024, 5, 16, 4, tzinfo=UTC), 64),
    )


def test_settings_of_the_plant_go_to_the_plant():
    assert site_of(("rated_it_kw = 90", "rated_it_kw = 90\nsupply_limit_c = 42")).blocks[0].plant.supply_limit_c == 42.0


@pytest.mark.parametrize(
    ("work_h", "window_h", "min_run_h", "slot_h", "grid_h"),
    [
        (100.0, 100.0, 8.0, 1.0, 4.0),
        (12.0, 12.0, 4.0, 1.0, 4.0),  # exactly three cells
        (11.9, 100.0, 8.0, 1.0, 2.0),  # the work is too short for 4 h
        (100.0, 5.0, 8.0, 0.25, 1.0),  # a stage window is
        (100.0, 100.0, 3.0, 0.25, 2.0),  # never longer than the shortest spell
        (100.0, 100.0, 0.5, 0.25, 0.25),
        (2.0, 100.0, 8.0, 0.5, 0.5),
        (2.0, 100.0, 8.0, 1.0, 1.0),  # no finer than a slot
    ],
)
def test_grid_of_starts_and_stops_by_the_rule(work_h, window_h, min_run_h, slot_h, grid_h):
    assert default_on_off_grid_h(work_h, window_h, min_run_h, slot_h) == grid_h


def test_grid_of_starts_and_stops_as_the_file_says():
    site = site_of(
        ("slot_minutes = 60 ", "on_off_grid_h = 3\nslot_minutes = 60 "), ("min_run_h = 2\n", "on_off_grid_h = 6\n")
    )
    assert [run.on_off_grid_h for run in site.runs] == [3.0, 6.0, 3.0]


# --- what can be wrong -------------------------------------------------------------------------------------------

CSV_PRICE = """[sources.price]
provider = "csv"
path = "no.csv"
time_column = "t"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "actual"
columns = { price = { column = "p", unit = "EUR/MWh" } }
"""

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
    "infinite": ("capacity_kw = 100 ", "capacity_kw = inf ", "no finite number"),
    "too high": ("latitude = 51.0", "latitude = 151.0", "151.0 is above 90"),
    "truth value": ("latitude = 51.0", "latitude = true", "true, a truth value; a number is wanted"),
    "no week": ('week = "2024-W20"', 'week = "2024-W54"', "'2024-W54' is no ISO week"),
    "unknown table": ("[carbon]", "[carbn]", "did you mean 'carbon'"),
    "unknown basis": ('basis = "direct"', 'basis = "dirct"', "did you mean 'direct'"),
    "unit in a text": ("capacity_kw = 100 ", 'capacity_kw = "100 kW" ', "without quotes and without a unit"),
    "capacity below 1 kW": ("capacity_kw = 100 ", "capacity_kw = 0.1 ", "0.1 kW is below 1 kW"),
    "MW written as kW": ("count = 64", "count = 64000", "64000 GPUs draw 67,200 kW at full power"),
    "watts for kW in solar": ("peak_kw = 40", "peak_kw = 40000", "solar peak of 40000 kW beside a capacity of 100 kW"),
    "plant of another unit": ("rated_it_kw = 90", "rated_it_kw = 0.09", "W, kW and MW are mixed up"),
    "unknown cooling setting": ("rated_it_kw = 90", "rated_it_kw = 90\nsuply_limit_c = 40", "mean 'supply_limit_c'"),
    "cooling setting as text": (
        "rated_it_kw = 90",
        'rated_it_kw = 90\nsupply_limit_c = "40"',
        "a number of C is wanted",
    ),
    "cooling out of range": ("rated_it_kw = 90", "rated_it_kw = 90\nliquid_heat_share = 1.5", "liquid_heat_share"),
    "service dates swapped": (
        "capacity_kw = 100 ",
        "available_from = 2024-06-01T00:00:00\navailable_until = 2024-05-01T00:00:00\ncapacity_kw = 100 ",
        "is not after available_from",
    ),
    "maintenance swapped": ("start = 2024-05-15T08:00:00", "start = 2024-05-15T18:00:00", "swap them"),
    "maintenance of no length": ("start = 2024-05-15T08:00:00", "start = 2024-05-15T12:00:00", "set a later end"),
    "maintenance above capacity": ("capacity_kw = 60", "capacity_kw = 600", "600 kW is above the block's capacity"),
    "battery outside its window": ("energy_kwh = 100", "energy_kwh = 100\ninitial_share = 0.95", "0.1 to 0.9"),
    "battery window empty": ("energy_kwh = 100", "energy_kwh = 100\nmin_share = 0.9", "set max_share above it"),
    "block of the pool": ('block = "hall"', 'block = "hal"', "did you mean 'hall'"),
    "GPU of the pool": ('gpu = "H100-SXM"', 'gpu = "H100-SMX"', "did you mean 'H100-SXM'"),
    "count and steps": (
        "count = 64",
        "count = 64\ncommissioning = [{ since = 2024-05-14T06:00:00, count = 32 }]",
        "both count and commissioning",
    ),
    "neither count nor steps": ("count = 64\n", "", "neither count nor commissioning"),
    "steps out of order": (
        "count = 64",
        "commissioning = [{ since = 2024-05-14T06:00:00, count = 64 }, { since = 2024-05-14T06:00:00, count = 70 }]",
        "sort the steps",
    ),
    "half a GPU": ("count = 64", "count = 64.5", "a whole number is wanted"),
    "gang too large": ("gpus = 32", "gpus = 65", "a gang of 65 GPUs fits no pool"),
    "unknown pool": ("priority = 2 #", 'pools = ["rack"] #', "did you mean 'racks'"),
    "no pools": ("priority = 2 #", "pools = [] #", "give pools at least one entry"),
    "priority": ("priority = 2 #", "priority = 6 #", "6 is above 5"),
    "unknown GPU of a rate": ("tokens_per_gpu_s = 8400", "tokens_per_gpu_s = { H100 = 8400 }", "mean 'H100-SXM'"),
    "no rate for the pool": ("tokens_per_gpu_s = 8400", "tokens_per_gpu_s = { B200 = 8400 }", "no speed for H100-SXM"),
    "negative rate": ("tokens_per_gpu_s = 8400", "tokens_per_gpu_s = { H100-SXM = -1 }", "not above 0"),
    "rate as text": ("tokens_per_gpu_s = 8400", 'tokens_per_gpu_s = "fast"', "a number is wanted"),
    "limit out of range": ("priority = 2 #", "power_limits_w = [90] #", "90 W is outside 200 to 700 W"),
    "stages out of order": ("deadline = 2024-05-19T18:00:00", "deadline = 2024-05-16T17:00:00", "sort the stages"),
    "stage named twice": ('name = "instruct"', 'name = "pretrain"', "name of an earlier stage"),
    "no stages": (
        'stages = [{ name = "train", tokens = 2.2e11, deadline = 2024-05-18T12:00:00 }]',
        "stages = []",
        "empty",
    ),
    "deadline as text": ("deadline = 2024-05-19T18:00:00", 'deadline = "2024-05-19T18:00:00"', "without quotes"),
    "deadline as date": ("deadline = 2024-05-19T18:00:00", "deadline = 2024-05-19", "such as 2024-05-19T18:00:00"),
    "hour that exists twice": ("2024-05-19T18:00:00", "2024-10-27T02:30:00", "exists twice in Europe/Berlin"),
    "hour that does not exist": ("2024-05-13T12:00:00", "2024-03-31T02:30:00", "does not exist in Europe/Berlin"),
    "start after the deadline": ("2024-05-13T12:00:00", "2024-05-18T12:00:00", "not before the first deadline"),
    "more done than there is": ("tokens_done = 5e10", "tokens_done = 5e11", "5e+11 tokens are done of 4e+11"),
    "spell over the horizon": ("min_run_h = 4", "min_run_h = 169", "longer than the horizon of 168 h"),
    "pause over the horizon": ("min_pause_h = 2", "min_pause_h = 169", "longer than the horizon of 168 h"),
    "grid no whole slots": ("min_run_h = 4", "on_off_grid_h = 1.5", "no whole count of slots of 60 min"),
    "grid below a slot": ("min_run_h = 4", "on_off_grid_h = 0.25", "set it to 1"),
    "grid over the horizon": ("min_run_h = 4", "on_off_grid_h = 200", "longer than the horizon"),
    "name used twice": ('name = "search-1b"', 'name = "vision-3b"', "name of an earlier run"),
    "name empty": ('name = "search-1b"', 'name = ""', "give name a text"),
    "name too long": ('name = "search-1b"', f'name = "{"x" * 121}"', "121 characters"),
    "running in no pool": ("tokens_done = 5e10", 'running_in = "rack"', "did you mean 'racks'"),
    "unknown provider": ("# [sources.carbon]", '[sources.carbon]\nprovider = "demmo"\n#', "did you mean 'demo'"),
    "provider of other things": (
        "# [sources.carbon]",
        '[sources.price]\nprovider = "open-meteo"\n#',
        "open-meteo gives weather, not price",
    ),
    "option of the provider": (
        "# [sources.carbon]",
        '[sources.carbon]\nprovider = "demo"\nbasiss = "direct"\n#',
        "has no option 'basiss'",
    ),
    "file of the provider": (
        "# [sources.carbon]",
        f"{CSV_PRICE}\n#",
        "there is no file no.csv",
    ),
    "runs_csv in a table": ("month_to_date_peak_kw = 60 #", 'runs_csv = "runs.csv" #', "to the top of the file"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_one_fault_is_told_once_on_its_line_with_a_mend(case):
    old, new, words = FAULTS[case]
    text = edited((old, new))
    (fault,) = faults_of(text)
    assert words in f"{fault.what} {fault.fix}"
    assert fault.fix
    assert fault.line is not None


def test_a_fault_names_the_line_where_the_key_stands():
    text = edited(("min_run_h = 4", "min_run_h = 169"))
    (fault,) = faults_of(text)
    assert text.split("\n")[fault.line - 1] == "min_run_h = 169"
    assert fault.key == "run[0].min_run_h"
    assert str(fault).startswith(f"site.toml:{fault.line}: run[0].min_run_h: 169 h")


def test_a_ramp_window_longer_than_the_slot_is_a_fault():
    (fault,) = faults_of(
        edited(("slot_minutes = 60 ", "slot_minutes = 15 "), ("ramp_kw_per_min = 20", "ramp_window_min = 20"))
    )
    assert "20 min, longer than a slot of 15 min" in fault.what


def test_a_gang_whose_start_is_more_than_the_ramp_is_a_fault():
    faults = faults_of(edited(("ramp_kw_per_min = 20", "ramp_kw_per_min = 0.9")))
    # By hand: 32 GPUs from 264.7 W idle to 810.6 W at the lowest point worth running; 0.9 kW/min over 15 min.
    assert [f.key for f in faults] == ["run[0].gpus", "run[2].gpus"]
    assert "a step of 17 kW; block 'hall' may change by 14 kW between slots" in faults[0].what


ON_THE_LIMIT = {
    "all tokens done": ("tokens_done = 5e10", "tokens_done = 4.0e11"),
    "a spell of the whole week": ("min_run_h = 4", "min_run_h = 168"),
    "a pause of the whole week": ("min_pause_h = 2", "min_pause_h = 168"),
    "a grid of the whole week": ("min_run_h = 4", "on_off_grid_h = 168"),
    "lowest and highest limit": ("priority = 2 #", "power_limits_w = [200, 700] #"),
    "maintenance at full capacity": ("capacity_kw = 60", "capacity_kw = 100"),
    "a full battery": ("energy_kwh = 100", "energy_kwh = 100\ninitial_share = 0.9\nfinal_share = 0.1"),
    "a gang of the whole pool": ("gpus = 32", "gpus = 64"),
    "the narrowest ramp": ("ramp_kw_per_min = 20", f"ramp_kw_per_min = {32 * (810.6 - 264.7) / 1000 / 15!r}"),
}


@pytest.mark.parametrize("case", ON_THE_LIMIT)
def test_on_the_limit_is_within_it(case):
    assert site_of(ON_THE_LIMIT[case]).warnings == ()


OVER_THE_LIMIT = {
    "equal deadlines": (
        "deadline = 2024-05-19T18:00:00",
        "deadline = 2024-05-16T18:00:00",
        "run[0].stages[1].deadline",
    ),
    "an empty maintenance": ("end = 2024-05-15T12:00:00", "end = 2024-05-15T08:00:00", "block[0].maintenance[0].end"),
    "an empty battery window": ("energy_kwh = 100", "energy_kwh = 100\nmin_share = 0.9", "block[0].battery.min_share"),
    "an empty service": (
        "capacity_kw = 100 ",
        "available_from = 2024-05-01T00:00:00\navailable_until = 2024-05-01T00:00:00\ncapacity_kw = 100 ",
        "block[0].available_until",
    ),
    "a fiftieth of the power": ("rated_it_kw = 90", "rated_it_kw = 2", "block[0].cooling.rated_it_kw"),
    "fifty times the power": ("peak_kw = 40", "peak_kw = 5000", "block[0].solar.peak_kw"),
}


@pytest.mark.parametrize("case", OVER_THE_LIMIT)
def test_what_must_differ_may_not_be_equal(case):
    old, new, key = OVER_THE_LIMIT[case]
    (fault,) = faults_of(edited((old, new)))
    assert fault.key == key


@pytest.mark.parametrize(
    ("points", "key"),
    [
        ([[350, 600, 0.7], [350, 900, 1.0]], "points[1].gpu_power_limit_w"),
        ([[350, 200, 0.7], [700, 900, 1.0]], "points[0].it_w_per_gpu"),
        ([[350, 600, 0.7], [700, 900, 0.9]], "points[1].relative_throughput"),
        ([[350, 600, 1.7], [700, 900, 1.0]], "points[0].relative_throughput"),
    ],
)
def test_points_of_an_own_gpu_type_must_be_physical(points, key):
    written = ", ".join(
        f"{{ gpu_power_limit_w = {limit}, it_w_per_gpu = {watts}, relative_throughput = {share} }}"
        for limit, watts, share in points
    )
    (fault,) = faults_of(starter_site() + f"[gpu.mine]\nidle_w_per_gpu = 200\npoints = [{written}]\n")
    assert fault.key == f"gpu.mine.{key}"


def test_a_wrong_key_does_not_hide_the_other_faults_of_its_table():
    faults = faults_of(
        edited(("gpus = 32", 'gpus = "32"'), ("min_run_h = 4", "min_run_h = 169"), ("basis =", "bsis ="))
    )
    assert [f.key for f in faults] == ["carbon.bsis", "run[0].gpus", "run[0].min_run_h"]


def test_a_wrong_pool_is_told_once_and_not_again_by_its_runs():
    (fault,) = faults_of(edited(("count = 64", "count = -64")))
    assert fault.key == "pool[0].count"


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


def test_a_ramp_that_holds_in_one_pool_only_is_a_warning():
    other = '[[block]]\nname = "b2"\ncapacity_kw = 100\nramp_kw_per_min = 0.5\n[block.cooling]\nkind = "room_air"\n'
    other += 'rated_it_kw = 90\n\n[[pool]]\nname = "slow"\nblock = "b2"\ngpu = "H100-SXM"\ncount = 64\n\n[[run]]'
    site = site_of(("[[run]]", other))
    assert len(site.warnings) == 3
    assert "run 'assistant-8b': a start of 32 GPUs" in site.warnings[0]


def test_many_faults_are_cut_in_the_message_but_kept_in_the_list():
    run = '[[run]]\nname = "r{}"\ngpus = 0\ntokens_per_gpu_s = 1\nstages = []\n'
    faults = faults_of(starter_site() + "".join(run.format(i) for i in range(60)))
    assert len(faults) == 120
    with pytest.raises(SiteFaults, match="and 70 more"):
        site_from_text(starter_site() + "".join(run.format(i) for i in range(60)), FILE)


# --- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "line"),
    [("[site\nname = 1", 1), ("a = 1\na = 2\n", 2), ('x = """open', 1), ("a = 1\nb = \n", 2), ("a = 1\nb = [1,\n", 3)],
)
def test_what_is_no_toml_is_told_with_its_line(broken, line):
    with pytest.raises(ConfigError) as caught:
        site_from_text(broken, FILE)
    assert caught.value.what.startswith(f"site.toml:{line}: no sound TOML")
    assert caught.value.fix


def test_deep_nesting_is_refused_without_a_crash():
    with pytest.raises(ConfigError, match="nested too deeply"):
        site_from_text("x = " + "[" * 100_000 + "]" * 100_000, FILE)


def test_a_missing_file_a_folder_and_a_file_of_another_encoding(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        load_site(tmp_path / "no.toml")
    with pytest.raises(ConfigError, match=r"is a folder"):
        load_site(tmp_path)
    (tmp_path / "latin.toml").write_bytes('[site]\nname = "Köln"\n'.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.toml:2: byte 0xf6 is not UTF-8"):
        load_site(tmp_path / "latin.toml")
    with pytest.raises(ConfigError, match=r"cannot be read|does not exist"):
        load_site("a\0b.toml")


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(ConfigError, match=r"17\.0 MiB; at most 16 MiB"):
        load_site(path)


def test_a_byte_order_mark_and_carriage_returns_are_fine(tmp_path):
    path = tmp_path / "Ünï côdé.toml"
    path.write_bytes(b"\xef\xbb\xbf" + starter_site().replace("\n", "\r\n").encode())
    assert load_site(path).name == "my-site"


@pytest.mark.parametrize("name", SITES)
def test_example_sites_are_sound(root, name):
    site = load_site(root / "data" / "sites" / f"{name}.toml")
    assert site.name == name
    assert site.warnings == ()


def test_example_sites_are_what_they_claim(root):
    lab, block, factory = (load_site(root / "data" / "sites" / f"{name}.toml") for name in SITES)
    assert (lab.horizon.slot_minutes, len(lab.runs), lab.pools[0].commissioning[-1][1]) == (15, 6, 8)
    assert len(block.runs) == 12
    assert {run.gpus for run in block.runs} >= {64, 4096}
    assert all(len(run.stages) == 2 for run in block.runs)
    assert block.blocks[0].solar.inverter_kw == 10_000
    assert [b.power.capacity_kw for b in factory.blocks] == [150_000, 150_000]
    assert [count for _, count in factory.pools[1].commissioning] == [18_000, 34_000, 50_000]
    gangs = sorted((run.gpus for run in factory.runs), reverse=True)
    assert gangs[:4] == [65_536, 16_384, 16_384, 16_384]
    assert len(gangs) == 24
    assert (gangs[4], gangs[-1]) == (8_192, 256)


# --- schema ------------------------------------------------------------------------------------------------------


def _as_editors_see(value):
    if isinstance(value, dict):
        return {k: _as_editors_see(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_as_editors_see(v) for v in value]
    return value.isoformat() if isinstance(value, datetime) else value


def test_the_schema_file_is_current(root):
    stored = (root / "data" / "schema" / "site.schema.json").read_text(encoding="utf-8")
    assert stored == schema_text(), "run data/schema/make_site_schema.py"


@pytest.mark.parametrize("path", [*(f"sites/{name}.toml" for name in SITES), "starter-site.toml"])
def test_bundled_site_files_fit_the_schema(root, path):
    values = _as_editors_see(tomllib.loads((root / "data" / path).read_text(encoding="utf-8")))
    jsonschema.Draft202012Validator(site_schema()).validate(values)


@pytest.mark.parametrize(
    "change",
    [
        ("capacity_kw = 100 ", "capacity_kw = 0.5 "),
        ("rated_it_kw = 90", "rated_it_kw = 90\nsuply_limit_c = 4"),
        ("[plan]", "[pln]"),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(change):
    values = _as_editors_see(tomllib.loads(edited(change)))
    assert not jsonschema.Draft202012Validator(site_schema()).is_valid(values)


def test_starter_files_name_the_schema_that_stands_beside_them():
    files = starter_files()
    first = files["site.toml"].split("\n")[0]
    assert first.removeprefix("#:schema ./") in files
    assert json.loads(files["site.schema.json"]) == site_schema()


# --- GPU types ---------------------------------------------------------------------------------------------------


def test_h100_in_its_node_by_hand():
    h100 = gpu_catalogue()["H100-SXM"]
    # 8.4 kW node: 1050 W per GPU at 700 W; draw 0.955 x 700 = 668.5 W; overhead 381.5 W; idle 74 + half of it.
    assert h100.points[-1].it_w_per_gpu == pytest.approx(1050.0, abs=0.1)
    assert h100.idle_w_per_gpu == pytest.approx(74 + 0.5 * 381.5, abs=0.1)
    assert h100.points[1].gpu_power_limit_w == 350.0
    assert h100.points[1].it_w_per_gpu == pytest.approx(0.492 * 700 + 381.5, abs=0.1)
    # the driver takes no limit under 200 W, a seventh of the way from 175 to 350 W
    assert h100.points[0].gpu_power_limit_w == 200.0
    assert h100.points[0].relative_throughput == pytest.approx(0.186 + (0.629 - 0.186) / 7, abs=1e-4)
    assert h100.held_w_per_gpu == pytest.approx(112 + 0.5 * 381.5, abs=0.1)
    assert h100.overhead_w_per_gpu == pytest.approx(381.5, abs=0.1)


def test_every_value_of_the_catalogue_has_a_grade_and_a_source():
    facts = gpu_facts()
    assert {fact.gpu for fact in facts} == {"node", *gpu_catalogue()}
    assert all(fact.grade in GRADES and len(fact.source) > 5 for fact in facts)
    # whoever takes over a value from another type says so
    assert all(fact.grade == "assumed" for fact in facts if fact.source.startswith(("as of", "scaled")))


def test_every_gpu_type_is_physical():
    for gpu in gpu_catalogue().values():
        watts = [p.it_w_per_gpu for p in gpu.points]
        speed = [p.relative_throughput for p in gpu.points]
        assert watts == sorted(watts)
        assert speed == sorted(speed)
        assert speed[-1] == 1.0
        assert gpu.idle_w_per_gpu < gpu.hold_w_per_gpu < watts[0]


def test_the_sweep_is_the_mean_of_the_measured_pre_training_runs(root, shared_data):
    import pandas as pd

    sweep = tomllib.loads((root / "data" / "gpus.toml").read_text(encoding="utf-8"))["sweep"]["pretraining-400w"]
    measured = pd.read_csv(shared_data / "gpu" / "emerald_power_cap_sweep.csv")
    mean = measured[measured.Workload.str.startswith("pt_")].groupby("GPU power cap").mean(numeric_only=True)
    for row in sweep["rows"]:
        point = mean.loc[row["limit_share"] * sweep["limit_w"]]
        assert row["relative_throughput"] == pytest.approx(point["normalized throughput"], abs=6e-4)
        assert row["draw_share"] == pytest.approx(point["power per GPU"] / sweep["limit_w"], abs=6e-4)


# --- the cooling plant -------------------------------------------------------------------------------------------

RATED = "rated_it_kw = 90\n"


def with_cooling(*lines):
    return (RATED, RATED + "\n".join(lines) + "\n")


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
