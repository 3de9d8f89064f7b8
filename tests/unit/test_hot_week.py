"""Hot days planned with a constant share of cooling and with the plant's curves, judged on the full physics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.optimize import PlanOptions
from tests.hot_week import planned
from tests.judged import kinds
from tests.weeks import FULL_POWER, POINTS, make_block, make_pool, make_run, tiny_week
from thermal.plant import dry_cooler, tower_chiller
from thermal.reserve import NOTHING, Reserve

OPTIONS = PlanOptions(gap_target=0.01, time_limit_s=20.0)
N_SLOTS = 48
HOUR = np.arange(N_SLOTS) % 24
DRY_C = 33.0 + 9.0 * np.sin(2 * np.pi * (HOUR - 9) / 24)  # 24 to 42 C, hottest at 15 h
WET_C = 17.0 + 4.0 * np.sin(2 * np.pi * (HOUR - 9) / 24)


def hot_week(plant, *, reserve=NOTHING, points=POINTS, **changes):
    """Two hot days with work for most of the GPU-hours of a block of 1 MW; energy is cheap when it is hot."""
    block = replace(make_block(capacity_kw=1_400.0, n_slots=N_SLOTS, plant=plant), reserve=reserve)
    given = {
        "dry_bulb_c": DRY_C,
        "wet_bulb_c": WET_C,
        "price_per_kwh": 0.10 - 0.05 * np.sin(2 * np.pi * (HOUR - 9) / 24),
    }
    return tiny_week(
        n_slots=N_SLOTS,
        blocks=(block,),
        pools=(make_pool(gpus=880),),
        runs=(
            make_run("big", 512, 26.0, 48.0, on_off_grid_h=2.0, points=points),
            make_run("mid", 256, 24.0, 48.0, on_off_grid_h=2.0, points=points),
            make_run("low", 112, 20.0, 40.0, on_off_grid_h=2.0, points=points),
        ),
        **(given | changes),
    )


def test_a_constant_share_breaks_the_thermal_limit_and_the_curves_do_not():
    week = hot_week(dry_cooler(1_000.0))
    blind, seeing = planned(week, OPTIONS, constant_share=True), planned(week, OPTIONS, constant_share=False)
    assert blind.hours_over >= 6.0
    assert "cooling-limit" in kinds(blind.evaluation)
    assert seeing.hours_over == 0.0
    assert kinds(seeing.evaluation) <= {"deadline"}
    assert seeing.plan.status == "optimal"


def test_the_cooling_energy_of_the_program_is_within_half_a_per_cent_of_the_replay():
    found = planned(hot_week(dry_cooler(1_000.0)), OPTIONS, constant_share=False)
    assert 0.0 <= found.off_pct <= 0.5


def test_the_same_with_towers_and_chillers_whose_curve_is_not_convex():
    found = planned(hot_week(tower_chiller(1_000.0), wet_bulb_c=WET_C + 8.0), OPTIONS, constant_share=False)
    (fit,) = found.plan.cooling
    assert fit.binary_h > 0.0
    assert fit.hull_gap_kw > 2.5  # 0.25 % of 1,000 kW
    assert fit.rough_h == fit.binary_h + fit.one_piece_h
    assert f"not convex in {fit.rough_h:g} h" in fit.sentence
    assert 0.0 <= found.off_pct <= 0.5
    assert kinds(found.evaluation) <= {"deadline"}
    assert found.plan.status == "optimal"


@pytest.mark.parametrize("reserve", [Reserve(one_out=True), Reserve(restart_s=900.0)])
def test_a_reserve_is_kept_by_the_plan_and_missed_by_the_judge_where_it_is_not(reserve):
    weather = {"dry_bulb_c": DRY_C - 8.0, "wet_bulb_c": WET_C - 8.0, "points": FULL_POWER}
    week = hot_week(dry_cooler(1_000.0, cooler_count=3), reserve=reserve, **weather)
    assert kinds(planned(week, OPTIONS, constant_share=False).evaluation) <= {"deadline"}
    blind = planned(week, OPTIONS, constant_share=True)
    assert kinds(blind.evaluation) & {"cooling-limit", "ride-through"}
    if reserve.restart_s is not None:
        (broken,) = (v for v in blind.evaluation.violations if v.kind == "ride-through")
        assert 0.0 < broken.value < reserve.restart_s
        assert "rides out the loss of its heat rejection for" in broken.sentence
