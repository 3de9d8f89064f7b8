"""Two new users, each with an empty home and the wheel alone: a first plan of their own, a training made aware."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from tests import newcomers

pytestmark = pytest.mark.packaging
ENOUGH_S = 300.0


@pytest.fixture(scope="module")
def planned(main_python, tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("the program openssl is not there to make a certificate")
    folder = tmp_path_factory.mktemp("newcomer") / "desk"
    return folder, newcomers.plan_of_their_own(folder, main_python.parent)


def test_a_first_plan_of_ones_own_in_great_britain(planned):
    folder, steps = planned
    init, _, refused, _, plan, check = steps
    assert init.code == plan.code == check.code == 0, plan.output
    assert "a gang of 48 GPUs fits no pool; the largest it may use, 'racks', has 32" in refused.output
    line = int(re.search(r"site\.toml:(\d+):", refused.output)[1])
    assert (folder / newcomers.SITE).read_text().splitlines()[line - 1].startswith("gpus = ")
    assert "2 of 2 kept" in plan.output
    assert ": clean;" in check.output
    told = json.loads((folder / "out" / "my-week" / "plan.json").read_text())
    assert any("UK Carbon Intensity GB" in label for label in told["labels"])
    assert "Open-Meteo" in (folder / "out" / "my-week" / "report.html").read_text(encoding="utf-8")
    assert told["violations"] == 0


def test_the_machines_part_of_it_leaves_time_to_read(planned):
    _, steps = planned
    assert sum(step.processor_s for step in steps) < ENOUGH_S / 5
    assert sum(step.lines for step in steps) < 20


def test_a_training_is_made_aware_of_its_calendar(hooks_python, tmp_path):
    edit, free, followed, resumed = newcomers.training_made_aware(tmp_path / "desk", hooks_python.parent)
    assert free.code == followed.code == resumed.code == 0, followed.output + resumed.output
    assert edit.lines < 10
    assert "at step 300" in free.output
    assert "GRIDPACE_CALENDAR is not set" in free.output
    ended_at = int(re.search(r"at step (\d+)", followed.output)[1])
    assert 0 < ended_at < 300
    assert "hold 0." in followed.output
    assert "at step 300" in resumed.output
    useful = int(re.search(r"trained, ([\d,]+) useful", resumed.output)[1].replace(",", ""))
    assert useful == (300 - ended_at) * 8192
