"""Where runs stand as the coming week begins, by what training reported and what the calendar expects."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from planner.config import site_from_text
from planner.ledger import Ledger
from planner.moves import Migration, Way
from planner.service.progress import Progress, progress_from, progress_json, progress_until, with_progress
from tests.mini_site import MINI
from tests.published import START, off, on
from tests.served import calendar, enter
from tests.unit.test_ledger import record

RUN = "=1+1 <script>"


@pytest.fixture
def site(tmp_path):
    made = site_from_text(
        MINI.replace("checkpoint_s = 60", "tokens_done = 5e6\ncheckpoint_s = 60"), tmp_path / "s.toml"
    )
    return replace(made, place=made.place.model_copy(update={"name": "site"}))


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def found(ledger, site, hour):
    now, start = START + timedelta(hours=hour), START + timedelta(hours=24)
    with ledger.reading() as session:
        return progress_until(session, site, now, start)[RUN]


def test_before_anything_is_known_a_run_stands_where_the_site_file_says(ledger, site):
    assert found(ledger, site, 6) == Progress(5e6, None)


def test_what_was_reported_counts_and_the_calendar_s_rest_is_expected(ledger, site):
    enter(ledger, calendar(name=RUN))  # 1e6 tokens an hour from 0 to 4 and from 10 to 14
    told = [replace(record(i, i, i + 1), run=RUN) for i in range(4)]  # 9e5 useful tokens an hour
    ledger.take_in(told)
    ledger.roll_up()
    assert found(ledger, site, 6) == Progress(pytest.approx(5e6 + 3.6e6 + 4e6), None)
    assert found(ledger, site, 12) == Progress(pytest.approx(5e6 + 3.6e6 + 2e6), None)
    ledger.let_go(START + timedelta(hours=3))
    assert found(ledger, site, 12).tokens_done == pytest.approx(5e6 + 3.6e6 + 2e6)


def test_a_run_that_trains_as_the_week_ends_is_running_as_the_next_begins(ledger, site):
    enter(ledger, calendar((on(0, 24),), RUN))
    assert found(ledger, site, 6) == Progress(pytest.approx(5e6 + 18e6), "a1")


def test_where_runs_stand_is_kept_and_taken_up_again(site):
    stand = {RUN: Progress(7e6, "node"), "gone": Progress(1.0, None)}
    assert progress_from(progress_json(stand)) == stand
    (run,) = with_progress(site, progress_from(progress_json(stand))).runs
    assert (run.tokens_done, run.running_in) == (7e6, "node")
    assert with_progress(site, {}).runs == site.runs


def test_a_run_that_moves_stands_where_its_calendar_leaves_it(ledger, site):
    run = next(run for run in site.runs if run.name == RUN)
    pool, other = run.options[0], replace(run.options[0], pool="b1")
    half = replace(pool, gpus=run.gpus // 2)
    ways = (Way("a1", "b1", 60.0, 0.0, 0.0), Way("b1", "a1", 60.0, 0.0, 0.0))
    moves = replace(run, options=(pool, half, other), migration=Migration(1.0, ways, "b1"))
    site = replace(site, runs=tuple(moves if one is run else one for one in site.runs))
    assert found(ledger, site, 6) == Progress(5e6, None, 0, "b1")
    assert with_progress(site, {RUN: Progress(7e6, "b1", 4)}).run(RUN).runs_on("b1", 4)
    enter(ledger, calendar((on(0, 12), off(12, 24)), RUN))
    # it pauses in a1 from noon on
    stands = found(ledger, site, 6)
    assert (stands.running_in, stands.lies_in) == (None, "a1")
    assert with_progress(site, {RUN: stands}).run(RUN).migration.lies_in == "a1"
    assert progress_from(progress_json({RUN: stands})) == {RUN: stands}
    assert b"lies_in" not in progress_json({RUN: Progress(1.0, None)})
