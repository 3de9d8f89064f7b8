"""A compressed day that a training of thirty one-minute steps follows: ten steps, a hold, ten, an end, ten more."""

from __future__ import annotations

from tests.run_calendars import ManualClock, run_calendar, window
from trainer_hooks.governor import Governor
from trainer_hooks.simulated import SimulatedGpu

STEPS = 30
STEP_S = 60.0
MORNING = run_calendar(
    window(0, 600, "run", limit_w=400.0),
    window(600, 900, "hold", checkpoint="before"),
    window(900, 1500, "run", limit_w=300.0),
    window(1500, 2100, "off", checkpoint="before"),
    window(2100, 36000, "run", limit_w=250.0),
)
EVENING_S = 2100.0


class Follower:
    """A Governor on a clock that the training moves by a minute in each step."""

    def __init__(self, start_s=0.0, **options):
        self.manual = ManualClock(start_s)
        self.gpu = SimulatedGpu(monotonic=lambda: self.manual.now_s)
        self.governor = Governor(MORNING, gpus=[self.gpu], clock=self.manual.clock, **options)
        self.limits_w = []

    def tick(self):
        self.limits_w.append(self.gpu.power_limit_w())
        self.manual.now_s += STEP_S

    def check_morning(self, tokens):
        """It was held at step 10, saved, ended at step 20, and followed the limits."""
        assert self.governor.should_exit
        assert sum(self.manual.slept_s) == 300.0
        assert self.limits_w == [400.0] * 10 + [300.0] * 10
        report = self.governor.report()
        assert report.tokens == tokens
        assert report.seconds["hold"] == 300.0
        assert self.gpu.power_limit_w() == 400.0  # given back

    def check_evening(self, tokens, position_tokens):
        """It went on from where the morning ended."""
        assert not self.governor.should_exit
        assert self.limits_w == [250.0] * 10
        assert self.governor.report().tokens == tokens
        self.governor.close()
        assert self.governor._journal.tokens.position_tokens == position_tokens
