"""The plan beside its replay on the series as they were: replayed, told, and shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.export import view
from planner.export.report import report_html
from planner.hindsight import SAME_SERIES, replay_actual
from planner.outlook import Gathered, series_digest
from planner.verdict import verdict, verdict_lines
from planner.week import Provenance
from tests.outcomes import sample_outcome


def as_they_were(week, **changes) -> Gathered:
    """The week's own series with some of them changed."""
    signals = replace(week.signals, **changes)
    provenance = tuple(
        Provenance(
            entry.signal, "measured", entry.unit, "", "own", None, (), series_digest(getattr(signals, entry.signal))
        )
        for entry in week.provenance
    )
    return Gathered(signals, provenance, ("Measured by nobody: a test.",))


def replayed(outcome, actual: Gathered):
    return replay_actual(outcome.week, outcome.calendar, outcome.runs, outcome.evaluation, actual)


@pytest.fixture(scope="module")
def outcome():
    return sample_outcome(kept=True)


def test_carbon_and_money_follow_the_series_that_came(outcome):
    signals = outcome.week.signals
    actual = as_they_were(
        outcome.week, ci_gco2_per_kwh=1.25 * signals.ci_gco2_per_kwh, price_per_kwh=2.0 * signals.price_per_kwh
    )
    found = replayed(outcome, actual)
    # Weather is the same, so power is; a quarter more carbon per kWh is a quarter more carbon.
    assert found.evaluation.energy_kwh == pytest.approx(outcome.evaluation.energy_kwh, rel=1e-12)
    assert found.broken == ()
    # The plan curtails solar in the sample, and the replay takes no more than it says.
    assert found.evaluation.carbon_kg == pytest.approx(1.25 * outcome.evaluation.carbon_kg, rel=1e-9)
    lines = verdict_lines(outcome.calendar, outcome.evaluation, found, "EUR")
    assert lines[0].startswith(f"{outcome.calendar.calendar_id}: clean; 6 runs")
    assert lines[1].startswith("carbon     planned ")
    assert lines[1].endswith("(25.0 % more)")
    assert lines[3].endswith("(the same)")
    assert [line.split()[0] for line in lines[1:]] == ["carbon", "cost", "energy", "peak"]


def test_a_week_that_came_as_planned_says_that_nothing_can_differ(outcome):
    own = {
        entry.signal: series_digest(getattr(outcome.week.signals, entry.signal)) for entry in outcome.week.provenance
    }
    known = replace(outcome.week, provenance=tuple(replace(e, sha256=own[e.signal]) for e in outcome.week.provenance))
    actual = as_they_were(known)
    same = replay_actual(known, outcome.calendar, outcome.runs, outcome.evaluation, actual)
    assert same.labels == (*actual.labels, SAME_SERIES)
    other = as_they_were(known, price_per_kwh=known.signals.price_per_kwh + 0.01)
    assert SAME_SERIES not in replay_actual(known, outcome.calendar, outcome.runs, outcome.evaluation, other).labels


def test_a_limit_that_only_the_heat_of_the_week_breaks_is_told_apart(outcome):
    hot = as_they_were(outcome.week, dry_bulb_c=outcome.week.signals.dry_bulb_c + 40.0)
    found = replayed(outcome, hot)
    assert {broken.kind for broken in found.broken} >= {"cooling-limit"}
    assert outcome.evaluation.clean
    told = verdict(outcome.calendar, outcome.evaluation, found)
    assert told["clean"]
    assert not told["actual"]["clean"]
    assert told["actual"]["energy_kwh"] > told["planned"]["energy_kwh"]
    assert told["actual"]["violations"][0].keys() == {"kind", "subject", "sentence"}
    last = verdict_lines(outcome.calendar, outcome.evaluation, found, "EUR")[-1]
    assert last.startswith("on the actual series, ")
    page = report_html(replace(outcome, hindsight=found)).decode()
    assert "On these series the plan goes beyond:" in page
    assert "Measured by nobody: a test." in page


def test_the_report_lays_the_replay_beside_the_plan(outcome):
    half = as_they_were(outcome.week, ci_gco2_per_kwh=0.5 * outcome.week.signals.ci_gco2_per_kwh)
    shown = replace(outcome, hindsight=replayed(outcome, half))
    rows = {row[0]: row[1:] for row in view.hindsight_rows(shown)}
    assert rows["Carbon of the grid import"][2] == "50.0 % less"
    assert rows["Highest import"] == (rows["Highest import"][0], rows["Highest import"][0], "the same")
    page = report_html(shown).decode()
    assert "The plan on the series as they were" in page
    assert "On these series too it keeps every limit." in page
    assert "as they were" not in report_html(outcome).decode()


def test_without_a_replay_nothing_is_said_of_it(outcome):
    assert verdict(outcome.calendar, outcome.evaluation, None).keys() == {
        "calendar_id", "clean", "violations", "shortfalls",
    }  # fmt: skip
    assert len(verdict_lines(outcome.calendar, outcome.evaluation, None, "EUR")) == 1
    assert view.hindsight_rows(outcome) == ()


def test_less_sun_than_planned_is_bought(outcome):
    dark = as_they_were(outcome.week, ghi_w_per_m2=np.zeros(outcome.week.grid.n_slots))
    found = replayed(outcome, dark).evaluation
    assert found.solar_kwh == 0.0
    assert found.import_kwh == pytest.approx(outcome.evaluation.import_kwh + outcome.evaluation.solar_kwh)
