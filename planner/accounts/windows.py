"""What the windows of runs say about each slot: IT energy, and GPUs reserved."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trainer_hooks.contract import Calendar, RunCalendar, Window


class RunColumns(TypedDict):
    """What the windows of all runs come to, by the fields of `planner.accounts.carbon.CarbonAccounts`."""

    runs: tuple[str, ...]
    run_kwh: npt.NDArray[np.float64]
    run_tokens: npt.NDArray[np.float64]
    run_gpu_hours: npt.NDArray[np.float64]


def run_columns(calendar: Calendar, runs: Sequence[RunCalendar]) -> RunColumns:
    """Return names, energy per slot, useful tokens and reserved GPU-hours of all runs.

    Args:
        calendar: The header.
        runs: The windows of every run.
    """
    return RunColumns(
        runs=tuple(run.run for run in runs),
        run_kwh=run_energy_kwh(calendar, runs),
        run_tokens=np.array([sum(w.tokens for w in run.windows) for run in runs]),
        run_gpu_hours=np.array([gpu_hours(run.windows) for run in runs]),
    )


def run_energy_kwh(calendar: Calendar, runs: Sequence[RunCalendar]) -> npt.NDArray[np.float64]:
    """Return the IT energy of each run in each slot, kWh, shape (R, T), spread evenly over its windows."""
    edges_s = np.arange(calendar.n_slots + 1) * 60.0 * calendar.slot_minutes
    found = np.zeros((len(runs), calendar.n_slots))
    for row, run in zip(found, runs, strict=True):
        at_s = [(w.end - calendar.valid_from).total_seconds() for w in run.windows]
        used_kwh = np.cumsum([w.energy_kwh for w in run.windows])
        row[:] = np.diff(np.interp(edges_s, [0.0, *at_s], [0.0, *used_kwh.tolist()]))
    return found


def gpu_hours(windows: Sequence[Window]) -> float:
    """Return the hours for which windows reserve GPUs, times the GPUs: a gang that holds and waits counts in full."""
    return sum(w.gpus * ((w.end - w.start) / timedelta(hours=1)) for w in windows)
