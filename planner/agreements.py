"""Where the energy of power purchase agreements goes, for the import that a calendar publishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import DECIMALS, published
from power.ppa import allot
from trainer_hooks.calendar import PpaPlan

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.week import Week


def ppa_plans(
    week: Week, import_kw: npt.NDArray[np.float64], taken_kw: npt.NDArray[np.float64] | float = 0.0
) -> tuple[PpaPlan, ...]:
    """Return where the energy of each physical agreement goes at the least cost, to the last decimal of files.

    Args:
        week: All inputs.
        import_kw: Import of the site per slot, kW, shape (T,).
        taken_kw: What other contracts cover of it, kW, shape (T,).
    """
    physical = [ppa for ppa in week.ppas if ppa.physical]
    volumes = [np.round(week.ppa_kw(ppa), DECIMALS) for ppa in physical]
    flows = allot(physical, volumes, import_kw - taken_kw, week.signals.price_per_kwh, week.rates().energy_per_kwh)
    return tuple(
        PpaPlan(
            ppa.name,
            volume_kw=published(flow.volume_kw),
            used_kw=published(flow.used_kw),
            sold_kw=published(flow.sold_kw),
            curtailed_kw=published(flow.curtailed_kw),
        )
        for ppa, flow in zip(physical, flows, strict=True)
    )
