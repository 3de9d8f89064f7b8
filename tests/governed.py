"""A training that a Governor governs, on a clock that the test moves."""

from __future__ import annotations

import logging

STEP_S = 10.0
TOKENS = 1000


class Training:
    """A loop of ten-second steps that keeps what happened and when."""

    def __init__(self, governor, clock, fail_saves=0):
        self.governor = governor
        self.clock = clock
        self.fail_saves = fail_saves
        self.done = 0
        self.saved = []
        self.step_ends_s = []

    def save(self):
        if self.fail_saves:
            self.fail_saves -= 1
            raise OSError("disk full")
        self.saved.append((self.done, self.clock.now_s))

    def run(self, until_s, save=True):
        while self.clock.now_s < until_s:
            self.clock.now_s += STEP_S
            self.done += 1
            self.step_ends_s.append(self.clock.now_s)
            if self.governor.step(tokens=TOKENS, save=self.save if save else None):
                break
        return self


def warnings_of(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
