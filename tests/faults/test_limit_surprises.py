"""A Governor on the twin of NVML when limits come late, never, or are replaced: steps go on, and it is said once."""

from __future__ import annotations

import logging

import pytest

from tests.run_calendars import run_calendar, second, window
from trainer_hooks import Governor
from trainer_hooks.clock import Clock
from trainer_hooks.devices import machine_gpus
from trainer_hooks.gpu import NvmlSession

STEP_S = 0.05


@pytest.fixture
def governed(nvml_twin):
    """Make a Governor over two boards, limited to 300 W for an hour, whose clock is the twin's."""
    entered = []

    def make(**options):
        twin = nvml_twin("h100x8", stopped=True, **options)
        entered.append(twin.in_process())
        entered[-1].__enter__()
        begin_s = twin.now_s()
        clock = Clock(lambda: second(twin.now_s() - begin_s), twin.now_s, twin.advance)
        calendar = run_calendar(window(0, 3600, "run", limit_w=300.0), window(3600, 7200, "run"))
        return twin, Governor(calendar, gpus=machine_gpus(NvmlSession(monotonic=twin.now_s))[:2], clock=clock)

    yield make
    for context in entered:
        context.__exit__(None, None, None)


def train(twin, governor, duration_s):
    for _ in range(round(duration_s / STEP_S)):
        twin.advance(STEP_S)
        governor.step(tokens=1)


def test_a_limit_that_is_in_force_is_reported_with_the_time_it_took(governed, caplog):
    twin, governor = governed()
    train(twin, governor, 10.0)
    report = governor.report()
    assert 0.05 <= report.limit_settled_s <= 0.2
    assert "in force within" in str(report)
    assert caplog.records == []
    governor.close()
    assert [board.limit_w for board in twin.boards] == [700.0] * 8


def test_a_limit_that_never_comes_is_said_once(governed, caplog):
    twin, governor = governed(faults={1: ("stuck",)})
    with caplog.at_level(logging.WARNING):
        train(twin, governor, 60.0)
    (sentence,) = [record.getMessage() for record in caplog.records]
    assert twin[1].uuid in sentence
    assert "ignored. After 5." in sentence
    governor.close()
    assert twin[1].limit_w == 700.0


def test_a_limit_that_someone_else_replaces_is_left_to_them(governed, caplog):
    twin, governor = governed()
    train(twin, governor, 10.0)
    with caplog.at_level(logging.WARNING):
        twin[0].limit_w = 450.0
        train(twin, governor, 120.0)
    (sentence,) = [record.getMessage() for record in caplog.records]
    assert "overridden. Ours was 300 W; someone else set 450 W." in sentence
    assert twin[0].writes == 1
    governor.close()
    assert [twin[0].limit_w, twin[1].limit_w] == [450.0, 700.0]


def test_heat_is_told_from_the_limit(governed, caplog):
    twin, governor = governed()
    twin[0].load = 1.0
    twin[0].set("coolant_c", 84.0)
    with caplog.at_level(logging.WARNING):
        train(twin, governor, 300.0)
    (sentence,) = [record.getMessage() for record in caplog.records]
    assert sentence == f"gridpace: power limit of {twin[0].uuid}: its heat holds it back, not the limit."
    governor.close()


def test_a_step_does_not_wait_for_a_slow_board(governed):
    twin, governor = governed()
    for board in twin.boards[:2]:
        board.set("settle_s", 4.0)
        board.limit_w = 300.0
    for _ in range(100):
        twin.advance(STEP_S)
        before_s = twin.now_s()
        governor.step(tokens=1)
        # a wait would be a sleep, which moves this clock
        assert twin.now_s() == before_s
    assert twin[0].enforced_w == 300.0
    assert governor.report().limit_settled_s == pytest.approx(4.0, abs=0.2)
    governor.close()
