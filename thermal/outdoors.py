"""The outdoor air as a plant's heat rejection and condensers meet it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.components.dry_cooler import DryCooler, air_in_c

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.loop import LiquidLoop


class Outdoors(NamedTuple):
    """Weather at a plant; arrays of one shape.

    Args:
        dry_c: Dry bulb, deg C.
        wet_c: Wet bulb, deg C, at most the dry bulb.
        sink_c: What free cooling can reach at best, deg C: air behind the pad for coolers, the wet bulb for towers.
        condenser_c: Air at the chillers' condensers, deg C: dry bulb, or wet bulb beside towers.
    """

    dry_c: npt.NDArray[np.float64]
    wet_c: npt.NDArray[np.float64]
    sink_c: npt.NDArray[np.float64]
    condenser_c: npt.NDArray[np.float64]


def outdoors(loop: LiquidLoop, dry_bulb_c: npt.NDArray[np.float64], wet_bulb_c: npt.NDArray[np.float64]) -> Outdoors:
    """Return the outdoor air at a plant, for dry and wet bulb in deg C of one shape."""
    wet_c = np.minimum(wet_bulb_c, dry_bulb_c)
    if isinstance(loop.rejection, DryCooler):
        return Outdoors(dry_bulb_c, wet_c, air_in_c(loop.pad, dry_bulb_c, wet_c), dry_bulb_c)
    return Outdoors(dry_bulb_c, wet_c, wet_c, wet_c)
