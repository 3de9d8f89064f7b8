"""How a site file has its plans made, as the planner takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.optimize import PlanOptions

if TYPE_CHECKING:
    from planner.config import Site


def site_options(site: Site, gap_target: float | None = None, time_limit_s: float | None = None) -> PlanOptions:
    """Return the options of a site's plans.

    Args:
        site: The site.
        gap_target: Certified gap to stop at, a share; the site file's where None.
        time_limit_s: Longest planning time, s; the site file's where None.

    Raises:
        ConfigError: A number is out of reach.
    """
    table = site.plan
    return PlanOptions(
        gap_target=table.gap_target if gap_target is None else gap_target,
        time_limit_s=table.time_limit_s if time_limit_s is None else time_limit_s,
        method=table.method,
        windows_h=table.windows_h or 0.0,
    )
