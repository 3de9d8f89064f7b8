"""What is not known of a forecast signal in the slots of a week."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Band:
    """Quantiles and scenario paths of one signal; where its value is measured, all of them are that value.

    Args:
        signal: Field of `planner.week.Signals`; for the yield of a block's own sun or wind, in kW per kW installed, a
            name of `planner.yield_bands.name_of`.
        model: Name and version of the model.
        origin: First instant that was not measured, UTC.
        levels: Levels of the quantiles, rising.
        quantiles: In the signal's unit, shape (levels, T).
        paths: In the signal's unit, shape (N, T); path i belongs to path i of the week's other bands of this
            origin, as far as the past that stands behind both goes.
    """

    signal: str
    model: str
    origin: datetime
    levels: tuple[float, ...]
    quantiles: npt.NDArray[np.float64]
    paths: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        self.quantiles.setflags(write=False)
        self.paths.setflags(write=False)
