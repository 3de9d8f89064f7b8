"""Site files whose runs wait for each other, and whose stages have points of their own."""

from __future__ import annotations

import pytest

from planner.config import load_site
from planner.config.faults import FaultList, SiteFaults
from planner.config.runs_csv import read_runs
from planner.precedence import After
from tests.two_pools import SITE

LONG = (
    '{ name = "long", tokens = 2e9, deadline = 2024-05-20T00:00:00, tokens_per_gpu_s = 400, '
    'power_limits_w = [500, 700], gpus = 128, pools = ["b"] },'
)


def site(tmp_path, full="", proto="", stages=""):
    file = tmp_path / "site.toml"
    file.write_text(SITE.replace("FULL", full).replace("PROTO", proto).replace("STAGES", stages))
    return load_site(file)


def faults(tmp_path, **changes):
    with pytest.raises(SiteFaults) as error:
        site(tmp_path, **changes)
    return [f"{fault.key}: {fault.what}; {fault.fix}" for fault in error.value.faults]


def test_a_run_waits_for_the_last_stage_or_the_one_it_names(tmp_path):
    assert site(tmp_path, 'after = [{ run = "proto" }]').runs[1].after == (After("proto", "verify"),)
    found = site(tmp_path, 'after = [{ run = "proto", stage = "search", lag_h = 6 }]')
    assert found.runs[1].after == (After("proto", "search", 6.0),)
    assert found.runs[0].after == ()


@pytest.mark.parametrize(
    ("full", "proto", "said"),
    [
        ('after = [{ run = "prot" }]', "", "run[1].after[0].run: there is no run 'prot'; did you mean 'proto'?"),
        (
            'after = [{ run = "full" }]',
            "",
            "run[1].after[0].run: 'full' waits for itself; name the run that goes first",
        ),
        (
            'after = [{ run = "proto", stage = "serch" }]',
            "",
            "run[1].after[0].stage: run 'proto' has no stage 'serch'; did you mean 'search'?",
        ),
        (
            'after = [{ run = "proto" }, { run = "proto", stage = "search" }]',
            "",
            "run[1].after[1].run: 'proto' is waited for twice; keep its later stage",
        ),
        (
            'after = [{ run = "proto" }]\ntokens_done = 5e8',
            "",
            (
                "run[1].after[0]: 5e+08 tokens are done, but 0 of the 2e+09 tokens up to stage 'verify' of run "
                "'proto', which it waits for, are done; set tokens_done of 'proto' to what it has made, or leave this "
                "wait out"
            ),
        ),
        (
            'after = [{ run = "proto" }]',
            'after = [{ run = "full" }]',
            "run[0].after: runs wait for each other in a circle: proto -> full -> proto; leave one of these waits out",
        ),
        (
            'after = [{ run = "proto", lag_h = -1 }]',
            "",
            (
                "run[1].after[0].lag_h: -1 h is below 0 h (time from then on in which it may not start yet, h); "
                "set lag_h to 0 h or more"
            ),
        ),
    ],
)
def test_wrong_waits_are_named(tmp_path, full, proto, said):
    assert faults(tmp_path, full=full, proto=proto) == [said]


def test_a_run_that_waits_may_have_begun_once_the_stage_is_done(tmp_path):
    found = site(tmp_path, 'after = [{ run = "proto", stage = "search" }]\ntokens_done = 5e8', "tokens_done = 1e9")
    assert found.runs[1].after == (After("proto", "search"),)


def test_rows_of_a_csv_file_name_what_they_wait_for():
    faults = FaultList("runs.csv", {})
    text = (
        "name,gpus,stages,tokens_per_gpu_s,after\n"
        "full,256,train=1e10@2024-05-19T00:00,900,proto=search@2; other; third=x\n"
    )
    (run,) = read_runs(text, faults)
    assert faults.found == []
    assert [(a.run, a.stage, a.lag_h) for a in run.table.after] == [
        ("proto", "search", 2.0),
        ("other", None, 0.0),
        ("third", "x", 0.0),
    ]


def test_a_stage_with_a_table_of_its_own_is_a_leg(tmp_path):
    found = site(
        tmp_path,
        'after = [{ run = "proto" }]\ntokens_done = 1.05e10\nrunning_in = "b"\npower_limits_w = [700]',
        "tokens_done = 2e9",
        LONG,
    )
    assert [run.name for run in found.runs] == ["proto", "full.train", "full.long"]
    assert found.legs == {"full": ("full.train", "full.long")}
    _, train, long = found.runs
    assert (train.after, long.after) == ((After("proto", "verify"),), (After("full.train", "train"),))
    assert (train.gpus, long.gpus) == (256, 128)
    assert ([o.pool for o in train.options], [o.pool for o in long.options]) == (["a"], ["b"])
    assert [p.gpu_power_limit_w for p in train.options[0].points] == [700.0]
    assert [p.gpu_power_limit_w for p in long.options[0].points] == [500.0, 700.0]
    assert (train.options[0].tokens_per_gpu_s, long.options[0].tokens_per_gpu_s) == (900.0, 400.0)
    # 1e10 tokens of the first leg are made, so that what runs is the second, with 5e8 of its own
    assert (train.tokens_done, long.tokens_done) == (1e10, 5e8)
    assert (train.running_in, long.running_in) == (None, "b")
    assert found.flexibility["full.long"] == found.flexibility["full.train"]


def test_who_waits_for_a_run_with_legs_waits_for_the_leg_with_the_stage(tmp_path):
    stages = LONG + '{ name = "align", tokens = 1e9, deadline = 2024-05-21T00:00:00 },'
    for wait, said in (("", "full.align"), (', stage = "long"', "full.long"), (', stage = "train"', "full.train")):
        found = site(tmp_path, proto=f'after = [{{ run = "full"{wait} }}]', stages=stages)
        assert [after.run for after in found.runs[0].after] == [said]
    assert faults(tmp_path, proto='after = [{ run = "full", stage = "lung" }]', stages=stages) == [
        "run[0].after[0].stage: run 'full' has no stage 'lung'; did you mean 'long'?"
    ]


def test_equal_stages_stay_one_run(tmp_path):
    more = '{ name = "more", tokens = 1e9, deadline = 2024-05-20T00:00:00 },'
    found = site(tmp_path, stages=more)
    assert [run.name for run in found.runs] == ["proto", "full"]
    assert found.legs == {}


def test_a_recipe_is_of_one_configuration(tmp_path):
    found = faults(tmp_path, full='recipe = "best.toml"', stages=LONG)
    assert any(fault.startswith("run[1].recipe: is one configuration, but the run's stages have") for fault in found)


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        (LONG.replace('"b"', '"c"'), "run[1].stages[1].pools[0]: there is no pool 'c'; known are: a, b"),
        (
            LONG.replace("128", "300"),
            (
                "run[1].stages[1].gpus: a gang of 300 GPUs fits no pool; the largest it may use, 'b', has 200; "
                "lower gpus to 200, or allow a larger pool"
            ),
        ),
        (
            LONG.replace("2024-05-20", "2024-05-18"),
            (
                "run[1].stages[1].deadline: 2024-05-18 00:00:00 is not after 2024-05-19 00:00:00, the deadline of "
                "stage 'train' before it; sort the stages by rising deadline"
            ),
        ),
        (
            LONG.replace('"long"', '"train"'),
            "run[1].stages[1].name: 'train' is the name of an earlier stage; give each its own name",
        ),
        (
            LONG.replace("700]", "9000]"),
            (
                "run[1].stages[1].power_limits_w[1]: 9000 W is outside 200 to 700 W, the limits of H100-SXM in 'b'; "
                "choose limits of 200 to 700 W"
            ),
        ),
    ],
)
def test_faults_of_a_leg_stand_where_the_file_has_the_key(tmp_path, stages, said):
    assert said in faults(tmp_path, stages=stages)
