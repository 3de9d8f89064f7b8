"""Whatever a training goes through, its useful tokens are those in its state, and every joule has one place."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.run_calendars import ManualClock, run_calendar, window
from trainer_hooks.journal import Journal
from trainer_hooks.limits import LimitSet
from trainer_hooks.resume import earlier_work
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.telemetry import Record, parse_line, record_line

CALENDAR = run_calendar(window(0, 1e6, "run"))
STATES = ("run", "hold", "wait", "save", "exit", "safe")

rollbacks = st.tuples(st.just("rollback"), st.floats(0.0, 1.0))
others = st.one_of(
    st.tuples(st.just("train"), st.integers(1, 1000)),
    st.tuples(st.just("cut"), st.sampled_from(STATES)),
    st.tuples(st.just("load"), st.floats(0.0, 2.0)),
    st.tuples(st.just("pass"), st.integers(1, 100)),
    # The process ends by itself, or is killed with what it had not written; the next loads a share of what it did.
    st.tuples(st.just("restart"), st.floats(0.0, 1.0)),
    st.tuples(st.just("kill"), st.floats(0.0, 1.0)),
)


class Telemetry:
    """Keeps lines as a file does, and gives a process those of the ones before."""

    rank = 0

    def __init__(self, lines: list[bytes], writer: str) -> None:
        self.lines = lines
        self.writer = writer

    def write(self, record: Record) -> None:
        self.lines.append(record_line(record))

    def earlier(self) -> tuple[Record, ...]:
        return tuple(record for record in records(self.lines) if record.writer != self.writer)


def records(lines: list[bytes]) -> list[Record]:
    return [parse_line(line, "line") for line in lines]


@given(st.lists(others, max_size=40) | st.lists(others | rollbacks, max_size=40))
@example([("train", 10), ("cut", "run"), ("train", 10), ("restart", 0.75), ("train", 10), ("restart", 0.9)])
def test_useful_tokens_are_those_of_the_state_and_waste_adds_up(story):
    clock, lines = ManualClock(), []
    twin = SimulatedGpu(monotonic=lambda: clock.now_s)
    limits = LimitSet([twin])

    def begin(number: int, position: int) -> Journal:
        journal = Journal([twin], clock.clock, Telemetry(lines, f"w{number}"))
        journal.tokens.resume_at(position)
        return journal

    journal, processes = begin(0, 0), 1
    for deed, amount in story:
        if deed == "train":
            clock.now_s += 1.0
            journal.tokens.add(amount)
        elif deed == "pass":
            clock.now_s += amount
        elif deed == "load":
            for _ in journal.watch([0]):
                clock.now_s += amount
        elif deed == "cut":
            journal.cut("llm", amount, CALENDAR, limits)
        elif deed == "rollback":
            journal.tokens.rollback(int(journal.tokens.position_tokens * amount))
        else:
            if deed == "restart":
                clock.now_s += 1.0
                journal.cut("llm", "run", CALENDAR, limits)
            told = records(lines)
            known = told[-1].position_tokens if told else 0
            journal, processes = begin(processes, int(known * amount)), processes + 1
    clock.now_s += 1.0
    journal.cut("llm", "run", CALENDAR, limits)

    told = records(lines)
    assert sum(record.useful_tokens for record in told) == told[-1].position_tokens
    wasted_j = sum(r.starvation_j + r.hold_j + r.checkpoint_j + r.recompute_j + r.overhead_j for r in told)
    total_j = sum(record.energy_j for record in told)
    useful_j = total_j - wasted_j
    rounding_j = 1e-6 * (len(told) + 1) * 6
    assert -rounding_j <= useful_j <= total_j + rounding_j
    for record in told:
        idle_j = record.starvation_j + record.hold_j + record.checkpoint_j + record.overhead_j
        assert -rounding_j <= idle_j <= record.energy_j + rounding_j
        assert record.recompute_j >= 0.0
    # The ledger that the next process replays from the file says the same.
    ledger = earlier_work(told)
    assert ledger.position_tokens == told[-1].position_tokens
    if not told[-1].position_tokens:
        assert useful_j == pytest.approx(0.0, abs=rounding_j)
    if all(deed != "rollback" for deed, _ in story):
        # A record does not say what of it came before a rollback within it, so that the ledger is exact without.
        assert ledger.rollback(0) == pytest.approx(useful_j, abs=1e-3)


@given(st.lists(st.sampled_from(STATES), min_size=1, max_size=20), st.lists(st.integers(0, 500), min_size=20))
def test_the_report_is_the_sum_of_its_records(states, tokens):
    clock, lines = ManualClock(), []
    twin = SimulatedGpu(monotonic=lambda: clock.now_s)
    journal = Journal([twin], clock.clock, Telemetry(lines, "w"))
    for state, trained in zip(states, tokens, strict=False):
        clock.now_s += 3.0
        journal.tokens.add(trained)
        journal.cut("llm", state, CALENDAR, LimitSet([twin]))
    report = journal.report("llm", CALENDAR)
    told = records(lines)
    for name in ("starvation_j", "hold_j", "checkpoint_j", "recompute_j", "overhead_j"):
        total_j = sum(getattr(record, name) for record in told)
        assert total_j == pytest.approx(getattr(report.waste, name), abs=1e-5 * len(told))
    assert sum(record.energy_j for record in told) == pytest.approx(report.energy.energy_j, abs=1e-5 * len(told))
    assert report.useful_j + report.waste.total_j == pytest.approx(report.energy.energy_j)
    assert sum(record.useful_tokens for record in told) == report.useful_tokens
