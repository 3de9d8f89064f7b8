from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from planner.pool import Pool
from planner.run import PoolOption, Run, Stage
from planner.timegrid import TimeGrid
from planner.week import Prices, Signals, Week
from power.gpu import GpuType, OperatingPoint
from power.tariff import Tariff

T0 = datetime(2024, 5, 12, 22, tzinfo=UTC)
POINT = OperatingPoint(700.0, 1_050.0, 1.0)
GPU = GpuType("H100-SXM", 150.0, (POINT,))


def days(n: float) -> datetime:
    return T0 + timedelta(days=n)


def run(*stages: Stage, **changes) -> Run:
    first = Run(
        name="llama",
        gpus=64,
        stages=stages,
        options=(PoolOption("a1", 100.0, (POINT,)),),
        earliest_start=T0,
        priority=3,
        checkpoint_s=60.0,
        reload_s=120.0,
        min_run_h=2.0,
        min_pause_h=1.0,
        max_pauses=5,
        on_off_grid_h=1.0,
    )
    return dataclasses.replace(first, **changes)


def week(*runs: Run, ci: float = 300.0) -> Week:
    flat = np.full(168, 1.0)
    return Week(
        site="s",
        timezone="Europe/Berlin",
        grid=TimeGrid(T0, 60, 168),
        issued_at=T0,
        signals=Signals(ci * flat, "direct", 0.1 * flat, 15 * flat, 10 * flat, 0 * flat),
        provenance=(),
        blocks=(),
        pools=(Pool("a1", "a", GPU, "i1", ((T0, 100), (T0 + timedelta(hours=2, minutes=1), 200))),),
        runs=runs,
        tariff=Tariff(),
        prices=Prices("EUR", 80.0, 2.0, 3.0),
    )


def due(r: Run) -> list[tuple[str, float, float]]:
    return [(name, (at - T0) / timedelta(days=1), tokens) for name, at, tokens in week(r).due_tokens(r)]


def test_tokens_add_up_over_stages_and_what_is_done_is_taken_off():
    stages = (Stage("warm", 100.0, days(2)), Stage("main", 400.0, days(5)))
    assert due(run(*stages)) == [("warm", 2, 100), ("main", 5, 500)]
    assert due(run(*stages, tokens_done=150.0)) == [("warm", 2, 0), ("main", 5, 350)]
    assert week().work_tokens(run(*stages, tokens_done=150.0)) == 350


def test_a_stage_that_ends_after_the_week_is_due_pro_rata():
    assert due(run(Stage("long", 1_000.0, days(14)))) == [("long", 7, 500)]
    assert due(run(Stage("long", 1_000.0, days(14)), tokens_done=200.0)) == [("long", 7, 400)]
    # From the earliest start on day 4, three of ten days lie in the week.
    assert due(run(Stage("long", 1_000.0, days(14)), earliest_start=days(4))) == [("long", 7, 300)]
    # The first stage ends on day 4; of the second one's six days three lie in the week.
    stages = (Stage("one", 100.0, days(4)), Stage("two", 600.0, days(10)))
    assert due(run(*stages)) == [("one", 4, 100), ("two", 7, 400)]
    # Work done beyond the first stage counts for the second.
    assert due(run(*stages, tokens_done=300.0)) == [("one", 4, 0), ("two", 7, 200)]
    # A third stage waits for the second.
    assert due(run(*stages, Stage("three", 50.0, days(20)))) == [("one", 4, 100), ("two", 7, 400)]


def test_a_run_that_may_not_start_this_week_owes_nothing():
    late = run(Stage("long", 1_000.0, days(14)), earliest_start=days(7))
    assert due(late) == []
    assert week().work_tokens(late) == 0


def test_a_deadline_before_the_week_is_still_owed():
    assert due(run(Stage("old", 100.0, days(-1)), tokens_done=40.0)) == [("old", -1, 60)]


def test_gpus_come_into_service_with_the_first_whole_slot():
    assert week().pools[0].gpus_in_service(week().grid)[:5].tolist() == [100, 100, 100, 200, 200]


@pytest.mark.parametrize(("priority", "weight"), [(1, 4.0), (3, 1.0), (5, 0.25)])
def test_lateness_weight(priority, weight):
    assert run(priority=priority).lateness_weight == weight


def test_the_same_inputs_have_the_same_digest_and_others_another():
    assert week(run()).sha256 == week(run()).sha256
    assert week(run()).sha256 != week(run(), ci=300.0000001).sha256
    assert week(run()).sha256 != week(run(priority=2)).sha256


def test_signals_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        week().signals.price_per_kwh[0] = 0.0
