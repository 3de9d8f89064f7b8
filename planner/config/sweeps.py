"""Sweeps that a site file names, in place of operating points: of a GPU type, or of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.config import model
from planner.config.sweep_files import MeasuredSweep, read_sweep
from planner.errors import ConfigError
from power.gpu import left_out
from power.sweep import operating_points

if TYPE_CHECKING:
    from planner.config.draft import Draft, Placed
    from planner.pool import Pool
    from power.gpu import GpuType


@dataclass(frozen=True)
class Sweeps:
    """The sweeps of a site file.

    Args:
        of_run: Run -> the sweep measured on it.
        told: Sentences about sweeps: what was changed in them, and which points no plan uses.
    """

    of_run: Mapping[str, MeasuredSweep]
    told: tuple[str, ...]

    def seen_by(self, run: str, pools: Mapping[str, Pool]) -> dict[str, Pool]:
        """Return pools with the operating points measured on a run, where they are of its sweep's GPU type."""
        measured = self.of_run.get(run)
        if measured is None:
            return dict(pools)
        return {name: _measured(pool, measured) if _fits(pool, measured) else pool for name, pool in pools.items()}


def read_sweeps(draft: Draft, catalogue: Mapping[str, GpuType], folder: Path) -> Sweeps:
    """Read all sweeps that a draft names: those of GPU types become its points, those of runs are returned.

    Args:
        draft: The tables that could be read; faults go to their lists.
        catalogue: Bundled GPU types by name; a type's node overhead stands in where the file gives none.
        folder: Folder of the site file.
    """
    told: list[str] = []
    for name, placed in draft.gpus.items():
        measured = _read(placed, folder)
        known = catalogue[name].overhead_w_per_gpu if name in catalogue else None
        overhead_w = placed.table.overhead_w_per_gpu or known
        if measured is None:
            continue
        if overhead_w is None:
            placed.fault(
                ("overhead_w_per_gpu",),
                "is missing (a sweep measures the GPU; IT power counts the node beside it too)",
                "add overhead_w_per_gpu = ...",
            )
            continue
        draft.gpus[name] = replace(placed, table=_with_points(placed.table, measured, overhead_w))
        told.append(_sentence(f"GPU type {name!r}", measured, draft.gpus[name].table, overhead_w))
    runs = {}
    for run in draft.runs:
        measured = _read(run, folder)
        if measured is not None:
            runs[run.table.name] = measured
    return Sweeps(runs, tuple(told))


def check_run_sweep(placed: Placed[model.RunTable], allowed: Mapping[str, Pool], sweeps: Sweeps) -> bool:
    """Note what keeps a run's sweep from its pools.

    Args:
        placed: The run.
        allowed: The pools it may use.
        sweeps: The sweeps of the site file.

    Returns:
        Whether its pools can be seen by it.
    """
    measured = sweeps.of_run.get(placed.table.name)
    if measured is None:
        return True
    types = sorted({pool.gpu.name for pool in allowed.values()})
    if measured.gpu is None and len(types) > 1:
        placed.fault(
            ("sweep",), f"does not say of which GPU type it is; the run's pools have {types}", "name its pools of one"
        )
        return False
    fitting = [pool for pool in allowed.values() if _fits(pool, measured)]
    if not fitting:
        placed.fault(("sweep",), f"was measured on {measured.gpu}; the run's pools have {types}", "measure it on these")
    lacking = sorted({pool.gpu.name for pool in fitting if pool.gpu.overhead_w_per_gpu is None})
    if lacking:
        placed.fault(
            ("sweep",),
            f"needs the node overhead of {lacking[0]}, which is not known",
            f"add overhead_w_per_gpu to [gpu.{lacking[0]}]",
        )
    return bool(fitting) and not lacking


def _read(placed: Placed[model.GpuTable] | Placed[model.RunTable], folder: Path) -> MeasuredSweep | None:
    table = placed.table
    if table.sweep is None:
        if table.sweep_workload is not None:
            placed.fault(("sweep_workload",), "stands without a sweep", "add sweep = ..., or leave it out")
        return None
    if isinstance(table, model.GpuTable) and table.points:
        placed.fault(("sweep",), "stands beside points, which it would give", "leave one of them out")
        return None
    try:
        return read_sweep(folder / table.sweep, table.sweep_workload)
    except ConfigError as error:
        placed.fault(("sweep",), error.what, error.fix)
        return None


def _with_points(table: model.GpuTable, measured: MeasuredSweep, overhead_w: float) -> model.GpuTable:
    held_w = table.held_w_per_gpu
    if held_w is None and measured.held_above_idle_w is not None:
        held_w = table.idle_w_per_gpu + measured.held_above_idle_w
    points = [
        model.OperatingPointTable(
            gpu_power_limit_w=point.gpu_power_limit_w,
            it_w_per_gpu=point.it_w_per_gpu,
            relative_throughput=point.relative_throughput,
        )
        for point in operating_points(measured.sweep, overhead_w)
    ]
    return table.model_copy(update={"points": points, "held_w_per_gpu": held_w, "overhead_w_per_gpu": overhead_w})


def _sentence(subject: str, measured: MeasuredSweep, table: model.GpuTable, overhead_w: float) -> str:
    sweep = measured.sweep
    lost = left_out(operating_points(sweep, overhead_w), table.idle_w_per_gpu)
    why = "; ".join(f"{point.gpu_power_limit_w:g} W is left out: {reason}" for point, reason in lost)
    return (
        f"{subject} has the operating points of a sweep of {len(sweep.gpu_power_limit_w)} limits, which departs from a "
        f"rising curve by {100 * sweep.residual_share:.1f} % and varies by {100 * sweep.noise_share:.1f} % between "
        f"repeats{'; ' + why if why else ''}."
    )


def _fits(pool: Pool, measured: MeasuredSweep) -> bool:
    return measured.gpu is None or measured.gpu == pool.gpu.name


def _measured(pool: Pool, measured: MeasuredSweep) -> Pool:
    overhead_w = pool.gpu.overhead_w_per_gpu
    if overhead_w is None:
        return pool
    return replace(pool, gpu=replace(pool.gpu, points=operating_points(measured.sweep, overhead_w)))
