"""Recipes: what is measured, kept and taken, what wins, and where inputs differ."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jsonschema
import pytest
from click.testing import CliRunner

from planner.cli import cli
from planner.config import SiteFaults, load_site, site_from_text
from planner.config.recipe_file import read_recipe, recipe_bytes, recipe_schema
from planner.errors import ConfigError
from planner.recipe_measured import measured_by_sweep, measured_by_telemetry
from planner.recipe_save import Sources, make_recipe
from planner.recipe_use import with_recipe
from planner.recipe_view import list_lines, recipe_lines
from tests.recipes import RECORD, RECORDS, SAVED_AT, SITE, SWEEP, USER, write_all

HOUR = timedelta(hours=1)


@pytest.fixture
def site(tmp_path):
    return write_all(tmp_path)


@pytest.fixture
def saved(site):
    sources = Sources(site, "chat-8b", site.parent / "telemetry", site.parent / "sweep.json")
    found = make_recipe("chat-8b", sources, saved_at=SAVED_AT, note="two days")
    (site.parent / "chat-8b.json").write_bytes(recipe_bytes(found.recipe))
    return found.recipe


def using(*changes, text=USER):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return SITE + text


def site_of(folder, *changes):
    return site_from_text(using(*changes), folder / "site.toml")


def test_telemetry_counts_useful_tokens_over_all_joules(site):
    found = measured_by_telemetry(site.parent / "telemetry", "chat-8b").measured
    # 380 million tokens over 16 + 12 + 2 MJ; errors of 5 %
    assert found.tokens_per_joule == pytest.approx(380 / 30, rel=1e-5)
    assert found.tokens_per_joule_error == pytest.approx(0.05 * 380 / 30, rel=1e-5)
    assert found.energy_kwh == pytest.approx(30 / 3.6, rel=1e-5)
    assert [(one.gpu_power_limit_w, one.tokens_per_joule, one.hours) for one in found.at_limits] == [
        (500, 15.0, 8.0),
        (600, 12.5, 8.0),
    ]


def test_a_board_that_two_processes_metered_counts_once_and_a_record_twice_read_too(tmp_path):
    one = replace(RECORD, boards=("GPU-1",))
    other = replace(one, writer="b", tokens=0, useful_tokens=0)
    write_all(tmp_path, (one, other, one))
    found = measured_by_telemetry(tmp_path / "telemetry", "chat-8b").measured
    assert found.tokens_per_joule == 12.5
    assert found.useful_tokens == 200_000_000


def test_a_sweep_gives_the_ratio_at_each_limit_and_the_best():
    found = measured_by_sweep(SWEEP)
    assert [one.tokens_per_joule for one in found.at_limits] == [15.0, 14.0, 13.0]
    assert found.tokens_per_joule == 15.0
    steps = {"points": [{"gpu_power_limit_w": 500, "gpu_draw_w": [490.0], "steps_per_s": [3.0]}]}
    assert measured_by_sweep(steps) is None


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ((replace(RECORD, energy_source="model"),), "16,000,000 J by model"),
        ((replace(RECORD, energy_source="none", energy_j=0.0),), "0 J by nothing"),
        ((replace(RECORD, useful_tokens=-5),), "-5 useful tokens"),
        ((replace(RECORD, run="another"),), "no record of run 'chat-8b'"),
    ],
)
def test_what_measures_nothing_is_refused(tmp_path, records, why):
    write_all(tmp_path, records)
    with pytest.raises(ConfigError, match=why) as caught:
        measured_by_telemetry(tmp_path / "telemetry", "chat-8b")
    assert caught.value.fix


def test_without_a_measurement_nothing_is_saved(site):
    with pytest.raises(ConfigError, match="nothing was measured"):
        make_recipe("x", Sources(site, "chat-8b"), saved_at=SAVED_AT)


def test_a_recipe_keeps_what_the_run_had_and_what_was_measured(saved):
    assert (saved.measured_on.gpu, saved.measured_on.gpus, saved.measured_on.parameters) == ("H100-SXM", 8, 8e9)
    assert saved.measured_on.driver == "550.90"
    assert [one.source for one in saved.measured] == ["telemetry", "sweep"]
    # the sweep's rate at the highest limit, in place of what the site file supposed
    assert saved.gives.tokens_per_gpu_s == 8580
    assert (saved.gives.checkpoint_every_s, saved.gives.checkpoint_s, saved.gives.reload_s) == (1800, 60, 120)
    assert [(one.name, one.within_h) for one in saved.gives.stages] == [("train", 48), ("align", 12)]
    assert [one.what for one in saved.inputs] == ["site file", "telemetry", "sweep"]


def test_the_file_fits_its_schema_and_reads_back(root, saved, site):
    stored = json.loads((root / "data" / "schema" / "recipe.schema.json").read_text(encoding="utf-8"))
    assert stored == recipe_schema(), "run data/schema/make_recipe_schema.py"
    file = site.parent / "chat-8b.json"
    jsonschema.Draft202012Validator(stored).validate(json.loads(file.read_text(encoding="utf-8")))
    assert read_recipe(file) == saved


def test_the_run_begins_with_its_telemetry_where_the_file_says_no_start(tmp_path):
    site = write_all(tmp_path)
    site.write_text(SITE.replace("earliest_start = 2024-05-13T06:00:00\n", ""), encoding="utf-8")
    found = make_recipe("x", Sources(site, "chat-8b", tmp_path / "telemetry"), saved_at=SAVED_AT)
    # the records begin at 06:00 UTC, the deadline is 06:00 in Berlin, two hours ahead
    assert found.recipe.gives.stages[0].within_h == 46
    none = make_recipe("x", Sources(site, "chat-8b", sweep=tmp_path / "sweep.json"), saved_at=SAVED_AT)
    assert none.recipe.gives.stages is None
    assert "neither earliest_start nor telemetry" in none.told[0]


def test_a_run_takes_all_that_it_does_not_say(saved, tmp_path):
    text = using(("gpus = 8\n", "gpus = 8\ngoodput = { failures_per_gpu_day = 5e-4, parameters = 8e9 }\n"))
    found = site_from_text(text, tmp_path / "site.toml")
    run = found.run("next-8b")
    assert (run.checkpoint_s, run.reload_s, run.goodput.interval_s) == (60, 120, 1800)
    start = datetime(2024, 5, 15, 22, tzinfo=UTC)
    assert [(s.name, s.tokens, s.deadline) for s in run.stages] == [
        ("train", 8e9, start + 48 * HOUR),
        ("align", 1e9, start + 60 * HOUR),
    ]
    (option,) = run.options
    # the sweep's points: 7350 and 8120 of 8580 tokens
    assert [round(p.relative_throughput, 4) for p in option.points] == [0.8566, 0.9464, 1.0]
    assert option.tokens_per_gpu_s == pytest.approx(8580 * run.goodput.factor_share)
    (told,) = found.warnings
    assert told == (
        "Run 'next-8b' takes tokens_per_gpu_s, power_limits_w, checkpoint_s, reload_s, checkpoint_every_s, stages, "
        "operating points of recipe 'chat-8b' (12.67 +- 0.63 tokens/J, measured by telemetry on 8 H100-SXM)."
    )


def test_its_own_keys_win_and_that_is_told(saved, tmp_path):
    found = site_of(tmp_path, ("gpus = 8\n", "gpus = 8\nreload_s = 300\ncheckpoint_s = 60\n"))
    assert found.run("next-8b").reload_s == 300
    assert "Its own reload_s wins over the recipe's." in found.warnings[0]
    assert "checkpoint_s" not in found.warnings[0].split(" of recipe ")[0].split(", ")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("gpus = 8", "gpus = 16"), "measured on 8 GPUs; it has 16."),
        (("gpus = 8", "gpus = 8\ngoodput = { failures_per_gpu_day = 1e-4, parameters = 7e10 }"), "its own has 7e+10."),
        (("priority = 3\n", ""), "the run does not say how many it has."),
    ],
)
def test_inputs_that_differ_are_told(saved, tmp_path, change, told):
    assert any(text.endswith(told) for text in site_of(tmp_path, change).warnings)


def test_another_gpu_or_driver_is_told_and_its_points_stay_out(saved, tmp_path):
    text = using().replace('gpu = "H100-SXM"', 'gpu = "H200-SXM"').replace('driver = "550.90"', 'driver = "570.1"')
    found = site_from_text(text, tmp_path / "site.toml")
    assert any(t.endswith("measured on H100-SXM; its pools have H200-SXM.") for t in found.warnings)
    assert any(t.endswith("measured on driver 550.90; its pools have 570.1.") for t in found.warnings)
    by_file = site_from_text(text, tmp_path / "site.toml").run("chat-8b").options[0].points
    taken = found.run("next-8b").options[0].points
    assert [p.relative_throughput for p in taken] == [p.relative_throughput for p in by_file]


def test_simulated_joules_are_called_so(tmp_path):
    site = write_all(tmp_path, tuple(replace(one, energy_source="simulated") for one in RECORDS))
    found = make_recipe("chat-8b", Sources(site, "chat-8b", tmp_path / "telemetry"), saved_at=SAVED_AT)
    (tmp_path / "chat-8b.json").write_bytes(recipe_bytes(found.recipe))
    assert any("simulated GPUs" in text for text in site_of(tmp_path).warnings)


@pytest.mark.parametrize(
    ("change", "key", "what"),
    [
        (("chat-8b.json", "none.json"), "run[1].recipe", "does not exist"),
        (("chat-8b.json", "site.toml"), "run[1].recipe", "is no file of the form gridpace.recipe/1"),
        (("earliest_start = 2024-05-16T00:00:00\n", ""), "run[1].recipe", "has no earliest_start"),
        (('recipe = "chat-8b.json"', "recipe = 3"), "run[1].recipe", "a text is wanted"),
    ],
)
def test_wrong_input_is_told_on_its_line(saved, site, change, key, what):
    with pytest.raises(SiteFaults) as caught:
        site_of(site.parent, change)
    fault = next(one for one in caught.value.faults if one.key == key)
    assert what in fault.what
    assert fault.fix
    assert fault.line is not None


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.update(schema="gridpace.recipe/2"),
        lambda d: d.update(extra=1),
        lambda d: d["measured"].clear(),
        lambda d: d["gives"].update(tokens_per_gpu_s=-1),
        lambda d: d["inputs"][0].update(sha256="no digest"),
        lambda d: d["sweep"]["points"].pop(),
        lambda d: d["sweep"].update(schema="gridpace.sweep/9"),
    ],
)
def test_a_recipe_that_was_changed_for_the_worse_is_refused(saved, site, damage):
    file = site.parent / "chat-8b.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    damage(document)
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ConfigError):
        read_recipe(file)


def test_a_row_of_a_csv_takes_no_recipe(saved, tmp_path):
    (tmp_path / "runs.csv").write_text(
        "name,gpus,tokens_per_gpu_s,stages,recipe\nb,8,8000,train=1e9@2024-05-17T18:00,chat-8b.json\n", encoding="utf-8"
    )
    with pytest.raises(SiteFaults, match="unknown column"):
        site_from_text('runs_csv = "runs.csv"\n' + SITE, tmp_path / "site.toml")


def test_use_adds_one_line_and_replaces_it_the_next_time(saved, site):
    text, described = with_recipe(site, "chat-8b", site.parent / "chat-8b.json")
    before = SITE.split("\n")
    added = [line for line in text.split("\n") if line not in before]
    assert added == ['recipe = "chat-8b.json"']
    assert "Its own tokens_per_gpu_s, stages win over" in described.warnings[0]
    site.write_text(text, encoding="utf-8")
    (site.parent / "other.json").write_bytes((site.parent / "chat-8b.json").read_bytes())
    again, _ = with_recipe(site, "chat-8b", site.parent / "other.json")
    assert again == text.replace("chat-8b.json", "other.json")


LEGS = """
[[run]]
name = "legs"
gpus = 8
tokens_per_gpu_s = 8000
stages = [
  { name = "a", tokens = 1e9, deadline = 2024-05-15T06:00:00 },
  { name = "b", tokens = 1e9, deadline = 2024-05-16T06:00:00, gpus = 4 },
]
"""


def test_a_run_with_legs_shifts_no_table_and_takes_and_gives_no_recipe(saved, site):
    first = SITE.index("[[run]]")
    site.write_text(SITE[:first] + LEGS + SITE[first:], encoding="utf-8")
    text, described = with_recipe(site, "chat-8b", site.parent / "chat-8b.json")
    assert described.warnings[0].startswith("Run 'chat-8b' takes")
    assert text.index("recipe =") > text.index('name = "legs"') + len(LEGS) - 20
    with pytest.raises(SiteFaults, match="is one configuration"):
        with_recipe(site, "legs", site.parent / "chat-8b.json")
    with pytest.raises(ConfigError, match="'legs' is planned as legs"):
        make_recipe("legs", Sources(site, "legs"), saved_at=SAVED_AT)


def test_a_run_on_a_span_takes_the_points_and_tells_the_drivers_of_all_that_it_spans(saved, site):
    second = SITE.replace('driver = "550.90"', 'driver = "550.90"\n' + SECOND)
    spanning = USER.replace("gpus = 8", "gpus = 24").replace("priority = 3", 'pools = ["both"]')
    described = site_from_text(second + spanning, site)
    points = described.run("next-8b").options[0].points
    assert [point.gpu_power_limit_w for point in points] == [500, 600, 700]
    assert points[0].relative_throughput == pytest.approx(7350 / 8580, rel=1e-3)
    assert any("550.99" in told for told in described.warnings)


SECOND = """
[[pool]]
name = "second"
block = "hall"
gpu = "H100-SXM"
count = 16
driver = "550.99"

[[span]]
name = "both"
pools = ["node", "second"]
throughput_share = 0.9
"""


@pytest.mark.parametrize("run", ["none", "in-brackets"])
def test_use_names_the_runs_that_have_a_table(saved, site, run):
    with pytest.raises(ConfigError, match=r"has no table \[\[run\]\]") as caught:
        with_recipe(site, run, site.parent / "chat-8b.json")
    assert "chat-8b" in caught.value.fix


def test_the_best_stands_first_and_one_is_shown_in_full(saved):
    worse = saved.model_copy(
        update={"name": "worse", "measured": [saved.best.model_copy(update={"tokens_per_joule": 3.0})]}
    )
    assert [line.split()[0] for line in list_lines([worse, saved])] == ["chat-8b", "worse"]
    shown = "\n".join(recipe_lines(saved))
    for part in (
        "driver 550.90",
        "12.67 +- 0.63 tokens/J",
        "at 500 W: 15 tokens/J over 8 board-hours",
        "every 1,800 s",
    ):
        assert part in shown


def test_the_commands_save_list_show_and_use(site, monkeypatch):
    monkeypatch.chdir(site.parent)
    run = CliRunner().invoke
    arguments = ["recipe", "save", "chat", "--site", "site.toml", "--run", "chat-8b", "--telemetry", "telemetry"]
    done = run(cli, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["file"] == "recipes/chat.json"
    with pytest.raises(ConfigError, match="is there already"):
        run(cli, arguments, catch_exceptions=False)
    assert run(cli, [*arguments, "--replace"]).exit_code == 0
    assert run(cli, ["recipe", "list"]).stdout.startswith("chat")
    assert "run 'chat-8b'" in run(cli, ["recipe", "show", "chat"]).stdout
    assert run(cli, ["recipe", "use", "chat", "--site", "site.toml", "--run", "chat-8b"]).exit_code == 0
    assert load_site("site.toml").warnings[0].startswith("Run 'chat-8b' takes nothing of recipe")
    with pytest.raises(ConfigError, match="holds no recipe 'cha'") as caught:
        run(cli, ["recipe", "show", "cha"], catch_exceptions=False)
    assert caught.value.fix == "did you mean 'chat'?"


def test_other_files_beside_recipes_are_told_as_none(saved, site):
    run, here = CliRunner().invoke, ["--recipes", str(site.parent)]
    listed = run(cli, ["recipe", "list", *here])
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["chat-8b"]
    assert "left out: recipe sweep.json is no file of the form gridpace.recipe/1" in " ".join(listed.stderr.split())
    for name, fix in (("sweeps", "known are: chat-8b"), ("chat", "did you mean 'chat-8b'?")):
        with pytest.raises(ConfigError) as caught:
            run(cli, ["recipe", "show", name, *here], catch_exceptions=False)
        assert caught.value.fix == fix
