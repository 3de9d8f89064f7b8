"""Software carbon intensity of training: emissions per million useful tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from power.embodied import Embodied


@dataclass(frozen=True)
class CarbonIntensity:
    """Grams of CO2-equivalent per million useful tokens, with the range of the embodied part.

    Args:
        low_g_per_mtoken: With the low figure of embodied carbon.
        mid_g_per_mtoken: With the middle one.
        high_g_per_mtoken: With the high one.
    """

    low_g_per_mtoken: float
    mid_g_per_mtoken: float
    high_g_per_mtoken: float


def software_carbon_intensity(operational_kg: float, embodied: Embodied, tokens: float) -> CarbonIntensity | None:
    """Return (E x I + M) / R with a million useful tokens as R, or None where no token is made.

    Contracts and offsets lower nothing here: E x I is the location-based figure and what plants on site emit.

    Args:
        operational_kg: E x I, kgCO2e.
        embodied: M with its range.
        tokens: Useful tokens.

    Source:
        ISO/IEC 21031:2024.
    """
    if tokens <= 0.0:
        return None
    low, mid, high = (
        1e9 * (operational_kg + kg) / tokens for kg in (embodied.low_kg, embodied.mid_kg, embodied.high_kg)
    )
    return CarbonIntensity(low, mid, high)
