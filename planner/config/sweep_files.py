"""Files of measured power-limit sweeps: the project's own JSON, and tables of caps beside throughput as CSV.

The JSON form is `gridpace.sweep/1`:

    {"schema": "gridpace.sweep/1", "gpu": "H100-SXM", "workload": "llama-8b", "idle_w": 72.0, "held_w": 110.0,
     "points": [{"gpu_power_limit_w": 350, "gpu_draw_w": [341.0, 342.5], "tokens_per_gpu_s": [6100, 6130]}, ...]}

Lists hold one reading per repeat. `workload`, `idle_w` and `held_w` may be left out; in place of `tokens_per_gpu_s`
every point may give `steps_per_s`. Unknown keys are ignored.

The CSV form has the columns `Workload`, `GPU power cap` (W), `throughput` and `power per GPU` (W), among others.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.config.faults import shown_path
from planner.config.files import read_user_text
from planner.errors import ConfigError
from power.sweep import CleanSweep, SweepPoint, SweepRefused, clean

SCHEMA = "gridpace.sweep/1"
CSV_COLUMNS = ("Workload", "GPU power cap", "throughput", "power per GPU")

Reading = Annotated[float, Field(gt=0, le=1e12)]
Readings = Annotated[list[Reading], Field(min_length=1, max_length=10_000)]


@dataclass(frozen=True)
class MeasuredSweep:
    """A sweep as a file has it.

    Args:
        sweep: The points, cleaned.
        gpu: GPU type that the file names, or None.
        held_above_idle_w: Power of a GPU with a waiting job above that without one, W, or None where not measured.
    """

    sweep: CleanSweep
    gpu: str | None
    held_above_idle_w: float | None


class _Point(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    gpu_power_limit_w: Reading
    gpu_draw_w: Readings
    tokens_per_gpu_s: Readings | None = None
    steps_per_s: Readings | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    schema_: Literal["gridpace.sweep/1"] = Field(alias="schema")
    gpu: str
    points: list[_Point] = Field(max_length=10_000)
    idle_w: Reading | None = None
    held_w: Reading | None = None


def read_sweep(path: Path, workload: str | None) -> MeasuredSweep:
    """Return the sweep that a file holds.

    Args:
        path: JSON or CSV.
        workload: Which workload of a CSV is meant; None where it holds one.

    Raises:
        ConfigError: The file cannot be read, is of neither form, or its sweep is refused: fewer than three limits, or
            noise over 3 %.
    """
    text = read_user_text(path, "sweep file")
    name = shown_path(path)
    if path.suffix.lower() == ".csv":
        return MeasuredSweep(_cleaned(_csv_points(text, name, workload), name), None, None)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _of_no_form(name, error) from None
    return sweep_of_document(document, name)


def _cleaned(points: tuple[SweepPoint, ...], name: str) -> CleanSweep:
    try:
        return clean(points)
    except SweepRefused as refused:
        raise ConfigError(
            f"sweep {name} gives no operating points: {refused}", fix="measure it again, or give points by hand"
        ) from None


def _of_no_form(name: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"sweep {name} is no file of the form {SCHEMA}: {first_fault(error)}", fix="see docs/gpu-operating-points.md"
    )


def sweep_of_document(document: Any, name: str) -> MeasuredSweep:
    """Return the sweep that a JSON object holds.

    Args:
        document: Of the form `gridpace.sweep/1`.
        name: Names it in errors.

    Raises:
        ConfigError: It is not of that form, or its sweep is refused.
    """
    try:
        file = _File.model_validate(document)
    except ValueError as error:
        raise _of_no_form(name, error) from None
    points = []
    by_tokens = [point.tokens_per_gpu_s is not None for point in file.points]
    for point, counts_tokens in zip(file.points, by_tokens, strict=True):
        speeds = point.tokens_per_gpu_s if all(by_tokens) else point.steps_per_s
        if speeds is None:
            raise ConfigError(
                f"sweep {name}: the point of {point.gpu_power_limit_w:g} W gives "
                f"{'tokens' if counts_tokens else 'no tokens'} and others do not",
                fix="give tokens_per_gpu_s at every point, or steps_per_s at every point",
            )
        mean = fmean(speeds)
        noise = stdev(speeds) / mean if len(speeds) > 1 else 0.0
        points.append(SweepPoint(point.gpu_power_limit_w, fmean(point.gpu_draw_w), mean, len(speeds), noise))
    held = None
    if file.held_w is not None and file.idle_w is not None:
        held = max(0.0, file.held_w - file.idle_w)
    return MeasuredSweep(_cleaned(tuple(points), name), file.gpu, held)


def first_fault(error: Exception) -> str:
    """Return in one clause what is wrong with a document that has not its form."""
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False)[0]
        return f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _csv_points(text: str, name: str, workload: str | None) -> tuple[SweepPoint, ...]:
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise ConfigError(f"sweep {name} is not sound CSV: {error}", fix="close each quote") from None
    missing = [column for column in CSV_COLUMNS if rows and column not in rows[0]]
    if missing or not rows:
        raise ConfigError(
            f"sweep {name} has no column {missing[0]!r}" if missing else f"sweep {name} has no rows",
            fix=f"give the columns {', '.join(CSV_COLUMNS)}",
        )
    known = sorted({row["Workload"] or "" for row in rows})
    if workload is None and len(known) > 1:
        raise ConfigError(f"sweep {name} holds {len(known)} workloads", fix=f"name sweep_workload: one of {known}")
    if workload is not None and workload not in known:
        raise ConfigError(f"sweep {name} holds no workload {workload!r}", fix=f"it holds {known}")
    points = []
    for row in rows:
        if workload is None or row["Workload"] == workload:
            try:
                limit_w, speed, draw_w = (float(row[c]) for c in ("GPU power cap", "throughput", "power per GPU"))
            except (TypeError, ValueError):
                raise ConfigError(
                    f"sweep {name}: a cell of workload {row['Workload']!r} at {row['GPU power cap']} W is no number",
                    fix="write plain numbers",
                ) from None
            points.append(SweepPoint(limit_w, draw_w, speed))
    return tuple(points)
