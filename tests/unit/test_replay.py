"""Replayed weeks: no leak from the future, no way better than perfect foresight, sums by hand, the command."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest
from click.testing import CliRunner

from planner.backtest_kept import CARBON, ORACLE, Came, PlannedWeek
from planner.cli import cli
from planner.errors import ConfigError, DataUnavailable
from planner.export.replay import HEADS, replay_html, replay_json, replay_table
from planner.forecast import boosted
from planner.forecast.history import History
from planner.forecast.issued import issue
from planner.replay.issue import issue_daily
from planner.replay.outcome import ROLLING, STOCHASTIC, WEEK_AHEAD, Replay, ReplayedWeek, ways_of
from planner.replay.replay import How, came_in, known_on, replayed, starts_of
from planner.replay.roll import Manner
from planner.replay.task import replay_week
from planner.stochastic.of_bands import Asked
from tests.forecasts import START, made_up
from tests.unit.test_backtest_command import SOURCES
from tests.unit.test_backtest_plans import small

FIRST = START + timedelta(days=105)
HOW = How("XX", "direct", CARBON, 7, 6, Asked(3, 0.5, 0.2, 0.9), Manner(4.0, 0.0))


@pytest.fixture(autouse=True)
def _without_trees(monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)


def past(seed=0):
    made = made_up(125, seed)
    values = {name: series.copy() for name, series in made.signals.items()}
    values["wet_bulb"] = values["dry_bulb"] - 4.0
    return History(made.start, values)


def issued(history, days=7):
    last = FIRST + timedelta(days=days - 1)
    return issue_daily(history, ("carbon",), ("dry_bulb", "wet_bulb"), (FIRST, last), lambda t: map(issue, t), 0)


def test_what_comes_after_an_origin_changes_nothing_that_was_known_there():
    before, after = past(), past()
    at = after.position(FIRST + timedelta(days=3))
    values = {name: series.copy() for name, series in after.signals.items()}
    values["carbon"][at:] = 2000.0 - values["carbon"][at:]
    changed = issued(History(after.start, values))
    plain = issued(before)
    for day in range(4):
        origin = FIRST + timedelta(days=day)
        one, other = plain.at(origin)["carbon"], changed.at(origin)["carbon"]
        for field in ("point", "quantiles", "paths"):
            assert np.array_equal(getattr(one, field), getattr(other, field)), (day, field)
    later = FIRST + timedelta(days=5)
    assert not np.array_equal(plain.at(later)["carbon"].point, changed.at(later)["carbon"].point)


def test_a_day_knows_what_came_before_it_and_its_forecast_after():
    history, site = past(), small()
    daily = issued(history)
    came = came_in(site, history, FIRST, HOW)
    week = known_on(site, daily, FIRST, 3, came, HOW)
    assert week.issued_at == FIRST + timedelta(days=3)
    assert np.array_equal(week.signals.ci_gco2_per_kwh[:72], came["carbon"][:72])
    ahead = daily.at(week.issued_at)["carbon"].point
    assert np.array_equal(week.signals.ci_gco2_per_kwh[72:], ahead[:96])
    paths = week.uncertainty.scenarios
    assert len(paths) == 3
    assert sum(path.weight for path in paths) == pytest.approx(1.0)
    for path in paths:
        assert np.array_equal(path.signals.ci_gco2_per_kwh[:72], came["carbon"][:72])
    assert (week.uncertainty.heat.dry_bulb_c >= week.signals.dry_bulb_c).all()
    assert (week.uncertainty.heat.dry_bulb_c[72:] > week.signals.dry_bulb_c[72:]).any()


def test_a_week_is_replayed_in_every_way():
    history = past()
    found = replayed(small(), history, issued(history), [FIRST], HOW, lambda tasks: map(replay_week, tasks))
    (week,) = found.weeks
    names = [one.name for one in week.planned.plans]
    assert names == [ORACLE, WEEK_AHEAD, ROLLING, STOCHASTIC]
    assert week.deadlines == 1
    for one in week.planned.plans:
        assert one.late == 0
        assert not one.beyond
    best = week.planned.plans[0]
    assert all(one.figure >= best.figure * (1.0 - 1e-6 - best.gap) for one in week.planned.plans)
    document = json.loads(replay_json(found))
    assert [way["name"] for way in document["ways"]] == names
    assert document["ways"][0]["regret"] == 0.0
    page = replay_html(found).decode()
    assert page.count('class="chart"') == 2
    assert "http" not in page.split("<script>")[0].replace("http-equiv", "")
    lines = replay_table(found)
    assert any(line.startswith("steady") for line in lines)
    assert "synthetic error that grows with lead" in lines[-1]


def came(name, figure, usual, late=0):
    return Came(name, figure, {"asap": usual, "steady": usual}, late, beyond=False, gap=0.0)


def test_sums_by_hand():
    plans = (
        (came(ORACLE, 80.0, 100.0), came(WEEK_AHEAD, 95.0, 100.0, 1), came(ROLLING, 90.0, 100.0)),
        (came(ORACLE, 100.0, 200.0), came(WEEK_AHEAD, 160.0, 200.0), came(ROLLING, 120.0, 200.0)),
    )
    weeks = tuple(
        ReplayedWeek(PlannedWeek(FIRST + i * timedelta(days=7), CARBON, p), 2, {ROLLING: 10.0}, {ROLLING: 1})
        for i, p in enumerate(plans)
    )
    oracle, ahead, rolling = ways_of(weeks)
    assert (oracle.regret, ahead.regret, rolling.regret) == (0.0, 75.0, 30.0)
    assert rolling.against_week_ahead == 45.0
    assert rolling.kept.share["asap"] == pytest.approx(90.0 / 120.0)
    assert (ahead.late_share, rolling.late_share) == (0.25, 0.0)
    assert (rolling.changed_gpu_h, rolling.thawed, ahead.changed_gpu_h) == (20.0, 2, 0.0)
    table = replay_table(Replay("s", "XX", "EUR", CARBON, 7, {"carbon": "m/1"}, 3, weeks, 1, (oracle, ahead, rolling)))
    assert "1 left out" in table[-1]
    assert len(table) == 2 + 1 + 3 + 2 + 2
    assert table[2].split()[0] == HEADS[0]


def test_starts_and_too_short_a_past():
    assert starts_of(FIRST, FIRST + timedelta(days=15), 7) == [FIRST + timedelta(days=d) for d in (0, 7, 14)]
    with pytest.raises(DataUnavailable, match="too short"):
        issued(past(), days=20)


def test_the_command(tmp_path):
    history = past()
    names = ["carbon", "price", "dry_bulb", "wind_speed_10m"]
    rows = [
        ",".join([history.at(h).isoformat(), *(f"{history.signals[name][h]:.6f}" for name in names), "70"])
        for h in range(history.n_hours)
    ]
    (tmp_path / "zone.csv").write_text("\n".join([",".join(["t", *names, "humidity"]), *rows]), encoding="utf-8")
    (tmp_path / "sources.toml").write_text(SOURCES, encoding="utf-8")
    from tests.unit.test_backtest_plans import SITE

    (tmp_path / "site.toml").write_text(SITE + "[plan.uncertainty]\nscenarios = 2\n", encoding="utf-8")
    day = f"{FIRST:%Y-%m-%d}"
    asked = ["replay", str(tmp_path / "site.toml"), "--from", day, "--to", day, "--zone", "XX", "--replan-every", "6"]
    asked += ["--sources", str(tmp_path / "sources.toml"), "--out", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(cli, asked)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["schema"] == "gridpace.replay/1"
    assert document["scenarios"] == 2
    assert (tmp_path / "out" / "replay.html").is_file()
    assert json.loads((tmp_path / "out" / "replay.json").read_text(encoding="utf-8")) == document
    wrong = CliRunner().invoke(cli, [*asked, "--by", "money", "--to", "2023-01-01"])
    assert isinstance(wrong.exception, ConfigError)
    # what cannot be replayed is told before any forecast is made
    table = "[plan.uncertainty]"
    text = (tmp_path / "site.toml").read_text(encoding="utf-8")
    (tmp_path / "site.toml").write_text(text.replace(table, f'[plan]\nmethod = "scale"\n\n{table}'), encoding="utf-8")
    assert "goes on from plans in force" in str(CliRunner().invoke(cli, asked).exception)
