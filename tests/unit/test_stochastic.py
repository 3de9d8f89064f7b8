"""Plans on weighted paths: reduction by hand, the equivalent against enumeration, the tail, limits in the heat."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from planner.band import Band
from planner.config import site_from_text
from planner.gather import gather
from planner.optimize import PlanOptions
from planner.optimize import plan as plan_on_forecast
from planner.optimize.limits import block_limits
from planner.stochastic.of_bands import FORECAST_ALONE, Asked, looked_at, on_forecast, with_uncertainty
from planner.stochastic.plan import plan
from planner.stochastic.reduction import kept_paths, recentred
from planner.uncertainty import Heat, Scenario, Uncertainty
from tests.unit.test_backtest_plans import SITE
from tests.weeks import FULL_POWER, START, make_block, make_pool, make_run, tiny_week

EXACT = PlanOptions(gap_target=1e-6, time_limit_s=20.0)
LEVELS = (0.1, 0.5, 0.9)


def test_the_path_that_lies_amid_all_comes_first_and_weights_count_the_nearest():
    # one signal, one hour: the median is nearest to all on average, then the far one takes most off
    paths = {"price": np.array([[0.0], [1.0], [2.0], [3.0], [20.0]])}
    chosen, weights = kept_paths(paths, 2)
    assert chosen.tolist() == [2, 4]
    assert weights.tolist() == [0.8, 0.2]
    assert kept_paths(paths, 9)[1].tolist() == [0.2] * 5


def test_signals_count_by_their_own_spread():
    grams = np.array([[100.0], [100.0], [900.0], [900.0]])
    euros = np.array([[0.1], [0.9], [0.1], [0.9]])
    chosen, weights = kept_paths({"carbon": grams, "price": euros}, 4)
    assert sorted(chosen.tolist()) == [0, 1, 2, 3]
    assert weights.tolist() == [0.25] * 4
    # thousands of times smaller units change nothing
    assert (
        kept_paths({"carbon": grams / 1e6, "price": euros}, 2)[0].tolist()
        == kept_paths({"carbon": grams, "price": euros}, 2)[0].tolist()
    )


def test_the_mean_of_every_slot_is_the_one_asked_for():
    rng = np.random.default_rng(1)
    paths = rng.gamma(2.0, 100.0, (60, 24))
    chosen, weights = kept_paths({"carbon": paths}, 6)
    shifted = recentred(paths[chosen], weights, paths.mean(axis=0), -np.inf)
    assert weights @ shifted == pytest.approx(paths.mean(axis=0))
    assert (recentred(paths[chosen], weights, np.zeros(24), 0.0) >= 0.0).all()


def test_the_mean_of_the_paths_is_the_forecast_whatever_the_errors_of_late_say():
    week = tiny_week(n_slots=4, ci_gco2_per_kwh=300.0)
    paths = 340.0 + np.random.default_rng(2).normal(0.0, 30.0, (40, 4))
    band = Band("ci_gco2_per_kwh", "made up", START, LEVELS, np.quantile(paths, LEVELS, axis=0), paths)
    scenarios = with_uncertainty(replace(week, bands=(band,)), Asked(scenarios=5)).uncertainty.scenarios
    mean = sum(one.weight * one.signals.ci_gco2_per_kwh for one in scenarios)
    assert mean == pytest.approx(week.signals.ci_gco2_per_kwh)
    assert np.ptp([one.signals.ci_gco2_per_kwh[0] for one in scenarios]) > 10.0


def two_paths(week, first, second, weights=(0.5, 0.5), **asked):
    paths = tuple(
        Scenario(w, replace(week.signals, price_per_kwh=np.array(p, dtype=float)))
        for w, p in zip(weights, (first, second), strict=True)
    )
    return replace(week, uncertainty=Uncertainty(paths, **asked))


def on(schedule):
    return tuple(bool(v) for v in schedule.runs[0].gpu_power_limit_w > 0.0)


def test_starts_are_the_best_for_both_paths_together():
    week = tiny_week(
        n_slots=6,
        runs=(make_run(points=FULL_POWER, work_h=2.0, deadline_h=6.0),),
        pools=(make_pool(points=FULL_POWER),),
    )
    first, second = [0.1, 0.1, 0.5, 0.5, 0.2, 0.2], [0.9, 0.9, 0.5, 0.5, 0.3, 0.3]
    known = two_paths(week, first, second)
    found = plan(known, EXACT)
    means = 0.5 * np.array(first) + 0.5 * np.array(second)
    best = min(
        (c for c in product([False, True], repeat=6) if sum(c) == 2), key=lambda c: float(means[np.array(c)].sum())
    )
    assert on(found.schedule) == best == (False, False, False, False, True, True)
    assert found.mip_gap <= 1e-6
    assert sum(money for _, money in found.terms) == pytest.approx(found.objective)
    # what the paths come to is the mean of what each costs, not what the forecast says
    assert dict(found.terms)["energy"] != pytest.approx(dict(plan_on_forecast(week, EXACT).terms)["energy"])


def test_power_follows_each_path():
    # On the forecast both halves cost the same. In either path one half is cheap: more power goes there, so that the
    # mean over the paths is less than that of power that is fixed before.
    week = tiny_week(
        n_slots=4,
        price_per_kwh=0.2,
        runs=(make_run(work_h=3.2, deadline_h=4.0, min_run_h=4.0),),
    )
    known = two_paths(week, [0.05, 0.05, 0.35, 0.35], [0.35, 0.35, 0.05, 0.05])
    found = plan(known, EXACT)
    fixed = plan_on_forecast(week, EXACT)
    assert on(found.schedule) == on(fixed.schedule)
    assert found.objective < fixed.objective * 0.999


def test_the_worst_path_counts_for_more_by_the_weight_of_the_tail():
    def with_carbon(weight):
        week = tiny_week(
            n_slots=4,
            price_per_kwh=0.0,
            runs=(make_run(points=FULL_POWER, work_h=2.0, deadline_h=4.0, min_run_h=2.0),),
            pools=(make_pool(points=FULL_POWER),),
        )
        # the first half is a little cleaner on average, and much dirtier in the second path
        paths = ([100.0, 100.0, 300.0, 300.0], [480.0, 480.0, 300.0, 300.0])
        scenarios = tuple(Scenario(0.5, replace(week.signals, ci_gco2_per_kwh=np.array(ci))) for ci in paths)
        return replace(week, uncertainty=Uncertainty(scenarios, cvar_alpha=0.5, cvar_weight=weight))

    by_mean, by_tail = plan(with_carbon(0.0), EXACT), plan(with_carbon(0.5), EXACT)
    assert on(by_mean.schedule) == (True, True, False, False)
    assert on(by_tail.schedule) == (False, False, True, True)
    assert dict(by_mean.terms)["risk"] == pytest.approx(0.0, abs=1e-6)
    assert dict(by_tail.terms)["risk"] >= 0.0
    assert sum(money for _, money in by_tail.terms) == pytest.approx(by_tail.objective)


def heated(dry_c, level=0.9):
    block = make_block(n_slots=4, capacity_kw=330.0)
    week = tiny_week(
        n_slots=4,
        dry_bulb_c=20.0,
        blocks=(block,),
        pools=(make_pool(gpus=256, points=FULL_POWER),),
        runs=(make_run(points=FULL_POWER, work_h=2.0, deadline_h=4.0),),
    )
    quantiles = np.array([np.full(4, 18.0), np.full(4, 20.0), np.array(dry_c)])
    band = Band("dry_bulb_c", "made up", START, LEVELS, quantiles, np.tile(quantiles[1], (5, 1)))
    return week, with_uncertainty(replace(week, bands=(band,)), Asked(w_max_quantile=level))


def test_limits_hold_in_the_heat_of_the_level_asked_for():
    week, looked = heated([20.0, 38.0, 20.0, 20.0])
    assert looked.uncertainty.heat.dry_bulb_c.tolist() == [20.0, 38.0, 20.0, 20.0]
    plain, safe = block_limits(week, week.blocks[0]), block_limits(looked, looked.blocks[0])
    assert safe.it_max_kw[1] < plain.it_max_kw[1]
    assert safe.it_max_kw[[0, 2, 3]] == pytest.approx(plain.it_max_kw[[0, 2, 3]])
    hot = replace(week, signals=replace(week.signals, dry_bulb_c=np.full(4, 38.0)))
    assert safe.it_max_kw[1] == pytest.approx(block_limits(hot, hot.blocks[0]).it_max_kw[1])


def test_heat_never_loosens_a_limit_nor_powers_idle_gpus_down():
    week, looked = heated([10.0, 60.0, 20.0, 20.0])
    plain, safe = block_limits(week, week.blocks[0]), block_limits(looked, looked.blocks[0])
    assert (safe.it_max_kw <= plain.it_max_kw).all()
    assert (safe.it_max_kw >= safe.idle_kw).all()


def test_a_week_of_which_all_is_known_is_planned_as_it_is():
    week = tiny_week()
    assert with_uncertainty(week, Asked(6, w_max_quantile=0.9)) is week
    assert with_uncertainty(heated([30.0] * 4)[0], Asked()).uncertainty is None


def test_what_a_plan_looks_at_is_part_of_its_inputs():
    week, looked = heated([20.0, 38.0, 20.0, 20.0])
    assert looked.sha256 != week.sha256
    assert Heat(np.zeros(1), np.zeros(1)).dry_bulb_c.flags.writeable is False


def test_what_was_asked_is_told_also_where_nothing_is_known():
    week, _ = heated([20.0, 38.0, 20.0, 20.0])
    asked = Asked(2, w_max_quantile=0.9)
    assert looked_at(week, Asked()) is week
    blind = looked_at(week, asked)
    assert blind.uncertainty is None
    assert [label.split(":")[-1] for label in blind.labels[-2:]] == [
        " the errors of no forecast are known, so there are no paths.",
        " the errors of its forecast are not known.",
    ]
    rng = np.random.default_rng(3)
    paths = 300.0 + rng.normal(0.0, 50.0, (20, 4))
    band = Band("ci_gco2_per_kwh", "made up", START, LEVELS, np.quantile(paths, LEVELS, axis=0), paths)
    seen = looked_at(replace(week, bands=(band,)), asked)
    assert len(seen.uncertainty.scenarios) == 2
    assert seen.labels[-2] == "Starts, stops and pools are planned on 2 weighted paths of the forecast."
    assert seen.bands == (band,)
    alone = on_forecast(seen)
    assert alone.uncertainty.scenarios == ()
    assert alone.uncertainty.heat is seen.uncertainty.heat
    assert (*seen.labels[:-2], FORECAST_ALONE, seen.labels[-1]) == alone.labels
    assert on_forecast(blind) is blind
    # a week that is gathered again from its kept series brings its sentences along
    assert looked_at(replace(seen, uncertainty=None), asked).labels == seen.labels
    assert looked_at(blind, asked).sha256 == blind.sha256


def test_a_site_file_asks_for_it_and_the_demo_says_that_nothing_is_unknown():
    asked = "[plan.uncertainty]\nscenarios = 4\nw_max_quantile = 0.9\n"
    week = gather(site_from_text(SITE + asked, Path("small.toml")), now=START)
    assert week.uncertainty is None
    assert "Planned on the forecast alone: the errors of no forecast are known, so there are no paths." in week.labels
    plain = gather(site_from_text(SITE, Path("small.toml")), now=START)
    assert not any("paths" in label for label in plain.labels)
