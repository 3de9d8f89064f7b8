"""The scale on which a signal is forecast: one on which its errors are about alike everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.forecast.history import MARGINAL


@dataclass(frozen=True)
class Scale:
    """A monotone way there and back.

    Args:
        width: Values well beyond it are squeezed (inverse hyperbolic sine); None leaves all as it is.
        lowest: Values back are never below it; None where any may be.
        highest: Values back are never above it; None where any may be.
    """

    width: float | None = None
    lowest: float | None = None
    highest: float | None = None

    def there(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return values on the scale, any shape."""
        return values if self.width is None else np.arcsinh(values / self.width)

    def back(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return values in their unit, any shape."""
        return self.within(values if self.width is None else np.sinh(values) * self.width)

    def within(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return values in their unit, none beyond what may be, any shape."""
        return values if self.lowest is None and self.highest is None else np.clip(values, self.lowest, self.highest)


_CARBON_WIDTH = 0.05  # of the median: a logarithm in all but the last grams, because errors grow with the level
_PRICE_WIDTH = 1.5  # median deviations
_WHOLE_SKY_PCT = 100.0


def scale_of(signal: str, known: npt.NDArray[np.float64]) -> Scale:
    """Return the scale of a signal.

    Args:
        signal: Name of the signal.
        known: Its values before the first forecast, shape (n,).

    Source:
        The inverse hyperbolic sine for prices with spikes and negative hours: Uniejewski, Weron and Ziel (2018).
    """
    middle = float(np.median(known))
    if signal == "price":
        spread = _PRICE_WIDTH * float(np.median(np.abs(known - middle)))
        return Scale(width=spread or None)
    if signal in {"carbon", MARGINAL}:
        return Scale(width=_CARBON_WIDTH * middle or None, lowest=0.0)
    if signal in {"dry_bulb", "wet_bulb"}:
        return Scale()
    return Scale(lowest=0.0, highest=_WHOLE_SKY_PCT if signal == "cloud_cover" else None)
