from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from power.blocks import PowerBlock, capacity_kw, import_limit_kw
from power.connection import CapacityStep, Connection, GridUnit, UnitOutage, carried_kw
from power.contracts import Interruption

T0 = datetime(2024, 5, 13, tzinfo=UTC)
HOUR = timedelta(hours=1)
FEEDERS = (GridUnit("F1", "feeder", 120_000.0), GridUnit("F2", "feeder", 100_000.0))
TRANSFORMERS = tuple(GridUnit(f"T{i}", "transformer", 60_000.0) for i in (1, 2, 3))


def at(hours: float) -> datetime:
    return T0 + timedelta(hours=hours)


def carried(connection: Connection, capacity: float = 500_000.0, hours: int = 4) -> list[float]:
    return carried_kw(connection, capacity, [at(i) for i in range(hours)], HOUR).tolist()


def test_n1_leaves_out_the_largest_of_each_kind_and_the_lowest_kind_binds():
    assert carried(Connection(FEEDERS + TRANSFORMERS), hours=1) == [180_000.0]
    # feeders: 220 - 120 = 100 MW; transformers: 180 - 60 = 120 MW
    assert carried(Connection(FEEDERS + TRANSFORMERS, n1=True), hours=1) == [100_000.0]
    assert carried(Connection(TRANSFORMERS, n1=True), hours=1) == [120_000.0]
    assert carried(Connection(TRANSFORMERS, n1=True), capacity=90_000.0, hours=1) == [90_000.0]


def test_one_unit_with_n1_carries_nothing():
    assert carried(Connection(TRANSFORMERS[:1], n1=True), hours=1) == [0.0]


def test_maintenance_of_a_named_unit_holds_at_every_instant_of_a_slot():
    out = UnitOutage("T2", at(1.5), at(2.5))
    assert carried(Connection(TRANSFORMERS, n1=True, outages=(out,))) == [120_000.0, 60_000.0, 60_000.0, 120_000.0]
    without = Connection(TRANSFORMERS, outages=(out,))
    assert carried(without) == [180_000.0, 120_000.0, 120_000.0, 180_000.0]
    both = UnitOutage("T1", at(2), at(3))
    assert carried(Connection(TRANSFORMERS, outages=(out, both)))[2] == 60_000.0


def test_steps_and_units_come_into_service():
    steps = (CapacityStep(at(1), 8_000.0), CapacityStep(at(2.25), 150_000.0))
    assert carried(Connection(steps=steps)) == [0.0, 8_000.0, 8_000.0, 150_000.0]
    later = (*TRANSFORMERS[:2], GridUnit("T3", "transformer", 60_000.0, at(2)))
    assert carried(Connection(later, n1=True)) == [60_000.0, 60_000.0, 120_000.0, 120_000.0]


def test_a_call_takes_the_interruptible_part_after_its_notice():
    spans = (Interruption(at(1), at(3), called_at=at(1.5)),)
    connection = Connection(interruptible_kw=40_000.0, interruptions=spans, notice_min=30.0)
    assert carried(connection, 100_000.0) == [100_000.0, 100_000.0, 60_000.0, 100_000.0]


def test_a_block_takes_the_lowest_of_its_capacity_its_connection_and_its_deratings():
    block = PowerBlock("hall", 100_000.0, available_from=at(1), connection=Connection(TRANSFORMERS, n1=True))
    assert import_limit_kw(block, [at(0), at(1)], HOUR).tolist() == [0.0, 100_000.0]
    large = PowerBlock("hall", 200_000.0, connection=Connection(TRANSFORMERS, n1=True))
    assert import_limit_kw(large, [at(0)], HOUR).tolist() == [120_000.0]
    assert capacity_kw(large, [at(0)], HOUR).tolist() == [200_000.0]


def test_rise_and_fall_may_have_limits_of_their_own():
    both = PowerBlock("hall", 1.0, ramp_kw_per_min=200.0, ramp_window_min=10.0)
    assert (both.rise_step_kw, both.fall_step_kw) == (2_000.0, 2_000.0)
    apart = PowerBlock("hall", 1.0, ramp_kw_per_min=200.0, ramp_window_min=10.0, ramp_fall_kw_per_min=500.0)
    assert (apart.rise_step_kw, apart.fall_step_kw) == (2_000.0, 5_000.0)
    falls = PowerBlock("hall", 1.0, ramp_fall_kw_per_min=500.0)
    assert (falls.rise_step_kw, falls.fall_step_kw) == (None, 7_500.0)
    assert PowerBlock("hall", 1.0).fall_step_kw is None


def test_what_nothing_limits_is_infinite():
    assert np.isinf(Connection().firm_kw(T0))
