"""Windows of runs as values per slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.timegrid import TimeGrid
    from trainer_hooks.contract import RunCalendar


def run_power_kw(run: RunCalendar, grid: TimeGrid) -> npt.NDArray[np.float64]:
    """Return the mean IT power of a run's gang per slot.

    Each window's energy is spread evenly over its length; windows need not lie on slot boundaries.

    Args:
        run: The run's windows.
        grid: The slots.

    Returns:
        kW, shape (T,).
    """
    energy_kwh = np.zeros(grid.n_slots)
    edges = np.arange(grid.n_slots + 1, dtype=np.float64)
    for window in run.windows:
        if window.energy_kwh == 0:
            continue
        first, last = grid.position(window.start), grid.position(window.end)
        overlap = np.clip(np.minimum(edges[1:], last) - np.maximum(edges[:-1], first), 0.0, None)
        energy_kwh += window.energy_kwh * overlap / (last - first)
    return energy_kwh / grid.slot_h
