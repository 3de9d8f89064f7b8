"""A number of the thermal report, with how it is known."""

from __future__ import annotations

from typing import NamedTuple

MEASURED, MODELLED, ASSUMED = "measured", "modelled", "assumed"


class Quantity(NamedTuple):
    """One number.

    Args:
        value: The number; None where there is none, as without liquid.
        unit: Its unit; "" for a ratio.
        tag: "measured", "modelled" (the physics at the given weather and load) or "assumed" (stands on values that
            nobody has measured here).
    """

    value: float | None
    unit: str
    tag: str = MODELLED
