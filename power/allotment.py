"""A site's account shared among its runs: by each run's part of the site's IT energy in every slot.

Cooling, supply and emissions go with IT energy, so the sum over the runs and what is left to the site is the site's
own figure in every slot. What no run uses (GPUs without a job) stays with the site.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from power.accounts import SiteAccount


def shared_columns(account: SiteAccount) -> dict[str, npt.NDArray[np.float64]]:
    """Return the columns of a site's account that are shared among its runs, each of shape (T,)."""
    columns = {
        "load_kwh": account.load_kwh,
        "import_kwh": account.import_kwh,
        "onsite_kwh": account.onsite_kwh,
        "matched_kwh": account.matched_kwh,
        "cfe_kwh": account.cfe_kwh,
        "location_kg": account.location_kg,
        "market_kg": account.market_kg,
        "onsite_kg": account.onsite_kg,
    }
    return columns if account.marginal_kg is None else columns | {"marginal_kg": account.marginal_kg}


def shares(run_kwh: npt.NDArray[np.float64], site_kwh: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return each run's part of the site's IT energy per slot; 0 where the site has none.

    Args:
        run_kwh: IT energy per run and slot, kWh, shape (R, T).
        site_kwh: IT energy of the site per slot, kWh, shape (T,).

    Returns:
        Shares, shape (R, T).
    """
    rate = np.divide(1.0, site_kwh, out=np.zeros_like(site_kwh), where=site_kwh > 0.0)
    return np.asarray(run_kwh * rate)


def totals(
    share: npt.NDArray[np.float64], columns: Mapping[str, npt.NDArray[np.float64]]
) -> dict[str, npt.NDArray[np.float64]]:
    """Return each run's sum of every column over all slots.

    Args:
        share: Each run's part per slot, shape (R, T).
        columns: Name -> the site's figure per slot, shape (T,).

    Returns:
        Name -> sums per run in the column's unit, shape (R,).
    """
    sums = share @ np.array(list(columns.values())).T
    return dict(zip(columns, np.ascontiguousarray(sums.T), strict=True))
