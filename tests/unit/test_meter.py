from __future__ import annotations

import math

import pytest

from trainer_hooks.energy import COUNTER_PERIOD_S, NO_ENERGY, OBSERVED_SHARE, SENSOR_ERROR, Energy, together
from trainer_hooks.errors import GpuError
from trainer_hooks.meter import EnergyMeter
from trainer_hooks.simulated import SimulatedGpu


class ScriptedGpu:
    """Says what the test tells it to; None is a reading the board does not offer."""

    simulated = False
    uuid = "GPU-scripted"
    name = "scripted"

    def __init__(self):
        self.energy = 0.0
        self.power = 0.0
        self.lost = False
        self.calls = []

    def _answer(self, value):
        if self.lost:
            raise GpuError("GPU-scripted", "it is lost.", "Reboot.")
        return value

    def energy_j(self):
        self.calls.append("energy")
        return self._answer(self.energy)

    def power_w(self):
        self.calls.append("power")
        return self._answer(self.power)

    def limit_range_w(self):
        return self._answer((200.0, 700.0))


@pytest.fixture
def board():
    return ScriptedGpu()


@pytest.fixture
def time_s():
    return [0.0]


@pytest.fixture
def meter(board, time_s):
    return EnergyMeter([board], lambda: time_s[0])


def _pass(board, time_s, seconds, energy, power):
    time_s[0] += seconds
    board.energy, board.power = energy, power


def unseen_j(used_j, seconds):
    """Error of 75 ms in every 100 ms that no sensor looks at, each period by itself."""
    periods = seconds / COUNTER_PERIOD_S
    return (1.0 - OBSERVED_SHARE) * used_j / math.sqrt(periods)


def test_counter_comes_first(meter, board, time_s):
    _pass(board, time_s, 10.0, 5000.0, 300.0)
    energy = meter.sample()
    assert energy.energy_j == 5000.0
    assert energy.source == "counter"
    # 5 % of the sensor, 0.1 s of the highest power at the edge, and three quarters of a hundred periods unseen.
    assert energy.sensor_error_j == pytest.approx(250.0)
    assert energy.edge_error_j == pytest.approx(70.0)
    assert energy.sampling_error_j == pytest.approx(0.75 * 5000.0 / 10.0)
    assert energy.error_j == pytest.approx(695.0)


@pytest.mark.parametrize(("seconds", "relative"), [(1.0, 0.05 + 0.14 + 0.2372), (10.0, 0.139), (3600.0, 0.05399)])
def test_a_short_window_says_so_in_its_error(meter, board, time_s, seconds, relative):
    _pass(board, time_s, seconds, 500.0 * seconds, 500.0)
    energy = meter.sample()
    assert energy.error_j / energy.energy_j == pytest.approx(relative, abs=1e-4)


def test_edges_count_once_and_unseen_time_by_its_root_however_often_the_meter_is_read(meter, board, time_s):
    for second in range(1, 101):
        _pass(board, time_s, 1.0, 500.0 * second, 500.0)
        meter.sample()
    assert meter.total.energy_j == 50_000.0
    assert meter.total.sensor_error_j == pytest.approx(SENSOR_ERROR * 50_000.0)
    assert meter.total.edge_error_j == pytest.approx(COUNTER_PERIOD_S * 700.0)
    assert meter.total.sampling_error_j == pytest.approx(unseen_j(50_000.0, 100.0))


def test_a_sound_counter_costs_one_call_a_sample(meter, board, time_s):
    board.calls.clear()
    for second in range(1, 11):
        _pass(board, time_s, 1.0, 500.0 * second, 500.0)
        meter.sample()
    assert board.calls == ["energy"] * 10


def test_without_a_counter_power_is_integrated(board, time_s):
    board.energy, board.power = None, 400.0
    meter = EnergyMeter([board], lambda: time_s[0])
    _pass(board, time_s, 10.0, None, 600.0)
    energy = meter.sample()
    # Trapezoid: 500 W for 10 s; between the readings it may have been 100 W more or less. Of the 10 s two readings
    # see one second each; in the other 80 % the power may spread over all of the board's 700 W, which leaves no more
    # than that it was nothing at all.
    assert energy.energy_j == 5000.0
    assert energy.sensor_error_j == SENSOR_ERROR * 5000.0 + 1000.0
    assert energy.sampling_error_j == pytest.approx(5000.0 - 1000.0)
    assert energy.source == "power"


def test_a_board_with_instant_power_sees_less_of_the_time(board, time_s):
    board.energy, board.power, board.name = None, 300.0, "NVIDIA A100-SXM4-80GB"
    instant = EnergyMeter([board], lambda: time_s[0])
    averaged = ScriptedGpu()
    averaged.energy, averaged.power, averaged.name = None, 300.0, "NVIDIA H100 80GB HBM3"
    other = EnergyMeter([averaged], lambda: time_s[0])
    time_s[0] = 2.0
    assert other.sample().sampling_error_j == 0.0
    assert instant.sample().sampling_error_j == pytest.approx(400.0 * 2.0)
    time_s[0] = 2.25
    # Of a quarter of a second two instants see 80 %.
    assert instant.sample().sampling_error_j == pytest.approx(700.0 * math.sqrt(0.2 / 2) * 0.25)


def test_a_reset_counter_is_bridged_by_power(meter, board, time_s):
    _pass(board, time_s, 10.0, 5000.0, 500.0)
    meter.sample()
    _pass(board, time_s, 10.0, 20.0, 500.0)
    bridged = meter.sample()
    # The power before is the mean that the counter gave.
    assert (bridged.energy_j, bridged.sensor_error_j, bridged.source) == (5000.0, SENSOR_ERROR * 5000.0, "power")
    _pass(board, time_s, 10.0, 5020.0, 500.0)
    assert meter.sample().source == "counter"
    assert meter.total.energy_j == 15_000.0
    assert meter.total.source == "mixed"


def test_a_counter_that_leaps_is_not_believed(meter, board, time_s):
    _pass(board, time_s, 10.0, 4_294_967.295, 500.0)
    assert meter.sample().source == "power"
    # Half of the stretch began at 0 W, so 250 W is the mean.
    assert meter.total.energy_j == 2500.0


def test_a_counter_that_stands_still_is_not_believed_and_settles_when_it_moves(meter, board, time_s):
    _pass(board, time_s, 10.0, 5000.0, 500.0)
    meter.sample()
    _pass(board, time_s, 10.0, 5000.0, 400.0)
    stuck = meter.sample()
    assert (stuck.energy_j, stuck.source) == (4500.0, "power")
    _pass(board, time_s, 10.0, 14_000.0, 400.0)
    # 9 kJ were counted since it last moved, of which 4.5 kJ are told.
    assert meter.sample().energy_j == 4500.0
    assert meter.total.energy_j == 14_000.0


def test_a_glance_between_two_renewals_of_the_counter_is_no_stuck_counter(meter, board, time_s):
    _pass(board, time_s, 10.0, 5000.0, 500.0)
    meter.sample()
    _pass(board, time_s, 0.05, 5000.0, 500.0)
    glance = meter.sample()
    assert (glance.energy_j, glance.edge_error_j, glance.source) == (0.0, COUNTER_PERIOD_S * 700.0, "counter")


def test_a_lost_gpu_never_raises_and_its_counter_settles_the_gap(meter, board, time_s):
    _pass(board, time_s, 10.0, 3000.0, 300.0)
    meter.sample()
    board.lost = True
    time_s[0] += 10.0
    # Only the power before is known: 300 W, but the board could have drawn up to 700 W.
    gap = meter.sample()
    assert (gap.energy_j, gap.sensor_error_j, gap.source) == (3000.0, SENSOR_ERROR * 3000.0 + 4000.0, "power")
    time_s[0] += 10.0
    assert meter.sample() == NO_ENERGY
    board.lost = False
    _pass(board, time_s, 10.0, 12_000.0, 500.0)
    back = meter.sample()
    assert (back.energy_j, back.source) == (6000.0, "counter")
    assert meter.total.energy_j == 12_000.0


def test_a_gap_that_was_told_too_high_is_not_taken_back_but_widens_the_error(meter, board, time_s):
    _pass(board, time_s, 10.0, 3000.0, 300.0)
    meter.sample()
    board.lost = True
    time_s[0] += 10.0
    meter.sample()
    board.lost = False
    _pass(board, time_s, 10.0, 4000.0, 50.0)
    back = meter.sample()
    # 1 kJ was counted where 3 kJ were told.
    assert back.energy_j == 0.0
    assert back.sensor_error_j == pytest.approx(SENSOR_ERROR * 1000.0 + 2000.0)


def test_a_board_that_says_nothing_is_modelled_by_limit_and_state(board, time_s):
    board.energy = board.power = None
    meter = EnergyMeter([board], lambda: time_s[0])
    time_s[0] = 10.0
    assert meter.sample() == NO_ENERGY
    assert meter.model(busy=True, limit_w=500.0) == Energy(4400.0, 600.0, 0.0, "model")
    time_s[0] = 20.0
    meter.sample()
    assert meter.model(busy=True, limit_w=None).energy_j == pytest.approx(0.88 * 7000.0)
    time_s[0] = 30.0
    meter.sample()
    assert meter.model(busy=False, limit_w=500.0) == Energy(pytest.approx(840.0), pytest.approx(420.0), 0.0, "model")
    assert meter.model(busy=False, limit_w=500.0) == NO_ENERGY
    assert meter.total.source == "model"


def test_a_board_of_which_nothing_is_known_stays_unknown(board, time_s):
    board.energy = board.power = None
    board.limit_range_w = lambda: None
    meter = EnergyMeter([board], lambda: time_s[0])
    time_s[0] = 10.0
    meter.sample()
    assert meter.model(busy=True, limit_w=None) == NO_ENERGY
    assert meter.total.source == "none"


def test_a_counter_that_returns_settles_what_was_modelled(board, time_s):
    board.energy, board.power = 1000.0, 300.0
    meter = EnergyMeter([board], lambda: time_s[0])
    board.lost = True
    for time_s[0] in (10.0, 20.0):
        meter.sample()
    meter.model(busy=True, limit_w=500.0)
    board.lost = False
    _pass(board, time_s, 10.0, 1000.0 + 9000.0, 300.0)
    meter.sample()
    assert meter.total.energy_j == pytest.approx(9000.0)
    # Time of which the counter tells is not modelled as well.
    assert meter.model(busy=True, limit_w=500.0) == NO_ENERGY


def test_a_board_without_a_range_is_believed(time_s):
    board = ScriptedGpu()
    board.limit_range_w = lambda: None
    meter = EnergyMeter([board], lambda: time_s[0])
    _pass(board, time_s, 1.0, 1e6, 300.0)
    assert meter.sample().source == "counter"


def test_a_clock_that_stands_still_loses_no_energy(meter, board, time_s):
    _pass(board, time_s, 0.0, 100.0, 300.0)
    assert meter.sample() == NO_ENERGY
    _pass(board, time_s, 1.0, 400.0, 300.0)
    assert meter.sample().energy_j == 400.0


def test_boards_add_up_and_no_board_is_no_energy(time_s):
    twins = [SimulatedGpu(monotonic=lambda: time_s[0], idle_power_w=50.0) for _ in range(8)]
    meter = EnergyMeter(twins, lambda: time_s[0])
    time_s[0] = 100.0
    assert meter.sample() == Energy(40_000.0, 0.0, 0.0, "simulated")
    empty = EnergyMeter([], lambda: time_s[0])
    time_s[0] = 200.0
    assert empty.sample() == NO_ENERGY


def test_a_twin_without_counter_is_still_marked(time_s):
    twin = SimulatedGpu(monotonic=lambda: time_s[0], has_energy_counter=False)
    meter = EnergyMeter([twin], lambda: time_s[0])
    time_s[0] = 10.0
    energy = meter.sample()
    assert energy.source == "simulated"
    assert energy.energy_j == pytest.approx(500.0)


@pytest.mark.parametrize(
    ("sources", "joined"),
    [
        (("none", "none"), "none"),
        (("none", "counter"), "counter"),
        (("counter", "counter"), "counter"),
        (("counter", "power"), "mixed"),
        (("mixed", "power"), "mixed"),
        (("model", "model", "none"), "model"),
        (("counter", "model"), "partial"),
        (("mixed", "partial"), "partial"),
        (("partial", "counter"), "partial"),
    ],
)
def test_a_sum_says_what_it_is_made_of(sources, joined):
    assert together(Energy(1.0, 0.0, 0.0, source) for source in sources).source == joined
