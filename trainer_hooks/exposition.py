"""A report as metrics: text for Prometheus' textfile collector, or one line of OTLP in JSON."""

from __future__ import annotations

import contextlib
import glob
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from trainer_hooks import metric_names as names

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from trainer_hooks.metric_names import Metric
    from trainer_hooks.report import GovernorReport

# A living process writes with every record, each minute.
_STALE_S = 3600.0
# Five days of minutes are about as much; a file has at most one predecessor.
_FILE_LIMIT_BYTES = 32 * 1024 * 1024
_CUMULATIVE = 2  # OTLP's AGGREGATION_TEMPORALITY_CUMULATIVE


class Sample(NamedTuple):
    """One value of a metric.

    Attributes:
        metric: The metric.
        value: Its value, in the metric's unit.
        label: Value of its label, or "".
    """

    metric: Metric
    value: float
    label: str = ""


def samples(report: GovernorReport) -> tuple[Sample, ...]:
    """Return what a report tells, in the order of the table; what it does not know is left out."""
    found = [
        Sample(names.GPU_ENERGY, report.energy.energy_j, report.energy.source),
        Sample(names.GPU_ENERGY_ERROR, report.energy.error_j),
        Sample(names.HOST_ENERGY, report.node.host.energy_j) if report.node.domains else None,
        Sample(names.NODE_ENERGY, report.node.node.energy_j) if report.node.node.energy_j else None,
        *(Sample(names.WASTED, max(v, 0.0), cause.removesuffix("_j")) for cause, v in asdict(report.waste).items()),
        Sample(names.USEFUL_ENERGY, report.useful_j),
        Sample(names.TRAINED, report.tokens),
        Sample(names.USEFUL, report.useful_tokens),
        None if report.tokens_per_joule is None else Sample(names.EFFICIENCY, report.tokens_per_joule),
        *(Sample(names.STATE_TIME, seconds, state) for state, seconds in sorted(report.seconds.items())),
        None if report.adherence is None else Sample(names.ADHERENCE, report.adherence),
        Sample(names.METERED, report.gpus),
    ]
    return tuple(sample for sample in found if sample is not None)


def prometheus_text(report: GovernorReport, writer: str) -> str:
    """Write a report in Prometheus' text format.

    Args:
        report: The report.
        writer: Identity of this process, a label of every series.

    Returns:
        Lines, each metric with its help and type once.
    """
    lines: list[str] = []
    told: Metric | None = None
    for sample in samples(report):
        metric = sample.metric
        if metric is not told:
            lines += [f"# HELP {metric.prometheus} {metric.help}", f"# TYPE {metric.prometheus} {metric.kind}"]
            told = metric
        own = {metric.label: sample.label} if metric.label else {}
        labels = {"run": report.run, "writer": writer, **own}
        text = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
        lines.append(f"{metric.prometheus}{{{text}}} {float(sample.value)!r}")
    return "\n".join(lines) + "\n"


def otlp_line(report: GovernorReport, writer: str, begin: datetime, now: datetime) -> str:
    """Write a report as one line of OTLP's JSON, as a collector's file receiver reads it.

    Args:
        report: The report.
        writer: Identity of this process.
        begin: Since when its counters count, UTC.
        now: Present instant, UTC.

    Returns:
        The line, newline included.
    """
    metrics: dict[str, dict[str, Any]] = {}
    for sample in samples(report):
        metric = sample.metric
        point = {"startTimeUnixNano": _nanoseconds(begin), "timeUnixNano": _nanoseconds(now), "asDouble": sample.value}
        if metric.label:
            point["attributes"] = [_attribute(metric.label, sample.label)]
        entry = metrics.setdefault(
            metric.otel, {"name": metric.otel, "description": metric.help, "unit": names.UNITS[metric.unit]}
        )
        if metric.kind == "counter":
            series = entry.setdefault("sum", {"aggregationTemporality": _CUMULATIVE, "isMonotonic": True})
        else:
            series = entry.setdefault("gauge", {})
        series.setdefault("dataPoints", []).append(point)
    attributes = [_attribute("service.name", "gridpace"), _attribute("service.instance.id", writer)]
    attributes.append(_attribute("gridpace.run", report.run))
    scope = {"scope": {"name": "trainer_hooks"}, "metrics": list(metrics.values())}
    document = {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": [scope]}]}
    return json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


def write_metrics(path: Path, report: GovernorReport, writer: str, begin: datetime, now: datetime) -> None:
    """Write a report where a collector finds it.

    Each process writes a file of its own, because a collector reads all of a folder: its name gets the writer.

    Args:
        path: File ending in `.prom`, which is put in place whole, or in `.jsonl`, which grows by a line until it has
            32 MiB: it is then put aside as `.old.jsonl`, in the place of the one before.
        report: The report.
        writer: Identity of this process.
        begin: Since when its counters count, UTC.
        now: Present instant, UTC.

    Raises:
        OSError: The file cannot be written.
    """
    own = path.with_name(f"{path.stem}.{writer}{path.suffix}")
    own.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".prom":
        # The collector reads every file that ends in .prom, so that the half-written one must not.
        half = own.with_name(f"{own.name}.new")
        half.write_text(prometheus_text(report, writer), encoding="utf-8")
        half.replace(own)
        _drop_stale(path, own.stat().st_mtime)
        return
    line = otlp_line(report, writer, begin, now).encode("ascii")
    with contextlib.suppress(FileNotFoundError):
        if own.stat().st_size + len(line) > _FILE_LIMIT_BYTES:
            own.replace(own.with_suffix(".old.jsonl"))
    descriptor = os.open(own, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if os.write(descriptor, line) < len(line):
            os.ftruncate(descriptor, size)  # a line cut short by a full disk would spoil the next one
            raise OSError(f"{own}: the disk took a part of a line only")
    finally:
        os.close(descriptor)


def _drop_stale(path: Path, now_s: float) -> None:
    """Remove what processes that are long gone have left for the collector."""
    for other in path.parent.glob(f"{glob.escape(path.stem)}.*.prom"):
        with contextlib.suppress(OSError):  # another process may do the same
            if now_s - other.stat().st_mtime > _STALE_S:
                other.unlink()


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def _nanoseconds(time: datetime) -> str:
    return str(round(time.timestamp() * 1e6) * 1000)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
