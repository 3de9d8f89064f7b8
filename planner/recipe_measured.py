"""What telemetry and sweeps measured of a configuration: useful tokens per joule, in all and by power limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from planner.config.recipe_file import AtLimit, Measured
from planner.errors import ConfigError
from planner.ledger.board_time import shares_not_told_before
from planner.ledger.tables import Telemetry
from trainer_hooks.errors import CalendarError
from trainer_hooks.telemetry import read_records

if TYPE_CHECKING:
    from trainer_hooks.telemetry import Record

JOULES_PER_KWH = 3.6e6
UNMEASURED = frozenset({"none", "model"})
"""Sources of joules that measure nothing."""
_DIGITS = 6


@dataclass(frozen=True)
class RunTelemetry:
    """A run's telemetry.

    Args:
        measured: What it measured.
        begins: Begin of the first record, UTC.
        refused: Lines that are no records.
    """

    measured: Measured
    begins: datetime
    refused: int


def measured_by_telemetry(path: Path, run: str) -> RunTelemetry:
    """Return what telemetry measured of a run: each record once, each board's time once.

    Args:
        path: Telemetry file, or folder of files.
        run: Name of the run.

    Raises:
        ConfigError: The telemetry cannot be read, has no record of the run, counts no useful tokens, or its joules are
            a model's in whole or not known.
    """
    refused = 0
    records: dict[tuple[str, int], Record] = {}
    try:
        for found in read_records(path):
            if isinstance(found, CalendarError):
                refused += 1
            elif found.run == run:
                records[found.writer, found.sequence] = found
    except OSError as error:
        raise ConfigError(
            f"telemetry {path.name} cannot be read: {error.strerror or error}", fix="name a file, or a folder of files"
        ) from error
    if not records:
        raise ConfigError(f"telemetry {path.name} has no record of run {run!r}", fix="name the run's own telemetry")
    told = [records[key] for key in sorted(records)]
    return RunTelemetry(_measured(told, path.name, run), min(record.t_start for record in told), refused)


def _measured(records: Sequence[Record], name: str, run: str) -> Measured:
    shares = shares_not_told_before([_row(record) for record in records])
    energy_j = sum(share * record.energy_j for share, record in zip(shares, records, strict=True))
    error_j = sum(share * record.energy_error_j for share, record in zip(shares, records, strict=True))
    tokens = sum(record.useful_tokens for record in records)
    sources = sorted({record.energy_source for record in records if record.energy_j > 0.0})
    if tokens <= 0 or energy_j <= 0.0 or not set(sources) - UNMEASURED:
        raise ConfigError(
            f"telemetry {name} of run {run!r} measures no tokens per joule: {tokens} useful tokens, {energy_j:,.0f} J "
            f"by {', '.join(sources) or 'nothing'}",
            why="a recipe keeps what was measured",
            fix="meter the run where its boards' energy can be read, or give a sweep",
        )
    return Measured(
        source="telemetry",
        tokens_per_joule=_rounded(tokens / energy_j),
        tokens_per_joule_error=_rounded(tokens / energy_j * error_j / energy_j),
        energy_sources=sources,
        useful_tokens=float(tokens),
        energy_kwh=_rounded(energy_j / JOULES_PER_KWH),
        at_limits=_at_limits(zip(shares, records, strict=True)),
    )


def _at_limits(metered: Iterable[tuple[float, Record]]) -> list[AtLimit]:
    """Return tokens per joule by power limit, of the stretches in which the run trained."""
    sums: dict[float, tuple[float, float, float]] = {}
    for share, record in metered:
        limit_w = record.enforced_limit_w if record.gpu_power_limit_w is None else record.gpu_power_limit_w
        if record.state != "run" or limit_w is None:
            continue
        tokens, energy_j, hours = sums.get(limit_w, (0.0, 0.0, 0.0))
        length_h = (record.t_end - record.t_start).total_seconds() / 3600.0
        sums[limit_w] = (
            tokens + record.useful_tokens,
            energy_j + share * record.energy_j,
            hours + share * record.gpus * length_h,
        )
    return [
        AtLimit(gpu_power_limit_w=limit_w, tokens_per_joule=_rounded(tokens / energy_j), hours=_rounded(hours))
        for limit_w, (tokens, energy_j, hours) in sorted(sums.items())
        if tokens > 0 and energy_j > 0.0 and hours > 0.0
    ]


def measured_by_sweep(document: dict[str, Any]) -> Measured | None:
    """Return what a sweep measured, or None where it counts steps and not tokens.

    Args:
        document: A sound sweep of the form `gridpace.sweep/1`.
    """
    points = sorted(document["points"], key=lambda point: float(point["gpu_power_limit_w"]))
    if not all("tokens_per_gpu_s" in point for point in points):
        return None
    at_limits = [
        AtLimit(
            gpu_power_limit_w=point["gpu_power_limit_w"],
            tokens_per_joule=_rounded(fmean(point["tokens_per_gpu_s"]) / fmean(point["gpu_draw_w"])),
        )
        for point in points
    ]
    return Measured(
        source="sweep",
        tokens_per_joule=max(one.tokens_per_joule for one in at_limits),
        energy_sources=["sweep"],
        at_limits=at_limits,
    )


def _row(record: Record) -> Telemetry:
    """Return what tells whose boards a record meters, as the ledger keeps it."""
    return Telemetry(
        writer=record.writer,
        sequence=record.sequence,
        t_start=record.t_start,
        t_end=record.t_end,
        boards=" ".join(record.boards),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
