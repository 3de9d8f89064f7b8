"""What a plan knows of what it does not know: weighted paths that the week may take, heat that it keeps clear of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from planner.week import Signals


@dataclass(frozen=True)
class Scenario:
    """One path that the week may take.

    Args:
        weight: Its chance; those of all paths add up to 1.
        signals: Grid and weather.
    """

    weight: float
    signals: Signals


@dataclass(frozen=True)
class Heat:
    """Weather that is hotter only with a small chance: the limits of cooling and of power hold in it too.

    Args:
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
    """

    dry_bulb_c: npt.NDArray[np.float64]
    wet_bulb_c: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        self.dry_bulb_c.setflags(write=False)
        self.wet_bulb_c.setflags(write=False)


@dataclass(frozen=True)
class Uncertainty:
    """What is not known of a week, as far as its plan depends on it.

    Args:
        scenarios: Weighted paths; none where the plan is made on the forecast alone.
        cvar_alpha: Share of paths, from the best on, that the mean of the worst leaves out.
        cvar_weight: Weight of the mean of the worst paths against that of all, for carbon and for lateness.
        heat: Weather that limits hold in, or None for that of the forecast alone.
    """

    scenarios: tuple[Scenario, ...] = ()
    cvar_alpha: float = 0.9
    cvar_weight: float = 0.0
    heat: Heat | None = None
