"""Whether a hold costs less than saving, ending and starting again."""

from __future__ import annotations

import pytest

from tests.run_calendars import ManualClock
from trainer_hooks.breakeven import CostMeter, PauseCosts, process_age_s
from trainer_hooks.simulated import SimulatedGpu


@pytest.mark.parametrize(
    ("remaining_s", "choice"),
    # 600 W for 400 s are 240 kJ; a save of 90 kJ and a reload at idle power for 300 s, 180 kJ, are 270 kJ.
    [(0.0, "hold"), (400.0, "hold"), (450.0, "hold"), (450.1, "exit"), (3600.0, "exit")],
)
def test_the_cheaper_way_by_hand(remaining_s, choice):
    costs = PauseCosts(idle_w=600.0, save_s=60.0, save_j=90_000.0, reload_s=300.0)
    assert costs.exit_j() == 270_000.0
    assert costs.hold_j(450.0) == 270_000.0
    assert costs.cheaper(remaining_s) == choice


def test_a_training_that_could_not_be_back_in_time_holds():
    costs = PauseCosts(idle_w=1000.0, save_s=60.0, save_j=1.0, reload_s=300.0, reload_j=1.0)
    assert costs.cheaper(360.0) == "hold"
    assert costs.cheaper(360.1) == "exit"


def test_costs_are_measured_in_place_of_what_was_assumed():
    clock = ManualClock()
    twins = [SimulatedGpu(monotonic=lambda: clock.now_s, uuid=f"GPU-{number}") for number in range(2)]
    meter = CostMeter(twins, PauseCosts(150.0), lambda: clock.now_s)
    for twin in twins:
        twin.set_busy(True)
    meter.save_begins()
    clock.now_s += 20.0
    meter.save_ended()
    for twin in twins:
        twin.set_busy(False)
    meter.idle()
    meter.reloaded(120.0)
    # Two boards at 400 W for 20 s, and at 50 W each at rest.
    assert meter.costs == PauseCosts(100.0, save_s=20.0, save_j=16_000.0, reload_s=120.0)


def test_a_counter_that_was_reset_says_nothing_of_a_checkpoint():
    clock = ManualClock()
    twin = SimulatedGpu(monotonic=lambda: clock.now_s)
    meter = CostMeter([twin], PauseCosts(50.0), lambda: clock.now_s)
    clock.now_s += 100.0
    meter.save_begins()
    twin.reset_energy()
    clock.now_s += 20.0
    meter.save_ended()
    assert (meter.costs.save_s, meter.costs.save_j) == (20.0, None)


def test_a_process_knows_its_age():
    assert 0.0 < process_age_s() < 86_400.0
