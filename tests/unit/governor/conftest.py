"""A Governor on a clock that the test moves, with a simulated GPU."""

from __future__ import annotations

import pytest

from tests.run_calendars import ManualClock, run_calendar
from trainer_hooks import Governor
from trainer_hooks.simulated import SimulatedGpu


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def twin(clock):
    return SimulatedGpu(monotonic=lambda: clock.now_s)


@pytest.fixture
def govern(clock, twin):
    made = []

    def make(*windows, **settings):
        calendar = run_calendar(*windows) if windows else None
        made.append(Governor(calendar, gpus=[twin], clock=clock.clock, **settings))
        return made[-1]

    yield make
    for governor in made:
        governor.close()
