"""What a plan may take, and why: the thermal report names the number that the program obeys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.optimize.limits import POWER_MARGIN, block_limits
from tests.weeks import make_block, make_pool, tiny_week
from thermal.alarms import Level
from thermal.limit import POWER, RIDE_THROUGH, UNPOWERED, PlanLimit, within_power_kw
from thermal.plan_alarm import plan_limit_alarm
from thermal.plant import cooling, dry_cooler, tower_chiller, w_max_kw, w_max_n1_kw
from thermal.report import cooling_report
from thermal.reserve import Reserve, ride_through_kw

DRY_C = np.array([5.0, 20.0, 30.0, 36.0, 41.0, 44.0, 25.0, 12.0])
WET_C = DRY_C - 8.0
PLANT = dry_cooler(1_000.0, cooler_count=3)


def week_of(plant=PLANT, reserve=None, capacity_kw=2_000.0):
    """A block whose GPUs could take more than the plant carries, so that nothing but its limits binds."""
    block = make_block(capacity_kw=capacity_kw, n_slots=8, plant=plant)
    block = replace(block, reserve=reserve or block.reserve)
    return tiny_week(blocks=(block,), pools=(make_pool(gpus=2_000, idle_w=0.0),), dry_bulb_c=DRY_C, wet_bulb_c=WET_C)


def report_of(week):
    (block,) = week.blocks
    return cooling_report(
        block.plant, np.full(8, block.plant.rated_it_kw), DRY_C, WET_C, powered=week.plant_powered(block),
        slot_h=1.0, now=0, carbon_kg=None, ci_gco2_per_kwh=np.full(8, 300.0), reserve=block.reserve,
        capacity_kw=week.capacity_kw(block),
    )  # fmt: skip


RESERVES = [
    Reserve(),
    Reserve(one_out=True),
    Reserve(restart_s=600.0),
    Reserve(restart_s=900.0),
    Reserve(one_out=True, restart_s=600.0),
]


@pytest.mark.parametrize("reserve", RESERVES)
@pytest.mark.parametrize("plant", [PLANT, tower_chiller(1_000.0)], ids=lambda p: p.kind)
def test_the_report_shows_the_number_that_the_program_obeys(plant, reserve):
    week = week_of(plant, reserve)
    limits = block_limits(week, week.blocks[0])
    found = report_of(week).limit
    assert found.it_kw.tolist() == limits.envelope.w_max_kw.tolist()
    assert limits.it_max_kw == pytest.approx(found.it_kw * (1.0 - POWER_MARGIN))


@pytest.mark.parametrize("reserve", RESERVES)
def test_the_cause_is_what_is_the_least(reserve):
    week = week_of(reserve=reserve)
    found = report_of(week).limit
    levels = {"all": w_max_kw(PLANT, DRY_C, WET_C)}
    if reserve.one_out:
        levels["one dry cooler out"] = w_max_n1_kw(PLANT, DRY_C, WET_C)
    if reserve.restart_s is not None:
        levels[RIDE_THROUGH] = ride_through_kw(PLANT, reserve.restart_s, DRY_C, WET_C)
    assert found.it_kw == pytest.approx(np.minimum.reduce(list(levels.values())))
    for slot, cause in enumerate(found.cause):
        if cause == "":
            assert found.it_kw[slot] == PLANT.rated_it_kw
        else:
            name = "all" if cause in {"liquid supply", "room air"} else str(cause)
            assert levels[name][slot] == found.it_kw[slot] < PLANT.rated_it_kw
    # each of what is asked for binds somewhere in this week, or the test would show nothing
    assert set(found.cause) - {"", "liquid supply", "room air"} == set(levels) - {"all"}


def test_the_power_of_the_block_binds_where_it_is_short():
    """At 5 C, 700 kW of block power leave what IT power and its cooling take together: the physics, to rounding."""
    week = week_of(capacity_kw=700.0)
    found = report_of(week).limit
    limits = block_limits(week, week.blocks[0])
    bound = found.cause == POWER
    assert bound[0]
    taken_kw = found.it_kw + cooling(PLANT, found.it_kw, DRY_C, WET_C).cooling_kw
    assert taken_kw[bound] == pytest.approx(700.0)
    # the program's curves never promise less cooling power than the plant takes: at most their error below it
    below_kw = found.it_kw - limits.it_max_kw
    assert (below_kw >= 0.0).all()
    assert (below_kw <= limits.envelope.fit_error_kw + 2.0 * POWER_MARGIN * found.it_kw).all()


def test_without_power_nothing_may_be_taken_and_the_cause_says_so():
    week = week_of(capacity_kw=0.001)
    found = report_of(week).limit
    assert found.it_kw.tolist() == [0.0] * 8
    assert set(found.cause) == {UNPOWERED}
    assert report_of(week).totals["limited_h"].value == 8.0


def test_a_capacity_that_suffices_changes_nothing_to_the_last_bit():
    most = np.array([1_000.0, 333.3])
    assert within_power_kw(PLANT, most, np.array([2_000.0, 2_000.0]), DRY_C[:2], WET_C[:2]).tolist() == most.tolist()
    assert within_power_kw(PLANT, most, np.zeros(2), DRY_C[:2], WET_C[:2]) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_hours_and_spells_are_counted_against_the_limit():
    found = report_of(week_of(reserve=Reserve(restart_s=900.0)))
    assert found.totals["limit_least_kw"].value == found.limit.it_kw.min()
    assert found.totals["limited_h"].value == (found.limit.cause != "").sum()
    assert found.totals["over_limit_h"].value == (found.limit.it_kw < PLANT.rated_it_kw).sum()
    assert sum(spell.after - spell.first for spell in found.limit_spells) == (found.limit.cause != "").sum()
    assert RIDE_THROUGH in {spell.cause for spell in found.limit_spells}
    span = next(row for row in found.spans if row.name == "limit_kw")
    assert (span.lowest.value, span.highest.value) == (found.limit.it_kw.min(), found.limit.it_kw.max())


RATED_KW = PLANT.rated_it_kw


def checked(it_kw, limit_kw, causes):
    limit = PlanLimit(np.array(limit_kw), np.array(causes, dtype="U32"))
    return plan_limit_alarm(PLANT, np.array(it_kw), limit, 0.5)


def test_a_calendar_within_its_limit_is_green_and_says_what_is_left():
    found = checked([900.0, 700.0], [RATED_KW, 750.0], ["", RIDE_THROUGH])
    assert (found.level, found.action, found.slot) == (Level.GREEN, "", None)
    assert found.told == "The calendar in force stays within what a plan may take; 50 kW are left at the least."


def test_a_calendar_that_gives_up_its_reserve_is_told_with_hours_causes_action_and_owner():
    found = checked(
        [900.0, 800.0, 800.0, 800.0], [RATED_KW, 750.0, 600.0, 800.0], ["", RIDE_THROUGH, "one CDU out", ""]
    )
    assert (found.level, found.owner, found.slot, found.hours_h) == (Level.AMBER, "planning", 1, 1.0)
    assert "takes 800 kW of IT power where a plan may take 600 kW" in found.told
    assert "What binds: one CDU out in 0.5 h, ride-through in 0.5 h." in found.told
    assert found.action.startswith("Plan the week again; until then hold these hours' IT power down by up to 200 kW")


@pytest.mark.parametrize(
    ("limit_kw", "cause", "told"),
    [
        (700.0, "liquid supply", "liquid supply in 0.5 h"),
        (700.0, POWER, "power of the block in 0.5 h"),
        (0.0, UNPOWERED, "not powered in 0.5 h"),
        (RATED_KW, "", "rated IT power in 0.5 h"),
    ],
)
def test_a_calendar_beyond_what_needs_no_failure_is_red(limit_kw, cause, told):
    found = checked([RATED_KW + 1.0, 500.0], [limit_kw, 400.0], [cause, "one CDU out"])
    assert found.level is Level.RED
    assert told in found.told


def test_rounding_is_no_excess():
    assert checked([750.0 + 1e-8], [750.0], [RIDE_THROUGH]).level is Level.GREEN
