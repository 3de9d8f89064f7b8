"""Failures, checkpoints, chances and sweeps as a site file gives them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planner.config import SiteFaults, site_from_text, starter_site
from planner.gather import gather
from power.failure_budget import margin_tokens
from power.goodput import daly_interval_s, goodput_share

NOW = datetime(2024, 5, 10, tzinfo=UTC)
FAILS = "[goodput]\nfailures_per_gpu_day = 0.01\n"
RUN = "priority = 2 #"


def site(*, add: str = FAILS, run: str = RUN, folder: Path = Path()):
    text = starter_site()
    assert text.count(RUN) == 1
    return site_from_text(text.replace(RUN, run) + add, folder / "site.toml")


def fault_of(**changes):
    with pytest.raises(SiteFaults) as caught:
        site(**changes)
    (fault,) = caught.value.faults
    return fault


def test_nothing_said_of_failures_leaves_all_work_useful():
    plain = site(add="").runs[0]
    assert plain.goodput is None
    assert all(stage.deadline_confidence is None for stage in plain.stages)


def test_failures_thin_the_rate_of_every_pool():
    plain, thin = site(add="").runs[0], site().runs[0]
    fails = thin.gpus * 0.01 / 86400
    interval = daly_interval_s(plain.checkpoint_s, 1 / fails)
    assert thin.goodput.failures_per_s == pytest.approx(fails)
    assert thin.goodput.interval_s == pytest.approx(interval)
    assert (thin.goodput.save_s, thin.goodput.restart_s) == (plain.checkpoint_s, 600.0)
    share = goodput_share(fails, interval, plain.checkpoint_s, 600.0)
    assert thin.options[0].tokens_per_gpu_s == pytest.approx(plain.options[0].tokens_per_gpu_s * share)


def test_a_run_has_the_last_word():
    own = "goodput = { failures_per_gpu_day = 0, checkpoint_every_s = 900, restart_s = 60, deadline_confidence = 0.7 }"
    made = site(add=FAILS + "deadline_confidence = 0.9\n", run=f"{own}\n{RUN}").runs
    mine = next(run for run in made if run.goodput.restart_s == 60.0)
    assert mine.goodput.interval_s == 900.0
    assert mine.goodput.factor_share == pytest.approx(900 / (900 + mine.checkpoint_s))
    assert {stage.deadline_confidence for stage in mine.stages} == {0.7}
    others = [run for run in made if run is not mine]
    assert others
    assert {stage.deadline_confidence for run in others for stage in run.stages} == {0.9}


def test_a_stage_has_the_last_word_on_its_chance():
    text = starter_site().replace(
        "deadline = 2024-05-19T18:00:00", "deadline = 2024-05-19T18:00:00, deadline_confidence = 0.99"
    )
    made = site_from_text(text + FAILS, Path("site.toml"))
    assert [s.deadline_confidence for run in made.runs for s in run.stages].count(0.99) == 1


def test_a_shared_store_sets_the_time_to_save():
    own = "goodput = { parameters = 7e10, checkpoint_every_s = 900 }"
    add = FAILS + "storage_gb_per_s = 20\nbytes_per_parameter = 10\n"
    mine = site(add=add, run=f"{own}\n{RUN}").runs
    (saver,) = [run for run in mine if run.goodput.interval_s == 900.0]
    # 7e10 parameters of 10 bytes at 20 GB/s, with the store to itself
    assert saver.goodput.save_s == pytest.approx(35.0)


def test_the_week_asks_for_the_margin_of_each_deadline_in_it():
    week = gather(site(add=FAILS + "deadline_confidence = 0.95\n"), now=NOW, week="2024-W20")
    for run in week.runs:
        rate = run.gpus * run.options[0].tokens_per_gpu_s / run.goodput.factor_share
        promised = week.promised_tokens(run)
        due = {name: tokens for name, _, tokens in week.due_tokens(run)}
        for stage, tokens in promised:
            margin = margin_tokens(run.goodput, tokens, rate, 0.95)
            assert stage.margin_tokens == margin > 0
            assert due[stage.name] == pytest.approx(tokens + margin)


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"add": "", "run": f"goodput = {{ restart_s = 60 }}\n{RUN}"}, "run[0].goodput", "has restart_s, but failures"),
        ({"add": "[goodput]\nrestart_s = 60\n"}, "goodput.restart_s", "stands without failures_per_gpu_day"),
        ({"add": FAILS + "storage_gb_per_s = 2\n"}, "goodput.storage_gb_per_s", "no run says how large"),
        ({"run": f"goodput = {{ parameters = 7e10 }}\n{RUN}"}, "run[0].goodput", "nothing says how fast the store"),
        (
            {
                "add": FAILS + "storage_gb_per_s = 2\n",
                "run": f"goodput = {{ parameters = 7e10, checkpoint_bytes = 1e9 }}\n{RUN}",
            },
            "run[0].goodput.parameters",
            "stands beside checkpoint_bytes",
        ),
        ({"add": FAILS + "deadline_confidence = 1.0\n"}, "goodput.deadline_confidence", "not below 1"),
        (
            {"add": FAILS + "restart_s = 86400\n", "run": f"goodput = {{ failures_per_gpu_day = 1 }}\n{RUN}"},
            "run[0].goodput",
            "of the work useful",
        ),
        ({"run": f'sweep_workload = "x"\n{RUN}'}, "run[0].sweep_workload", "stands without a sweep"),
        ({"run": f'sweep = "none.json"\n{RUN}'}, "run[0].sweep", "does not exist"),
    ],
)
def test_what_leads_nowhere_is_a_fault(changes, key, words):
    fault = fault_of(**changes)
    assert fault.key == key
    assert words in f"{fault.what} {fault.fix}"


POINT = "{ gpu_power_limit_w = 700, it_w_per_gpu = 900, relative_throughput = 1.0 }"


def sweep_file(folder: Path, **changes) -> None:
    points = [
        {"gpu_power_limit_w": limit, "gpu_draw_w": [limit - 20.0], "tokens_per_gpu_s": [speed]}
        for limit, speed in ((250, 300.0), (400, 700.0), (550, 900.0), (700, 1000.0))
    ]
    told = {"schema": "gridpace.sweep/1", "gpu": "H100-SXM", "points": points, "idle_w": 70.0, "held_w": 105.0}
    (folder / "sweep.json").write_text(json.dumps(told | changes), "utf-8")


def test_a_gpu_type_takes_its_points_from_a_sweep(tmp_path):
    sweep_file(tmp_path)
    add = '[gpu.H100-SXM]\nidle_w_per_gpu = 260\nsweep = "sweep.json"\noverhead_w_per_gpu = 380\n'
    made = site(add=add, folder=tmp_path)
    gpu = made.pools[0].gpu
    assert [(p.gpu_power_limit_w, p.it_w_per_gpu, p.relative_throughput) for p in gpu.points] == [
        (250, 610, 0.3),
        (400, 760, 0.7),
        (550, 910, 0.9),
        (700, 1060, 1.0),
    ]
    assert gpu.hold_w_per_gpu == 295.0
    (told,) = [warning for warning in made.warnings if "sweep" in warning]
    assert "a sweep of 4 limits, which departs from a rising curve by 0.0 %" in told
    assert "250 W is left out: pausing between spells at 400 W gives 0.490 of full throughput" in told


def test_the_catalogue_knows_the_node_beside_its_gpus(tmp_path):
    sweep_file(tmp_path)
    made = site(add='[gpu.H100-SXM]\nidle_w_per_gpu = 260\nsweep = "sweep.json"\n', folder=tmp_path)
    assert made.pools[0].gpu.points[-1].it_w_per_gpu == 680 + 381.5


def test_a_run_takes_its_points_from_its_own_sweep(tmp_path):
    sweep_file(tmp_path)
    made = site(add="", run=f'sweep = "sweep.json"\n{RUN}', folder=tmp_path)
    measured = [run for run in made.runs if run.options[0].points[0].gpu_power_limit_w == 400.0]
    assert len(measured) == 1
    assert [p.relative_throughput for p in measured[0].options[0].points] == [0.7, 0.9, 1.0]
    assert made.pools[0].gpu.points[-1].it_w_per_gpu == 1050.0


@pytest.mark.parametrize(
    ("add", "words"),
    [
        ('[gpu.mine]\nidle_w_per_gpu = 260\nsweep = "sweep.json"\n', "is missing (a sweep measures the GPU"),
        ("[gpu.mine]\nidle_w_per_gpu = 260\n", "neither points nor a sweep are given"),
        (
            '[gpu.mine]\nidle_w_per_gpu = 260\nsweep = "sweep.json"\npoints = [' + POINT + "]\n",
            "stands beside points",
        ),
    ],
)
def test_a_gpu_type_needs_one_source_of_points(tmp_path, add, words):
    sweep_file(tmp_path)
    with pytest.raises(SiteFaults) as caught:
        site(add=add, folder=tmp_path)
    assert any(words in f"{fault.what} {fault.fix}" for fault in caught.value.faults)


def test_a_sweep_of_other_gpus_is_no_sweep_of_this_run(tmp_path):
    sweep_file(tmp_path, gpu="B200")
    fault = fault_of(add="", run=f'sweep = "sweep.json"\n{RUN}', folder=tmp_path)
    assert "was measured on B200; the run's pools have ['H100-SXM']" in fault.what
