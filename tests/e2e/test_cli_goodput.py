"""A site whose GPUs fail, from its file to what is printed and published."""

from __future__ import annotations

import json

import pytest

from tests.mini_site import ISSUED, MINI, gridpace

FAILS = "\n[goodput]\nfailures_per_gpu_day = 0.02\ndeadline_confidence = 0.9\n"


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failing")
    (folder / "site.toml").write_text(MINI + FAILS, encoding="utf-8")
    done = gridpace("plan", "site.toml", "--out", "out", "--issued-at", ISSUED, "--offline", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out", done


def test_the_chance_of_each_deadline_is_printed(planned):
    lines = planned[1].stdout.splitlines()
    assert lines[5] == "failures   chances are shares of 10\u202f000 simulated weeks"
    assert "of its work is useful; train by Fri 17 May 18:00 is kept in" in lines[6]
    assert lines[6].endswith("asked for 90 %)")
    assert lines[7].startswith("hold       takes less energy than a stop for pauses of =1+1 <script> up to ")
    assert "note: H100-SXM is not planned at 200 W: pausing between spells at" in planned[1].stderr


def test_the_plan_works_ahead_and_keeps_the_chance(planned):
    told = json.loads((planned[0] / "plan.json").read_text(encoding="utf-8"))
    (run,) = told["runs"]
    (stage,) = run["stages"]
    assert told["violations"] == 0
    assert run["useful_share"] < 1.0
    assert run["failures_per_day"] == pytest.approx(0.16)
    assert stage["due_tokens"] > 8.0e9
    assert run["tokens"] >= stage["due_tokens"] * (1 - 1e-5)
    assert stage["asked_probability"] == 0.9
    assert stage["simulated_probability"] >= 0.88
    assert stage["promised_probability"] == pytest.approx(stage["simulated_probability"], abs=0.02)
    assert [point["gpu_power_limit_w"] for point in told["points_left_out"]["H100-SXM"]] == [200, 350, 612.5]


def test_the_report_shows_the_chance(planned):
    assert "(promised" in (planned[0] / "report.html").read_text(encoding="utf-8")
