"""The ledger on PostgreSQL: what the same tests ask of it on SQLite, and what only several writers can show."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import text

from planner.errors import ConfigError, ExportError
from planner.ledger import Ledger
from planner.ledger.hours import hours
from tests.accounting import ACCOUNTING, accounted_outcome, rolled_up, sample_accounts
from tests.published import CALENDAR_ID
from tests.unit.test_ledger import (  # noqa: F401 - run here on this module's ledger
    planned,
    record,
    test_a_board_that_two_processes_metered_counts_once,
    test_a_folder_is_taken_in_and_bad_lines_are_told,
    test_a_plan_is_entered_once,
    test_a_record_counts_once_however_often_it_comes,
    test_an_unknown_calendar_is_told,
    test_carbon_follows_the_slots_a_record_lies_in,
    test_plan_and_telemetry_are_laid_side_by_side,
    test_the_same_number_from_another_writer_is_another_record,
)

pytestmark = pytest.mark.postgres


@pytest.fixture
def ledger(url):
    with Ledger(url) as opened:
        yield opened


def test_carbon_accounts_come_back_digit_for_digit_and_the_rows_of_runs_are_their_part_of_the_site(ledger):
    outcome = accounted_outcome(replace(ACCOUNTING, marginal_gco2_per_kwh=620.0, grid_cfe_share=0.4))
    accounts = sample_accounts(outcome)
    given = (outcome.calendar, outcome.runs, [0.1] * outcome.calendar.n_slots, accounts)
    assert (ledger.record_plan(*given), ledger.record_plan(*given)) == (True, False)
    assert ledger.carbon(outcome.calendar, outcome.runs).sha256 == accounts.sha256
    with ledger.reading() as session:
        rows = session.execute(text("SELECT run, start_s, location_kg FROM run_account_hour")).all()
    expected = rolled_up(accounts.share * accounts.account.location_kg, 60 // accounts.slot_minutes)
    assert len(rows) == int((rolled_up(accounts.run_kwh, 60 // accounts.slot_minutes) > 0.0).sum())
    for run, start_s, kg in rows:
        hour = (start_s - int(accounts.start.timestamp())) // 3600
        assert kg == pytest.approx(expected[accounts.runs.index(run), hour], rel=1e-9)
    with pytest.raises(ConfigError, match="has carbon accounts"):
        ledger.record_plan(*given[:3], replace(accounts, gpu_hours=accounts.gpu_hours + 1.0))


def test_many_that_take_in_the_same_records_while_others_let_them_go_count_each_once(url):
    told = [record(i, i / 50, (i + 1) / 50, writer=w, tokens=2**40 + i) for i in range(200) for w in ("w1", "w2", "w3")]
    until = max(r.t_end for r in told)

    def take_in(turn):
        with Ledger(url) as ledger:
            added = sum(ledger.take_in(told[turn % 4 :: 1 + turn % 3]).added for _ in range(2))
            ledger.roll_up()
            return added

    def forget(_):
        with Ledger(url) as ledger:
            return ledger.let_go(until)

    with ThreadPoolExecutor(6) as at_once:
        takers = [at_once.submit(take_in, turn) for turn in range(8)]
        gone = [at_once.submit(forget, turn) for turn in range(3)]
        added, let_go = (sum(one.result() for one in many) for many in (takers, gone))
    with Ledger(url) as ledger:
        assert ledger.take_in(told).added == len(told) - added
        assert ledger.let_go(until) == len(told) - let_go
        with ledger.reading() as session:
            rows = hours(session, 0, 2**40)
    assert sum(row.records for row in rows) == len(told)
    assert sum(row.energy_j for row in rows) == pytest.approx(sum(r.energy_j for r in told), rel=1e-9)
    assert {row.part for row in rows} == {"let-go"}


def test_many_that_open_an_empty_database_at_once_make_its_tables_once(url):
    with ThreadPoolExecutor(6) as at_once:
        ledgers = [one.result() for one in [at_once.submit(Ledger, url) for _ in range(6)]]
    assert sum(planned(ledger) for ledger in ledgers) == 1
    for ledger in ledgers:
        assert ledger.reported_until(CALENDAR_ID) is None
        ledger.close()


def test_the_password_is_in_no_error(url):
    wrong = url.replace("pa%3Ass", "guess")
    with pytest.raises(ExportError) as told:
        Ledger(wrong)
    assert "guess" not in f"{told.value}"
    assert "gridpace:***@127.0.0.1" in f"{told.value}"
