"""What a Governor tells of a run: telemetry and the report."""

from __future__ import annotations

import itertools

import pytest

from tests.governed import TOKENS, Training, warnings_of
from tests.run_calendars import run_calendar, second, window
from trainer_hooks import Governor
from trainer_hooks.journal import Journal
from trainer_hooks.telemetry import TelemetryWriter, read_records


def test_telemetry_tells_the_whole_story(clock, twin, tmp_path):
    calendar = run_calendar(
        window(0, 100, "run", limit_w=300.0, tokens=10_000),
        window(100, 200, "hold", checkpoint="before"),
        window(200, 400, "run", tokens=20_000),
    )
    writer = TelemetryWriter(tmp_path, "llm-8b", "w")
    with Governor(calendar, gpus=[twin], clock=clock.clock, telemetry=writer, record_s=50.0) as governor:
        governor.resume_at(500_000)
        training = Training(governor, clock).run(320)
        governor.rollback(515_000)
        training.run(400)
    records = list(read_records(tmp_path))
    assert [record.sequence for record in records] == list(range(len(records)))
    assert records[0].t_start == second(0)
    assert records[-1].t_end == second(400)
    for one, other in itertools.pairwise(records):
        assert one.t_end == other.t_start
    assert max((record.t_end - record.t_start).total_seconds() for record in records) <= 60.0
    assert sum(record.tokens for record in records) == 30 * TOKENS
    assert sum(record.useful_tokens for record in records) == 30 * TOKENS - 7 * TOKENS
    assert records[-1].position_tokens == 500_000 + 23 * TOKENS
    assert [record.state for record in records[:4]] == ["run", "run", "hold", "hold"]
    assert {record.energy_source for record in records} == {"simulated"}
    assert {record.gpu_power_limit_w for record in records if record.state == "run"} == {300.0, None}
    report = governor.report()
    assert sum(record.energy_j for record in records) == pytest.approx(report.energy.energy_j)
    assert report.useful_tokens == 23 * TOKENS
    assert report.planned_tokens == pytest.approx(30_000)
    assert report.tokens_per_joule == pytest.approx(23_000 / report.energy.energy_j)


def test_a_full_disk_for_telemetry_stops_nothing(clock, twin, tmp_path, caplog):
    (tmp_path / "t.jsonl").mkdir()
    writer = TelemetryWriter(tmp_path / "t.jsonl", "a", "w")
    with Governor(
        run_calendar(window(0, 300, "run")), gpus=[twin], clock=clock.clock, telemetry=writer, record_s=20.0
    ) as governor:
        training = Training(governor, clock).run(300)
    assert training.done == 30
    assert sum("telemetry cannot be written" in text for text in warnings_of(caplog)) == 1
    assert not any("lost" in text for text in warnings_of(caplog))


def test_nothing_is_metered_any_more_once_the_meters_are_let_go(govern, monkeypatch):
    done = []
    for name in ("cut", "close"):
        whole = getattr(Journal, name)
        monkeypatch.setattr(Journal, name, lambda *given, name=name, whole=whole: (done.append(name), whole(*given))[1])
    governor = govern(window(0, 1000, "run", limit_w=300.0))
    governor.close()
    assert done.count("close") == 1
    assert done[-1] == "close"


def test_records_that_a_full_disk_costs_in_the_end_are_told(clock, twin, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("trainer_hooks.telemetry._BACKLOG_RECORDS", 3)
    (tmp_path / "t.jsonl").mkdir()
    writer = TelemetryWriter(tmp_path / "t.jsonl", "a", "w")
    with Governor(
        run_calendar(window(0, 300, "run")), gpus=[twin], clock=clock.clock, telemetry=writer, record_s=20.0
    ) as governor:
        Training(governor, clock).run(300)
    assert sum("records of telemetry are lost" in text for text in warnings_of(caplog)) == 1


def test_the_report_reads_well(govern, clock):
    governor = govern(window(0, 1000, "run", tokens=100_000))
    Training(governor, clock).run(500)
    lines = dict(line.split(maxsplit=1) for line in str(governor.report()).splitlines())
    assert lines["run"] == "llm-8b, calendar c0ffee"
    assert lines["tokens"] == "50,000 trained, 50,000 useful"
    assert lines["energy"] == "200,000.0 +- 0.0 J (simulated)"
    assert lines["scope"].startswith("1 GPU board of this process")
    assert lines["efficiency"] == "0.25 +- 0 tokens/J"
    assert lines["adherence"] == "100.0% of the time as planned; the gang was to train 50,000 tokens"
    assert lines["states"] == "run 500.0 s"


def test_a_calendar_that_has_ended_is_not_said_to_be_none(govern, clock):
    clock.now_s += 5000.0
    governor = govern(window(0, 1000, "run", tokens=100_000))
    Training(governor, clock).run(50)
    lines = dict(line.split(maxsplit=1) for line in str(governor.report()).splitlines())
    assert lines["run"] == "llm-8b, calendar c0ffee"
    assert lines["adherence"] == "no time of this lies within the calendar"
