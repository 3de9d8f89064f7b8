"""Where a run's joules went, its start-up, its waits for data, and restarts that take back what was lost."""

from __future__ import annotations

import json
import time

import pytest

from tests.governed import TOKENS, Training
from tests.run_calendars import run_calendar, window
from trainer_hooks import Governor
from trainer_hooks.metering import Metering
from trainer_hooks.telemetry import TelemetryWriter, read_records

RUN_W, HOLD_W = 400.0, 50.0


def told(path):
    return [record for record in read_records(path) if not isinstance(record, Exception)]


def test_every_joule_has_one_place(govern, clock):
    governor = govern(window(0, 100, "run"), window(100, 200, "hold", checkpoint="before"), window(200, 400, "run"))
    training = Training(governor, clock)
    slow_save = training.save

    def save():
        clock.now_s += 5.0
        slow_save()

    training.save = save
    training.run(300)
    governor.rollback((training.done - 5) * TOKENS)
    training.run(400)
    report = governor.report()
    waste = report.waste
    # The first step is start-up; the save takes 5 s, the hold lasts until 200 s; 5 steps are done again.
    assert waste.overhead_j == pytest.approx(10 * RUN_W)
    assert waste.checkpoint_j == pytest.approx(5 * RUN_W)
    assert waste.hold_j == pytest.approx(report.seconds["hold"] * HOLD_W)
    assert waste.recompute_j == pytest.approx(5 * 10 * RUN_W)
    assert waste.starvation_j == 0.0
    assert report.useful_j + waste.total_j == pytest.approx(report.energy.energy_j)
    assert report.useful_j == pytest.approx((report.seconds["run"] - 10 - 50) * RUN_W)


def test_the_wait_for_data_and_the_start_are_known_where_the_loader_is_watched(govern, clock):
    governor = govern(window(0, 1000, "run"))
    clock.now_s = 60.0  # building the model

    def loader():
        for _ in range(20):
            clock.now_s += 2.0
            yield "batch"

    done = 0
    for _ in governor.watch(loader()):
        clock.now_s += 8.0
        governor.step(tokens=TOKENS)
        done += 1
    report = governor.report()
    assert done == 20
    assert report.waste.overhead_j == pytest.approx(60 * RUN_W)
    assert report.waste.starvation_j == pytest.approx(20 * 2.0 * RUN_W)
    assert report.useful_j == pytest.approx(20 * 8.0 * RUN_W)
    lines = dict(line.split(maxsplit=1) for line in str(report).splitlines())
    assert lines["wasted"] == (
        "40,000.0 J: starvation 16,000.0, hold 0.0, checkpoint 0.0, recompute 0.0, overhead 24,000.0; useful 64,000.0"
    )


def test_a_watched_loader_hands_on_items_errors_and_its_end(govern):
    governor = govern(window(0, 1000, "run"))
    assert list(governor.watch([1, 2, 3])) == [1, 2, 3]

    def broken():
        yield 1
        raise RuntimeError("worker died")

    items = governor.watch(broken())
    assert next(items) == 1
    with pytest.raises(RuntimeError, match="worker died"):
        next(items)


def answered(power):
    for _ in range(500):
        if power._last is not None:
            return
        time.sleep(0.01)
    pytest.fail("the node's power meter was not asked")


def start(clock, twin, path, position):
    """A process of the training, as its restart finds it."""
    governor = Governor(
        run_calendar(window(0, 10_000, "run")),
        gpus=[twin],
        clock=clock.clock,
        telemetry=TelemetryWriter(path, "llm-8b", f"w{clock.now_s:g}", rank=0),
        record_s=50.0,
    )
    governor.resume_at(position)
    return governor


def killed(governor):
    """Nothing more is written, as after SIGKILL."""
    governor._closed = True


def test_a_restart_takes_back_what_the_process_before_counted_beyond_the_checkpoint(clock, twin, tmp_path):
    first = start(clock, twin, tmp_path, 0)
    Training(first, clock).run(400)
    killed(first)
    counted = sum(record.useful_tokens for record in told(tmp_path))
    assert counted == told(tmp_path)[-1].position_tokens > 30 * TOKENS
    second = start(clock, twin, tmp_path, 30 * TOKENS)
    Training(second, clock).run(500)
    second.close()
    records = told(tmp_path)
    assert sum(record.useful_tokens for record in records) == records[-1].position_tokens == 40 * TOKENS
    recompute_j = sum(record.recompute_j for record in records)
    assert recompute_j == pytest.approx((counted / TOKENS - 30) * 10 * RUN_W)
    wasted_j = recompute_j + sum(record.energy_j - record.trained_j for record in records)
    assert sum(record.energy_j for record in records) - wasted_j == pytest.approx(38 * 10 * RUN_W)


def test_a_restart_that_wrote_nothing_changes_nothing_and_one_that_did_is_not_counted_twice(clock, twin, tmp_path):
    first = start(clock, twin, tmp_path, 0)
    Training(first, clock).run(200)
    first.close()
    for _ in range(3):
        clock.now_s += 10.0
        killed(start(clock, twin, tmp_path, 15 * TOKENS))
    assert sum(record.useful_tokens for record in told(tmp_path)) == 20 * TOKENS
    for _ in range(3):
        clock.now_s += 10.0
        start(clock, twin, tmp_path, 15 * TOKENS).close()
    records = told(tmp_path)
    assert sum(record.useful_tokens for record in records) == records[-1].position_tokens == 15 * TOKENS
    assert sum(record.recompute_j for record in records) == pytest.approx(5 * 10 * RUN_W)


def test_another_rank_or_run_is_not_taken_back(clock, twin, tmp_path):
    first = start(clock, twin, tmp_path, 0)
    Training(first, clock).run(200)
    first.close()
    clock.now_s += 1.0
    other = Governor(
        run_calendar(window(0, 10_000, "run")),
        gpus=[twin],
        clock=clock.clock,
        telemetry=TelemetryWriter(tmp_path, "llm-8b", "other", rank=1),
    )
    other.resume_at(0)
    other.close()
    assert sum(record.useful_tokens for record in told(tmp_path)) == 20 * TOKENS


def test_metrics_are_written_with_every_record_and_a_refusing_disk_is_said_once(clock, twin, tmp_path, caplog):
    path = tmp_path / "metrics" / "gridpace.jsonl"
    with Governor(
        run_calendar(window(0, 1000, "run")),
        gpus=[twin],
        clock=clock.clock,
        metering=Metering(metrics=path),
        record_s=50.0,
    ) as governor:
        training = Training(governor, clock).run(200)
        (file,) = path.parent.iterdir()
        before = len(file.read_text().splitlines())
        assert before >= 3
        file.unlink()
        file.mkdir()
        training.run(400)
    assert training.done == 40
    assert sum("metrics cannot be written" in record.getMessage() for record in caplog.records) == 1
    assert json.dumps(str(path)).strip('"') in caplog.text


def test_a_node_s_own_meter_stands_beside_its_boards(clock, twin, tmp_path):
    answers = iter([800.0] * 3)
    with Governor(
        run_calendar(window(0, 1000, "run")),
        gpus=[twin],
        clock=clock.clock,
        metering=Metering(node_power=lambda: next(answers), powercap=tmp_path),
        telemetry=TelemetryWriter(tmp_path / "t", "llm-8b", "w"),
    ) as governor:
        power = governor._journal._node_meter._power
        answered(power)
        Training(governor, clock).run(100)
        power.ask()
        report = governor.report()
    assert report.node.node.energy_j == pytest.approx(80_000.0)
    assert "the boards of this process and the host are 50% of it" in str(report)
    assert sum(record.node_j for record in told(tmp_path / "t")) == pytest.approx(80_000.0)


def test_parts_that_take_more_than_the_whole_are_told(clock, twin):
    answers = iter([100.0] * 3)
    with Governor(
        run_calendar(window(0, 1000, "run")),
        gpus=[twin],
        clock=clock.clock,
        metering=Metering(node_power=lambda: next(answers)),
    ) as governor:
        power = governor._journal._node_meter._power
        answered(power)
        Training(governor, clock).run(100)
        power.ask()
        assert "more than the whole: one of the meters is wrong" in str(governor.report())


def test_a_rank_whose_tokens_another_one_counts_trains_all_the_same(govern, clock):
    governor = govern(window(0, 1000, "run"))
    for _ in range(20):
        clock.now_s += 10.0
        governor.step()
    report = governor.report()
    assert report.tokens == 0
    assert report.waste.overhead_j == pytest.approx(10 * RUN_W)  # the first step
    assert report.useful_j == pytest.approx(190 * RUN_W)


def test_loading_a_state_is_no_step(govern, clock):
    governor = govern(window(0, 1000, "run"))
    governor.resume_at(5000, step=50)
    clock.now_s += 100.0
    report = governor.report()
    assert report.waste.overhead_j == report.energy.energy_j == pytest.approx(100 * RUN_W)
