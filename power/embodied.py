"""Embodied carbon of servers, spread over the hours for which a run reserves their GPUs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Embodied:
    """Embodied carbon with its range.

    Args:
        low_kg: With the low figure of making a server over the longest service life, kgCO2e.
        mid_kg: With the middle of both, kgCO2e.
        high_kg: With the high figure over the shortest service life, kgCO2e.
    """

    low_kg: float
    mid_kg: float
    high_kg: float

    def __add__(self, other: Embodied) -> Embodied:
        return Embodied(self.low_kg + other.low_kg, self.mid_kg + other.mid_kg, self.high_kg + other.high_kg)

    def __sub__(self, other: Embodied) -> Embodied:
        return Embodied(self.low_kg - other.low_kg, self.mid_kg - other.mid_kg, self.high_kg - other.high_kg)


@dataclass(frozen=True)
class Server:
    """What making a server emits, and how long it serves.

    Args:
        name: Such as "hgx-8gpu"; stands beside every figure with the version.
        version: Raised with every change of a value.
        gpus: GPUs in it.
        made: Emissions of making it, cradle to gate.
        low_life_h: Service life of the low case, h: the longest.
        mid_life_h: Service life of the middle case, h.
        high_life_h: Service life of the high case, h: the shortest.
        source: Where the figures come from.
    """

    name: str
    version: str
    gpus: int
    made: Embodied
    low_life_h: float
    mid_life_h: float
    high_life_h: float
    source: str

    @property
    def label(self) -> str:
        """Name and version in one word, such as "hgx-8gpu/1"."""
        return f"{self.name}/{self.version}"

    def embodied(self, gpu_hours: float) -> Embodied:
        """Return what reserving GPUs takes of the server's embodied carbon.

        Args:
            gpu_hours: GPUs times the hours for which they are reserved, whether they compute or wait.

        Source:
            ISO/IEC 21031:2024, M = TE x TS x RS: total embodied x share of time x share of resources.
        """
        part = gpu_hours / self.gpus
        return Embodied(
            low_kg=self.made.low_kg * part / self.low_life_h,
            mid_kg=self.made.mid_kg * part / self.mid_life_h,
            high_kg=self.made.high_kg * part / self.high_life_h,
        )
