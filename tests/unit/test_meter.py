from __future__ import annotations

import pytest

from trainer_hooks.errors import GpuError
from trainer_hooks.meter import COUNTER_PERIOD_S, NO_ENERGY, SENSOR_ERROR, Energy, EnergyMeter, TokenMeter
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

    def _answer(self, value):
        if self.lost:
            raise GpuError("GPU-scripted", "it is lost.", "Reboot.")
        return value

    def energy_j(self):
        return self._answer(self.energy)

    def power_w(self):
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


def test_counter_comes_first(meter, board, time_s):
    _pass(board, time_s, 10.0, 5000.0, 300.0)
    energy = meter.sample()
    assert energy.energy_j == 5000.0
    assert energy.source == "counter"
    # 5 % of the sensor, and 0.1 s of 500 W at the edge.
    assert energy.sensor_error_j == pytest.approx(250.0)
    assert energy.edge_error_j == pytest.approx(50.0)
    assert energy.error_j == pytest.approx(300.0)


def test_edges_count_once_however_often_the_meter_is_read(meter, board, time_s):
    for second in range(1, 101):
        _pass(board, time_s, 1.0, 500.0 * second, 500.0)
        meter.sample()
    assert meter.total.energy_j == 50_000.0
    assert meter.total.error_j == pytest.approx(SENSOR_ERROR * 50_000.0 + COUNTER_PERIOD_S * 500.0)


def test_without_a_counter_power_is_integrated(board, time_s):
    board.energy, board.power = None, 400.0
    meter = EnergyMeter([board], lambda: time_s[0])
    _pass(board, time_s, 10.0, None, 600.0)
    energy = meter.sample()
    # Trapezoid: 500 W for 10 s; between the readings it may have been 100 W more or less.
    assert energy == Energy(5000.0, SENSOR_ERROR * 5000.0 + 1000.0, 0.0, "power")


def test_a_reset_counter_is_bridged_by_power(meter, board, time_s):
    _pass(board, time_s, 10.0, 5000.0, 500.0)
    meter.sample()
    _pass(board, time_s, 10.0, 20.0, 500.0)
    assert meter.sample() == Energy(5000.0, SENSOR_ERROR * 5000.0, 0.0, "power")
    _pass(board, time_s, 10.0, 5020.0, 500.0)
    assert meter.sample().source == "counter"
    assert meter.total.energy_j == 15_000.0
    assert meter.total.source == "mixed"


def test_a_counter_that_leaps_is_not_believed(meter, board, time_s):
    _pass(board, time_s, 10.0, 4_294_967.295, 500.0)
    assert meter.sample().source == "power"
    # Half of the stretch began at 0 W, so 250 W is the mean.
    assert meter.total.energy_j == 2500.0


def test_a_lost_gpu_never_raises_and_widens_the_error(meter, board, time_s):
    _pass(board, time_s, 10.0, 3000.0, 300.0)
    meter.sample()
    board.lost = True
    time_s[0] += 10.0
    # Only the reading before is known: 300 W, but the board could have drawn up to 700 W.
    assert meter.sample() == Energy(3000.0, SENSOR_ERROR * 3000.0 + 4000.0, 0.0, "power")
    time_s[0] += 10.0
    assert meter.sample() == NO_ENERGY
    board.lost = False
    _pass(board, time_s, 10.0, 3100.0, 500.0)
    assert meter.sample() == Energy(5000.0, SENSOR_ERROR * 5000.0 + 5000.0, 0.0, "power")


def test_a_board_without_a_range_is_believed(time_s):
    board = ScriptedGpu()
    board.limit_range_w = lambda: None
    meter = EnergyMeter([board], lambda: time_s[0])
    _pass(board, time_s, 1.0, 1e6, 300.0)
    assert meter.sample().source == "counter"


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


def test_useful_tokens_leave_out_what_a_rollback_lost():
    tokens = TokenMeter()
    tokens.resume_at(1_000)
    tokens.add(600)
    assert tokens.rollback(1_200) == 400
    tokens.add(100)
    assert (tokens.tokens, tokens.useful_tokens, tokens.position_tokens) == (700, 300, 1_300)


def test_a_rollback_behind_the_start_loses_earlier_work():
    tokens = TokenMeter(1_000)
    tokens.add(100)
    assert tokens.rollback(500) == 600
    assert tokens.useful_tokens == -500


@pytest.mark.parametrize("to_tokens", [-1, 101])
def test_a_rollback_goes_back_only(to_tokens):
    tokens = TokenMeter()
    tokens.add(100)
    with pytest.raises(ValueError, match="stands at 100"):
        tokens.rollback(to_tokens)


def test_tokens_are_not_negative_and_the_start_is_set_once():
    tokens = TokenMeter()
    with pytest.raises(ValueError, match="cannot be -1"):
        tokens.add(-1)
    tokens.add(1)
    with pytest.raises(ValueError, match="before the first step"):
        tokens.resume_at(5)
