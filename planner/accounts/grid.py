"""What a kWh from the grid stands for in each slot, from the week's series and the site's accounting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.errors import GapInSeries
from planner.timegrid import iso
from power.accounts import GridHours
from power.hourly import HourlyValues

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.timegrid import TimeGrid
    from planner.week import Signals
    from power.accounting import Accounting

NO_RESIDUAL = "the average: no residual mix is given"
NO_SHARE = "none credited: no share is given"
NOT_KNOWN = "not known"
SITE_FILE = "site file"


def grid_hours(accounting: Accounting, signals: Signals, grid: TimeGrid) -> GridHours:
    """Return what a kWh from the grid stands for in each slot.

    Args:
        accounting: What the accounts are kept by.
        signals: Grid and weather; the carbon intensity is the average.
        grid: The slots.

    Raises:
        GapInSeries: A series of hours does not cover the slots.
    """
    average = signals.ci_gco2_per_kwh
    residual, share = accounting.residual_gco2_per_kwh, accounting.grid_cfe_share
    marginal = accounting.marginal_gco2_per_kwh
    return GridHours(
        zone=accounting.zone,
        basis=signals.ci_basis,
        average_gco2_per_kwh=average,
        residual_gco2_per_kwh=average if residual is None else _per_slot(residual, grid, "the residual mix"),
        marginal_gco2_per_kwh=None if marginal is None else _per_slot(marginal, grid, "the marginal intensity"),
        cfe_share=np.zeros(grid.n_slots) if share is None else _per_slot(share, grid, "the grid's carbon-free share"),
    )


def told_sources(accounting: Accounting, average: str) -> tuple[tuple[str, str], ...]:
    """Return where each figure of the grid comes from: name and source.

    Args:
        accounting: What the accounts are kept by.
        average: Source of the carbon intensity.
    """
    return (
        ("average_gco2_per_kwh", average),
        ("residual_gco2_per_kwh", _told(accounting.residual_gco2_per_kwh, NO_RESIDUAL)),
        ("marginal_gco2_per_kwh", _told(accounting.marginal_gco2_per_kwh, NOT_KNOWN)),
        ("grid_cfe_share", _told(accounting.grid_cfe_share, NO_SHARE)),
    )


def _told(given: float | HourlyValues | None, absent: str) -> str:
    if given is None:
        return absent
    return given.source if isinstance(given, HourlyValues) else SITE_FILE


def _per_slot(given: float | HourlyValues, grid: TimeGrid, subject: str) -> npt.NDArray[np.float64]:
    if not isinstance(given, HourlyValues):
        return np.full(grid.n_slots, given)
    if not given.covers(grid.start, grid.end):
        raise GapInSeries(
            f"{subject} in {given.source} covers {iso(given.start)} to {iso(given.end)}, "
            f"but the week is {iso(grid.start)} to {iso(grid.end)}",
            fix="give the file all hours of the week",
        )
    return given.per_slot(grid.start, grid.slot_minutes, grid.n_slots)
