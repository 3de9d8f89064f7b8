from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from power.contracts import EnergyContract, Interruption, settle, volume_kw
from power.quarters import quarters

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2024, 5, 12, 22, tzinfo=UTC)  # 2024-05-13 00:00 in Berlin


def slots(start: datetime, count: int, minutes: int = 60):
    slot = timedelta(minutes=minutes)
    return quarters([start + i * slot for i in range(count)], slot, BERLIN)


def test_base_is_every_hour_and_peak_is_60_hours_of_a_week():
    week = slots(MONDAY, 168)
    assert volume_kw(EnergyContract("b", 2_000.0, 0.07), week).sum() == 168 * 2_000.0
    peak = volume_kw(EnergyContract("p", 2_000.0, 0.09, "peak"), week)
    assert peak.sum() == 60 * 2_000.0
    assert (peak[7], peak[8], peak[19], peak[20], peak[5 * 24 + 12]) == (0.0, 2_000.0, 2_000.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("sunday", "hours"), [(datetime(2024, 3, 30, 23, tzinfo=UTC), 23), (datetime(2024, 10, 26, 22, tzinfo=UTC), 25)]
)
def test_profiles_follow_the_clocks_of_the_site(sunday, hours):
    day = slots(sunday, hours)
    shares = tuple(1.0 if h == 6 * 24 + 2 else 0.0 for h in range(168))
    # Sunday 02:00 is skipped in spring and comes twice in autumn
    assert volume_kw(EnergyContract("w", 100.0, 0.07, "week", shares), day).sum() == {23: 0.0, 25: 200.0}[hours]
    assert volume_kw(EnergyContract("b", 100.0, 0.07), day).sum() == hours * 100.0


def test_custom_counts_hours_from_its_start():
    custom = EnergyContract("c", 1_000.0, 0.07, "custom", (0.5, 1.0, 0.25), start=MONDAY + timedelta(hours=2))
    assert volume_kw(custom, slots(MONDAY, 6)).tolist() == [0.0, 0.0, 500.0, 1_000.0, 250.0, 0.0]
    # a slot that begins in the middle of its hours
    late = slots(MONDAY + timedelta(hours=2, minutes=30), 2)
    assert volume_kw(custom, late).tolist() == [750.0, 625.0]


def test_delivery_begins_and_ends():
    block = EnergyContract(
        "b", 400.0, 0.07, start=MONDAY + timedelta(minutes=45), end=MONDAY + timedelta(hours=2, minutes=30)
    )
    assert volume_kw(block, slots(MONDAY, 4)).tolist() == [100.0, 400.0, 200.0, 0.0]


def test_an_interruption_binds_no_earlier_than_its_notice():
    def block(called_h: float | None) -> EnergyContract:
        called = None if called_h is None else MONDAY + timedelta(hours=called_h)
        span = Interruption(MONDAY + timedelta(hours=2), MONDAY + timedelta(hours=4), called)
        return EnergyContract("i", 100.0, 0.05, interruptible=True, interruptions=(span,), notice_min=60.0)

    hours = slots(MONDAY, 5)
    assert volume_kw(block(None), hours).tolist() == [100.0, 100.0, 0.0, 0.0, 100.0]
    assert volume_kw(block(0.5), hours).tolist() == [100.0, 100.0, 0.0, 0.0, 100.0]
    assert volume_kw(block(2.5), hours).tolist() == [100.0, 100.0, 100.0, 50.0, 100.0]


def test_a_profile_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="168 hours, not 24"):
        volume_kw(EnergyContract("w", 1.0, 0.1, "week", (1.0,) * 24), slots(MONDAY, 1))
    with pytest.raises(ValueError, match="count from a start"):
        volume_kw(EnergyContract("c", 1.0, 0.1, "custom", (1.0,)), slots(MONDAY, 1))


@pytest.mark.parametrize(
    ("take_kw", "paid_kwh"),
    [
        ([900.0, 900.0, 900.0, 900.0], 3_600.0),  # more than the 3,400 kWh of its minimum take
        ([500.0, 900.0, 900.0, 900.0], 3_400.0),  # 200 kWh less than it: paid all the same
        ([0.0, 0.0, 0.0, 0.0], 3_400.0),
    ],
)
def test_take_or_pay_by_hand(take_kw, paid_kwh):
    contract = EnergyContract("c", 1_000.0, 0.08, min_take_share=0.85)
    found = settle(contract, np.full(4, 1_000.0), np.array(take_kw), 1.0)
    assert found.volume_kwh == 4_000.0
    assert found.take_kwh == sum(take_kw)
    assert found.paid_kwh == pytest.approx(paid_kwh)
    assert found.cost == pytest.approx(0.08 * paid_kwh)
