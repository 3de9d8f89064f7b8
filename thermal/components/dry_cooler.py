"""Dry coolers, and the adiabatic pads that may stand before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.exchanger import closing_ua_per_k
from thermal.facts import number

if TYPE_CHECKING:
    import numpy.typing as npt

AIR_EXPONENT = 0.8  # film coefficient over air flow (LBNL Modelica Buildings library)
WATER_EXPONENT = 0.85  # film coefficient over water flow (same)
LATENT_KJ_PER_KG = 2430.0  # of water near 30 C
LEAST_FLOW = 1e-3  # as in `thermal.components.cdu`


@dataclass(frozen=True)
class DryCooler:
    """All dry coolers, alike and in parallel.

    Args:
        approach_k: Facility supply minus outdoor air at design heat and full fans, K.
        air_ratio: Capacity rate of the air over that of the water at design.
        water_resistance_share: Water film's share of the thermal resistance at design.
        fan_w_per_kw: Fan power at full speed, W per kW of rated heat.
        natural_draught_share: Air flow with fans off, share of full flow.
        count: Number of units.
    """

    approach_k: float = number(6.0, "K", 1.0, 30.0, "dry coolers for warm water")
    air_ratio: float = number(1.15, "", 0.3, 3.0, "dry coolers for warm water")
    water_resistance_share: float = number(1.0 / 3.0, "", 0.0, 0.9, "finned coils: most resistance on the air side")
    fan_w_per_kw: float = number(35.0, "W/kW", 0.0, 200.0, "25 to 50: LBNL Modelica Buildings library")
    natural_draught_share: float = number(0.10, "", 0.01, 0.5, "0.10 to 0.125: LBNL Modelica Buildings library")
    count: int = number(8, "", 1, 10_000, "units of 2 to 3 MW in a 20 MW block")

    def closing_ua_per_k(self, heat: float, water_rate_per_k: float) -> float:
        """Return the conductance that closes the design point, per kW of rated heat.

        Args:
            heat: Design heat over rated heat.
            water_rate_per_k: Capacity rate of the water at design, per kW of rated heat.

        Raises:
            ValueError: Air at `air_ratio` warms too much to bring the water this near to it.
        """
        return closing_ua_per_k(heat, self.approach_k, water_rate_per_k, self.air_ratio * water_rate_per_k)

    def air_rate_per_k(self, heat: float, water_rate_per_k: float) -> float:  # noqa: ARG002 - as `Tower` has it
        """Return the capacity rate of the air at full fans, per kW of rated heat."""
        return self.air_ratio * water_rate_per_k

    def ua_ratio(self, flow: npt.NDArray[np.float64], air_flow: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the conductance over that at design, for water and air flow over those at design, shape (...)."""
        water = self.water_resistance_share
        film = np.maximum(flow, LEAST_FLOW) ** -WATER_EXPONENT
        return np.asarray(1.0 / ((1.0 - water) * air_flow**-AIR_EXPONENT + water * film))

    def stretch(
        self,
        heat: float,  # noqa: ARG002 - as `Tower` has it
        water_rate_per_k: float,  # noqa: ARG002
        inlet_c: npt.NDArray[np.float64],
        sink_c: npt.NDArray[np.float64],  # noqa: ARG002
    ) -> npt.NDArray[np.float64]:
        """Return what air carries per kelvin over that at design: 1, for dry air."""
        return np.ones_like(inlet_c)


@dataclass(frozen=True)
class Pad:
    """Adiabatic pads before dry coolers.

    Args:
        effectiveness: The air's way from dry bulb to wet bulb, 0 (no pad) to 1.
        from_c: Dry bulb above which the pad is wetted, deg C.
        fan_share: Extra fan power for the pad's resistance, where there is one.
        cycles_of_concentration: Pad water over bleed water.
    """

    effectiveness: float = number(0.0, "", 0.0, 1.0, "0: no pad; 0.75 is usual")
    from_c: float = number(25.0, "C", 0.0, 50.0, "wetted on warm days only")
    fan_share: float = number(0.08, "", 0.0, 1.0, "pressure drop of a pad beside that of the coil")
    cycles_of_concentration: float = number(4.0, "", 1.1, 20.0, "usual for pads and towers")


def air_in_c(
    pad: Pad, dry_bulb_c: npt.NDArray[np.float64], wet_bulb_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the air temperature before the coil, deg C: the dry bulb, or nearer the wet bulb behind a wetted pad.

    A wet bulb above the dry bulb is read as saturated air.
    """
    depression_k = np.maximum(dry_bulb_c - wet_bulb_c, 0.0)
    return np.where(dry_bulb_c > pad.from_c, dry_bulb_c - pad.effectiveness * depression_k, dry_bulb_c)


def pad_water_l_per_kwh(
    pad: Pad, air_rate_per_k: npt.NDArray[np.float64], drop_k: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return what a pad takes, evaporation and bleed, L per hour and kW of rated heat.

    Args:
        pad: The pad.
        air_rate_per_k: Capacity rate of the air, per kW of rated heat, shape (...).
        drop_k: Dry bulb minus air behind the pad, K, shape (...).

    Returns:
        L/h per kW, shape (...).
    """
    evaporated = air_rate_per_k * drop_k / LATENT_KJ_PER_KG * 3600.0
    return np.asarray(evaporated / (1.0 - 1.0 / pad.cycles_of_concentration))
