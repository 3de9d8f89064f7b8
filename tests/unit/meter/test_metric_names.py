"""Names end in their unit, or the code refuses them; what is written is what collectors read."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta

import pytest

from trainer_hooks.energy import Energy
from trainer_hooks.exposition import otlp_line, prometheus_text, samples, write_metrics
from trainer_hooks.metric_names import METRICS, UNITS, Metric
from trainer_hooks.node_meter import NodeEnergy
from trainer_hooks.report import GovernorReport
from trainer_hooks.waste import Waste

BEGIN = datetime(2024, 5, 13, tzinfo=UTC)
REPORT = GovernorReport(
    run='llm "8b"\\x',
    calendar_id="c0ffee",
    tokens=1000,
    useful_tokens=900,
    energy=Energy(5000.0, 250.0, 50.0, "counter", 10.0),
    gpus=8,
    seconds={"run": 90.0, "hold": 10.0},
    adherence=0.75,
    planned_tokens=1200.0,
    waste=Waste(1.0, 200.0, 30.0, 4.0, 5.0),
    node=NodeEnergy(Energy(700.0, 35.0, 0.0, "counter"), Energy(9000.0, 90.0, 0.0, "power"), ("package-0",)),
)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.subject)
def test_every_name_ends_in_its_unit(metric):
    assert metric.prometheus.removesuffix("_total").endswith(f"_{metric.unit}")
    assert metric.prometheus.endswith("_total") == (metric.kind == "counter")
    assert metric.otel.endswith(f".{metric.unit}")
    assert metric.unit in UNITS


def test_names_are_told_apart():
    assert len({metric.prometheus for metric in METRICS}) == len({metric.otel for metric in METRICS}) == len(METRICS)


@pytest.mark.parametrize(
    ("subject", "unit", "text"),
    [
        ("gpu_energy", "kwh", "x"),
        ("gpu_energy", "", "x"),
        ("gpu_energy_joules", "joules", "x"),
        ("gpu_energy_total", "joules", "x"),
        ("gpu_power_mw", "watts", "x"),
        ("GpuEnergy", "joules", "x"),
        ("gpu__energy", "joules", "x"),
        ("", "joules", "x"),
        ("gpu_energy", "joules", ""),
        ("gpu_energy", "joules", "two\nlines"),
    ],
)
def test_a_name_that_leaves_its_unit_out_or_says_it_twice_is_refused(subject, unit, text):
    with pytest.raises(ValueError, match="metric"):
        Metric(subject, unit, "gauge", text)


def test_prometheus_reads_what_is_written():
    text = prometheus_text(REPORT, "host-1")
    line = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)')
    values = {}
    for row in text.splitlines():
        if not row.startswith("#"):
            found = line.fullmatch(row)
            assert found, row
            values[found[1], found[2].rpartition("writer=")[2]] = float(found[3])
    assert values["gridpace_gpu_energy_joules_total", '"host-1",source="counter"'] == 5000.0
    assert values["gridpace_gpu_energy_error_joules", '"host-1"'] == 310.0
    assert values["gridpace_wasted_energy_joules_total", '"host-1",cause="hold"'] == 200.0
    assert values["gridpace_useful_energy_joules", '"host-1"'] == 4760.0
    assert values["gridpace_efficiency_tokens_per_joule", '"host-1"'] == 0.18
    assert values["gridpace_state_time_seconds_total", '"host-1",state="run"'] == 90.0
    assert r'run="llm \"8b\"\\x"' in text
    assert text.count("# TYPE gridpace_wasted_energy_joules_total counter\n") == 1
    assert text.endswith("\n")


def test_waste_and_use_add_up_to_the_energy():
    found = {(s.metric.subject, s.label): s.value for s in samples(REPORT)}
    wasted = sum(value for (subject, _), value in found.items() if subject == "wasted_energy")
    assert wasted + found["useful_energy", ""] == found["gpu_energy", "counter"]


def test_what_is_not_known_is_left_out():
    bare = GovernorReport("a", None, 0, 0, Energy(0.0, 0.0, 0.0, "none"), 0, {}, None, 0.0)
    assert {s.metric.subject for s in samples(bare)}.isdisjoint(
        {"host_energy", "node_energy", "efficiency", "plan_adherence", "state_time"}
    )


def test_a_collector_reads_the_line_of_otlp():
    document = json.loads(otlp_line(REPORT, "host-1", BEGIN, BEGIN + timedelta(seconds=100)))
    resource = document["resourceMetrics"][0]
    metrics = {metric["name"]: metric for metric in resource["scopeMetrics"][0]["metrics"]}
    energy = metrics["gridpace.gpu.energy.joules"]
    assert energy["unit"] == "J"
    assert energy["sum"]["isMonotonic"] is True
    (point,) = energy["sum"]["dataPoints"]
    assert point["asDouble"] == 5000.0
    assert int(point["timeUnixNano"]) - int(point["startTimeUnixNano"]) == 100 * 10**9
    causes = [
        p["attributes"][0]["value"]["stringValue"]
        for p in metrics["gridpace.wasted.energy.joules"]["sum"]["dataPoints"]
    ]
    assert causes == ["starvation", "hold", "checkpoint", "recompute", "overhead"]
    assert metrics["gridpace.efficiency.tokens_per_joule"]["gauge"]["dataPoints"][0]["asDouble"] == 0.18
    attributes = {a["key"]: a["value"]["stringValue"] for a in resource["resource"]["attributes"]}
    assert attributes["gridpace.run"] == REPORT.run


def test_files_of_processes_long_gone_are_not_collected_for_ever(tmp_path):
    for writer in ("host-1-aa", "host-2-bb", "other-1-cc"):
        write_metrics(tmp_path / "gridpace.prom", REPORT, writer, BEGIN, BEGIN)
        if writer != "host-2-bb":
            os.utime(tmp_path / f"gridpace.{writer}.prom", (0, 0))
    write_metrics(tmp_path / "gridpace.prom", REPORT, "host-4-ee", BEGIN, BEGIN)
    (tmp_path / "others.a.prom").touch()
    os.utime(tmp_path / "others.a.prom", (0, 0))
    write_metrics(tmp_path / "gridpace.prom", REPORT, "host-4-ee", BEGIN, BEGIN)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["gridpace.host-2-bb.prom", "gridpace.host-4-ee.prom", "others.a.prom"]


def test_files_are_one_for_each_process_and_a_half_written_one_is_never_seen(tmp_path):
    for writer in ("a", "b"):
        write_metrics(tmp_path / "deep" / "gridpace.prom", REPORT, writer, BEGIN, BEGIN)
    write_metrics(tmp_path / "deep" / "gridpace.prom", REPORT, "a", BEGIN, BEGIN)
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["gridpace.a.prom", "gridpace.b.prom"]
    for _ in range(3):
        write_metrics(tmp_path / "gridpace.jsonl", REPORT, "a", BEGIN, BEGIN)
    lines = (tmp_path / "gridpace.a.jsonl").read_text().splitlines()
    assert [json.loads(line)["resourceMetrics"] != [] for line in lines] == [True] * 3


def test_lines_of_a_long_training_are_kept_in_two_files_of_bounded_size(tmp_path, monkeypatch):
    write_metrics(tmp_path / "m.jsonl", REPORT, "host-1.a", BEGIN, BEGIN)
    line_bytes = (tmp_path / "m.host-1.a.jsonl").stat().st_size
    monkeypatch.setattr("trainer_hooks.exposition._FILE_LIMIT_BYTES", 3 * line_bytes)
    for _ in range(10):
        write_metrics(tmp_path / "m.jsonl", REPORT, "host-1.a", BEGIN, BEGIN)
    lines = {path.name: len(path.read_text().splitlines()) for path in tmp_path.iterdir()}
    assert lines == {"m.host-1.a.jsonl": 2, "m.host-1.a.old.jsonl": 3}


def test_a_line_that_a_full_disk_cuts_short_spoils_no_other(tmp_path, monkeypatch):
    write_metrics(tmp_path / "m.jsonl", REPORT, "a", BEGIN, BEGIN)
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: whole(descriptor, line[:50]))
    with pytest.raises(OSError, match="a part of a line"):
        write_metrics(tmp_path / "m.jsonl", REPORT, "a", BEGIN, BEGIN)
    monkeypatch.setattr(os, "write", whole)
    write_metrics(tmp_path / "m.jsonl", REPORT, "a", BEGIN, BEGIN)
    for line in (tmp_path / "m.a.jsonl").read_text().splitlines():
        json.loads(line)
