"""Processes killed one after the other in one phase, and what became of them."""

from __future__ import annotations

import random
import time

from tests.postgres.doomed import BEGINS, COMMITS, ENDS, OPENS, POINTS, ROLLS_BACK


class Tally:
    """What became of processes that were killed in one phase; its random numbers are those of its seed."""

    def __init__(self, phase, where, seed):
        self.draw = random.Random(seed)
        database = "postgresql" if "://" in where else "sqlite"
        self.row = {"phase": phase, "database": database, "seed": seed} | dict.fromkeys(
            ("processes", "mid-phase", "in a transaction", "at its commit", "next went on"), 0
        )

    def add(self, marks, *, hit):
        self.row["processes"] += 1
        if hit:
            self.row["mid-phase"] += 1
            self.row["at its commit"] += marks.endswith(COMMITS)
            self.row["in a transaction"] += marks.count(OPENS) > marks.count(COMMITS) + marks.count(ROLLS_BACK)

    def went_on(self):
        self.row["next went on"] += 1


def kill_often(tally, count, make, prepare, check):
    """Kill as many processes in mid-phase as are wanted, each at a random time or a random statement.

    `check` is given what it returned before, and in the end nothing: what was found whole is looked at once more.
    """
    seen = ()
    prepare()
    whole = make(None)
    assert whole.wait_for(BEGINS)
    begun_s = time.monotonic()
    assert whole.wait_for(ENDS)
    length_s = time.monotonic() - begun_s
    points = sum(mark in POINTS for mark in whole.kill())
    waiting = False  # whether there is something that a killed one left for the next
    while tally.row["mid-phase"] < count:
        assert tally.row["processes"] < 6 * count
        if prepare():
            waiting = False
        by_time = tally.draw.random() < 0.5
        process = make(None if by_time else tally.draw.randint(1, points))
        begun = process.wait_for(BEGINS)
        if begun and waiting:
            tally.went_on()
        if by_time:
            time.sleep(tally.draw.uniform(0.0, length_s))
        else:
            process.wait_for(ENDS)
        marks = process.kill()
        hit = begun and ENDS not in marks
        length_s *= 1.1 if hit or not by_time else 0.8
        tally.add(marks, hit=hit)
        waiting = hit
        seen = check(seen)
    prepare()
    last = make(None)
    assert last.wait_for(ENDS)
    tally.row["next went on"] += waiting
    last.kill()
    check(())
