"""Publishing a planned week is whole or not at all."""

from __future__ import annotations

import errno
import json
import os

import pytest

from planner import pipeline
from planner.errors import ExportError
from planner.evaluate import carbon_per_it_kwh
from planner.schedule import Plan, Schedule
from tests.outcomes import sample_outcome
from trainer_hooks import publish as hooks_publish
from trainer_hooks.publish import CALENDARS

PLAN = Plan(Schedule((), ()), "optimal", 100.0, 99.2, 0.008, (("energy", 100.0),), (), 0.5, 3.25, (("rows", 7),))


@pytest.fixture(scope="module")
def outcomes():
    return sample_outcome(kept=True), sample_outcome()


def everything(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("ledger.sqlite")
    }


def test_what_is_written_is_what_the_summary_names(outcomes, tmp_path):
    told = pipeline.write_outcome(tmp_path, outcomes[0], PLAN)
    calendars = tmp_path / CALENDARS
    assert sorted(str(p) for p in tmp_path.rglob("*") if p.is_file() and calendars not in p.parents) == sorted(
        path for name, path in told["files"].items() if name != "calendar"
    )


def test_a_folder_whose_name_is_no_text_is_written_all_the_same(outcomes, tmp_path):
    told = pipeline.write_outcome(tmp_path / os.fsdecode(b"l\xfcbeck"), outcomes[0], PLAN)
    (summary,) = tmp_path.glob("*/plan.json")
    assert json.loads(summary.read_text(encoding="utf-8")) == told


@pytest.mark.parametrize("full_at", ["calendar.json", "current"])
def test_a_disk_that_fills_while_publishing_leaves_the_week_before_in_force(outcomes, tmp_path, monkeypatch, full_at):
    pipeline.write_outcome(tmp_path, outcomes[0], PLAN)
    before = everything(tmp_path)
    real = hooks_publish.write_file

    def full(path, content):
        if full_at in path.name:
            path.write_bytes(content[:5])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(hooks_publish, "write_file", full)
    with pytest.raises(ExportError, match="could not be published"):
        pipeline.write_outcome(tmp_path, outcomes[1], PLAN)
    after = everything(tmp_path)
    assert {path: after[path] for path in before} == before
    assert not [path for path in after if path.name.startswith(".")]


def test_a_ledger_that_cannot_be_written_leaves_nothing_new(outcomes, tmp_path):
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(ExportError, match="ledger"):
        pipeline.write_outcome(tmp_path, outcomes[0], PLAN)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]


@pytest.mark.parametrize("full_at", ["calendar.json", "current"])
def test_a_disk_that_fills_at_the_very_first_plan_leaves_nothing_in_force(outcomes, tmp_path, monkeypatch, full_at):
    real = hooks_publish.write_file

    def full(path, content):
        if full_at in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(hooks_publish, "write_file", full)
    with pytest.raises(ExportError, match="could not be published"):
        pipeline.write_outcome(tmp_path / "out", outcomes[0], PLAN)
    # A calendar's folder that is whole before the pointer is written stays: it is valid and not in force.
    whole = [outcomes[0].calendar.calendar_id] if full_at == "current" else []
    assert {path.name for path in (tmp_path / "out").iterdir()} == {CALENDARS, "ledger.sqlite"}
    assert [path.name for path in (tmp_path / "out" / CALENDARS).iterdir()] == whole


def test_the_carbon_rate_gives_the_site_total_back(outcomes):
    week, found = outcomes[0].week, outcomes[0].evaluation
    rate = carbon_per_it_kwh(week, week.signals, found.blocks)
    it_kwh = sum(block.it_kw for block in found.blocks) * week.grid.slot_h
    assert sum(kg * kwh for kg, kwh in zip(rate, it_kwh, strict=True)) == pytest.approx(found.carbon_kg)
