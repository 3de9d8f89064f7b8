"""What forecasts are worth to the planner: hand-worked shares, perfect foresight, no leak, weeks that move."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from planner.backtest_kept import CARBON, MONEY, ORACLE, Came, PlannedWeek, kept
from planner.backtest_plans import CARBON_PER_T, PlanTask, check_site, plan_both, planned, weighed
from planner.backtest_weeks import home_start, moved, weather_of, week_at
from planner.config import load_site, site_from_text
from planner.errors import ConfigError, DataUnavailable
from planner.forecast import boosted
from planner.forecast.backtest import backtest
from planner.forecast.history import History
from planner.forecast.issued import BLEND, NAIVE, issue
from planner.forecast.saving import share_of
from planner.forecast_history import Past
from planner.optimize import PlanOptions
from tests.forecasts import START, made_up
from tests.weeks import FULL_POWER, make_pool, make_run, tiny_week

SITE = """
[site]
name = "small"
timezone = "Europe/Berlin"
latitude = 51.0
longitude = 10.0
zone = "demo-central"
currency = "EUR"
[prices]
carbon_per_t = 80
lateness_per_gpu_h = 2.5
[horizon]
week = "2024-W20"
[[block]]
name = "hall"
capacity_kw = 400
maintenance = [{ start = 2024-05-15T08:00:00, end = 2024-05-15T16:00:00, capacity_kw = 300, reason = "a check" }]
cooling = { kind = "dry_cooler", rated_it_kw = 350 }
[[pool]]
name = "a1"
block = "hall"
gpu = "H100-SXM"
count = 256
[[run]]
name = "r1"
gpus = 256
tokens_per_gpu_s = 1000
power_limits_w = [700]
min_run_h = 12
min_pause_h = 12
on_off_grid_h = 12
stages = [{ name = "train", tokens = 6e10, deadline = 2024-05-19T00:00:00 }]
"""
EXACT = PlanOptions(gap_target=1e-6, time_limit_s=30.0)
CHEAP, DEAR = 0.1, 0.3
CAME = [DEAR, DEAR, CHEAP, CHEAP, DEAR, DEAR, CHEAP, CHEAP]


def small(text: str = SITE):
    return site_from_text(text, Path("small.toml"))


def priced(prices, weight=MONEY):
    """A week of eight hours: four of work at the one power limit that there is."""
    week = tiny_week(
        price_per_kwh=prices if weight == MONEY else 0.08,
        ci_gco2_per_kwh=1000.0 * np.array(prices) if weight == CARBON else 300.0,
        runs=(make_run(points=FULL_POWER),),
        pools=(make_pool(points=FULL_POWER),),
    )
    return weighed(week, weight)


@pytest.mark.parametrize("weight", [MONEY, CARBON])
def test_a_share_worked_by_hand(weight):
    # The work takes four hours, asap the first four: two dear, two cheap. Foresight takes the four cheap ones. The
    # forecast sees three of these and takes one dear hour for cheap: half of what could be saved.
    seen = [DEAR, CHEAP, CHEAP, CHEAP, DEAR, DEAR, CHEAP, DEAR]
    # All hours dear but two of those that came dear: what could be saved is lost once.
    wrong = [CHEAP, CHEAP, DEAR, DEAR, CHEAP, CHEAP, DEAR, DEAR]
    expected = (("seen", priced(seen, weight)), ("wrong", priced(wrong, weight)))
    week = plan_both(PlanTask(weight, priced(CAME, weight), expected, EXACT))
    assert week.compared
    oracle, half, lost = kept([week])
    assert (oracle.model, half.model, lost.model) == (ORACLE, "seen", "wrong")
    assert oracle.share == {"asap": 1.0, "steady": 1.0}
    assert half.share == pytest.approx({"asap": 0.5, "steady": 0.5}, rel=1e-6)
    assert lost.share["asap"] == pytest.approx(-1.0, rel=1e-6)
    assert (half.late, half.beyond, half.compared, half.weeks) == (0, 0, 1, 1)
    assert half.saved_pct["asap"] == pytest.approx(oracle.saved_pct["asap"] / 2, rel=1e-6)


def test_a_forecast_of_what_came_keeps_all():
    known = priced(CAME)
    (oracle, same) = kept([plan_both(PlanTask(MONEY, known, (("right", known),), EXACT))])
    assert oracle.saved_pct["asap"] > 10.0
    assert same.share == {"asap": 1.0, "steady": 1.0}


def test_weather_that_came_hotter_counts_in_all_plans():
    warm = weighed(tiny_week(dry_bulb_c=35.0, runs=(make_run(points=FULL_POWER),)), CARBON)
    cool = weighed(tiny_week(dry_bulb_c=5.0, runs=(make_run(points=FULL_POWER),)), CARBON)
    on_warm, on_cool = plan_both(PlanTask(CARBON, warm, (("cool", cool),), EXACT)).plans
    assert on_cool.figure >= on_warm.figure
    # The fans run for the heat that came, not for the cool that was forecast.
    alone = plan_both(PlanTask(CARBON, cool, (), EXACT)).plans[0]
    assert on_cool.figure > 1.02 * alone.figure


def came(name, figure, usual, **changes):
    return Came(name, figure, {"asap": usual, "steady": usual - 1.0}, 0, beyond=False, gap=0.0, **changes)


def test_sums_are_compared_and_never_shares():
    def week(*plans):
        return PlannedWeek(START, CARBON, plans)

    weeks = [
        week(came(ORACLE, 8.0, 10.0), came("m", 9.0, 10.0)),  # saves 1 of 2
        week(came(ORACLE, 900.0, 1000.0), replace(came("m", 970.0, 1000.0), late=2, beyond=True)),  # 30 of 100
        week(came(ORACLE, 1.0, 5.0), replace(came("m", 1.0, 5.0, reason="steady makes fewer tokens"), late=1)),
    ]
    oracle, model = kept(weeks)
    assert oracle.share["asap"] == 1.0
    assert model.share["asap"] == pytest.approx(31.0 / 102.0)
    assert model.share["steady"] == pytest.approx(29.0 / 100.0)
    assert model.saved_pct["asap"] == pytest.approx(100.0 * 31.0 / 1010.0)
    assert (model.late, model.beyond, model.compared, model.weeks) == (3, 1, 2, 3)
    assert kept([]) == ()
    assert share_of(np.array([1.0]), np.array([0.0])) is None


def test_what_is_weighed():
    week = tiny_week(price_per_kwh=0.1)
    by_carbon, by_money = weighed(week, CARBON), weighed(week, MONEY)
    assert not by_carbon.signals.price_per_kwh.any()
    assert by_carbon.prices.carbon_per_t == week.prices.carbon_per_t
    assert by_money.prices.carbon_per_t == 0.0
    assert by_money.signals is week.signals
    free = replace(week, prices=replace(week.prices, carbon_per_t=0.0))
    assert weighed(free, CARBON).prices.carbon_per_t == CARBON_PER_T


def zone(days: int = 130) -> History:
    history = made_up(days)
    return History(START, {**history.signals, "wet_bulb": history.signals["dry_bulb"] - 3.0})


def tasks_of(history: History, monkeypatch):
    """The tasks of one week at the 110th day, and how many weeks were left out."""
    monkeypatch.setattr(boosted, "available", lambda: False)
    origin = START + timedelta(days=110)
    found = backtest(history, ["carbon", "price"], origin, origin, lambda tasks: map(issue, tasks))
    tasks = []
    plans = planned(small(), history, "direct", found, 7, lambda given: tasks.extend(given) or ())
    return tasks, plans


def test_the_future_does_not_reach_a_plan_on_a_forecast(monkeypatch):
    history = zone()
    at = 110 * 24
    other = {name: series.copy() for name, series in history.signals.items()}
    for name in ("carbon", "price"):
        other[name][at:] = 3.0 * other[name][at:][::-1]
    clean, _ = tasks_of(history, monkeypatch)
    shifted, _ = tasks_of(History(START, other), monkeypatch)
    assert [task.weight for task in clean] == [CARBON, MONEY]
    for one, two in zip(clean, shifted, strict=True):
        assert [model for model, _ in one.expected] == [NAIVE, BLEND]
        # A plan is a function of its week; the digest covers all of that.
        assert [week.sha256 for _, week in one.expected] == [week.sha256 for _, week in two.expected]
        assert one.known.sha256 != two.known.sha256
    # And the past does reach it, or the above would show nothing.
    other["carbon"] = other["carbon"].copy()
    other["carbon"][at - 1] += 50.0
    seen, _ = tasks_of(History(START, other), monkeypatch)
    assert seen[0].expected[1][1].sha256 != clean[0].expected[1][1].sha256


def test_weather_ahead_carries_the_errors_of_its_lead(monkeypatch):
    (task, _), _ = tasks_of(zone(), monkeypatch)
    known, (_, week), (_, other) = task.known.signals, *task.expected
    assert (week.signals.dry_bulb_c == other.signals.dry_bulb_c).all()
    assert 0.5 < np.abs(week.signals.dry_bulb_c - known.dry_bulb_c).mean() < 5.0
    assert (week.signals.wet_bulb_c <= week.signals.dry_bulb_c).all()


def test_weeks_with_unknown_hours_are_left_out(monkeypatch):
    history = zone()
    gone = {name: series.copy() for name, series in history.signals.items()}
    gone["wet_bulb"][110 * 24 + 50] = np.nan
    tasks, plans = tasks_of(History(START, gone), monkeypatch)
    assert (tasks, plans.left_out, plans.kept) == ([], 1, ())


def test_without_prices_only_carbon_is_weighed(monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)
    history, origin = zone(), START + timedelta(days=110)
    found = backtest(history, ["carbon"], origin, origin, lambda tasks: map(issue, tasks))
    tasks = []
    planned(small(), history, "direct", found, 7, lambda given: tasks.extend(given) or ())
    assert [task.weight for task in tasks] == [CARBON]
    assert not tasks[0].known.signals.price_per_kwh.any()


def hours(value: float):
    return {name: np.arange(168) + value for name in ("carbon", "price", "dry_bulb", "wet_bulb")}


def test_a_site_moves_with_all_its_dates():
    origin = datetime(2023, 11, 6, tzinfo=UTC)
    site = small()
    by = origin - datetime(2024, 5, 12, 22, tzinfo=UTC)
    assert origin - home_start(site) == by
    week = week_at(site, origin, hours(1.0), "direct")
    assert (week.grid.start, week.grid.n_slots, week.signals.ci_basis) == (origin, 168, "direct")
    assert week.runs[0].stages[0].deadline == site.runs[0].stages[0].deadline + by
    (cut,) = week.blocks[0].power.deratings
    assert cut.start == site.blocks[0].power.deratings[0].start + by
    assert week.runs[0].earliest_start == origin
    assert week.work_tokens(week.runs[0]) == 6e10
    quarters = week_at(small(SITE.replace('week = "2', 'slot_minutes = 15\nweek = "2')), origin, hours(1.0), "direct")
    assert quarters.signals.price_per_kwh[:9].tolist() == [1.0] * 4 + [2.0] * 4 + [3.0]
    assert moved(site.blocks[0].plant, by) is site.blocks[0].plant
    assert moved((1, "a", None), by) == (1, "a", None)


class _Series:
    unit, basis, source = "EUR/kWh", "direct", "made up"


def past(history: History) -> Past:
    return Past(history, {name: _Series() for name in history.signals})


def test_a_site_that_cannot_be_planned_is_told_before_the_forecasts():
    whole = past(zone())
    check_site(small(), whole, ["carbon", "price"])
    with pytest.raises(ConfigError, match="needs forecasts of carbon"):
        check_site(small(), whole, ["price"])
    dollars = small(SITE.replace('"EUR"', '"USD"').replace("demo-central", "demo-sunbelt"))
    with pytest.raises(ConfigError, match=r"prices are in EUR/kWh; the currency of small\.toml is USD"):
        check_site(dollars, whole, ["carbon", "price"])
    check_site(dollars, whole, ["carbon"])
    with pytest.raises(DataUnavailable, match="no past of wet_bulb, which plans"):
        check_site(small(), past(made_up(10)), ["carbon"])
    with pytest.raises(ConfigError, match="names no week"):
        check_site(small(SITE.replace('week = "2024-W20"', "")), whole, ["carbon"])


def test_the_reference_site_asks_for_nothing_but_temperature(root):
    site = load_site(root / "data/sites/week-ahead.toml")
    assert weather_of(site) == ("dry_bulb", "wet_bulb")
    assert site.tariff == small().tariff  # no charge hides what the forecast is worth
    week = week_at(site, datetime(2024, 1, 1, tzinfo=UTC), hours(10.0), "direct")
    assert len(week.runs) == len(site.runs) == 4
    asked_h = sum(week.work_tokens(run) / run.fastest_tokens_per_s * run.gpus for run in week.runs) / 3600.0
    assert 0.5 < asked_h / (2048 * 168) < 0.6
