"""Wet cooling towers by effectiveness-NTU with the heat capacity of saturated air, after Merkel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.exchanger import closing_ua_per_k
from thermal.facts import number
from thermal.psychro import (
    humidity_ratio,
    saturated_enthalpy_kj_per_kg,
    saturated_ratio,
    saturated_temp_c,
)

if TYPE_CHECKING:
    import numpy.typing as npt

WATER_KJ_PER_KG_K = 4.18
AIR_EXPONENT = 0.6  # transfer in the fill over air flow (Braun et al. 1989)
WATER_EXPONENT = 0.4  # over water flow (same)
HOTTEST_C = 85.0  # above, saturated air is steam rather than air; towers never see it
LEAST_SPAN_K = 1e-3  # below it, the mean slope of the saturation curve is that of this span
LEAST_FLOW = 1e-3  # as in `thermal.components.cdu`


@dataclass(frozen=True)
class Tower:
    """All tower cells, alike and in parallel.

    Args:
        approach_k: Facility supply minus wet bulb at design heat and full fans, K.
        design_wet_bulb_c: Wet bulb of the design point, deg C.
        water_air_ratio: Mass flow of water over that of air at design.
        fan_w_per_kw: Fan power at full speed, W per kW of rated heat.
        natural_draught_share: Air flow with fans off, share of full flow.
        cycles_of_concentration: Minerals in the bleed over those in the make-up water.
        count: Number of cells.
    """

    approach_k: float = number(4.0, "K", 1.0, 20.0, "usual design approach of counter-flow towers")
    design_wet_bulb_c: float = number(25.6, "C", 5.0, 32.0, "78 F, the usual rating point")
    water_air_ratio: float = number(1.2, "", 0.4, 3.0, "usual for counter-flow fill")
    fan_w_per_kw: float = number(8.0, "W/kW", 0.0, 100.0, "axial fans of counter-flow towers")
    natural_draught_share: float = number(0.10, "", 0.01, 0.5, "0.10 to 0.125: LBNL Modelica Buildings library")
    cycles_of_concentration: float = number(4.0, "", 1.1, 20.0, "usual for pads and towers")
    count: int = number(8, "", 1, 10_000, "cells of 2 to 3 MW in a 20 MW block")

    def closing_ua_per_k(self, heat: float, water_rate_per_k: float) -> float:
        """Return the conductance that closes the design point, per kW of rated heat.

        Args:
            heat: Design heat over rated heat.
            water_rate_per_k: Capacity rate of the water at design, per kW of rated heat.

        Raises:
            ValueError: Air at `water_air_ratio` saturates too early to bring the water this near to the wet bulb.
        """
        air = self.air_rate_per_k(heat, water_rate_per_k)
        return closing_ua_per_k(heat, self.approach_k, water_rate_per_k, air)

    def air_rate_per_k(self, heat: float, water_rate_per_k: float) -> float:
        """Return what the air takes up per kelvin of the water at full fans in the design point, per kW."""
        inlet_c = self.design_wet_bulb_c + self.approach_k + heat / water_rate_per_k
        per_kg = _slope_kj_per_kg_k(np.array(inlet_c), np.array(self.design_wet_bulb_c))
        return self.air_kg_per_s(water_rate_per_k) * float(per_kg)

    def air_kg_per_s(self, water_rate_per_k: float) -> float:
        """Return the air flow at full fans, kg/s per kW of rated heat."""
        return water_rate_per_k / WATER_KJ_PER_KG_K / self.water_air_ratio

    def ua_ratio(self, flow: npt.NDArray[np.float64], air_flow: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the conductance over that at design, for water and air flow over those at design, shape (...)."""
        return np.asarray(air_flow**AIR_EXPONENT * np.maximum(flow, LEAST_FLOW) ** WATER_EXPONENT)

    def stretch(
        self,
        heat: float,
        water_rate_per_k: float,
        inlet_c: npt.NDArray[np.float64],
        sink_c: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """Return what air takes up per kelvin between wet bulb and entering water, over that at design.

        Args:
            heat: Design heat over rated heat.
            water_rate_per_k: Capacity rate of the water at design, per kW of rated heat.
            inlet_c: Water into the tower, deg C, shape (...).
            sink_c: Wet bulb, deg C, shape (...).

        Returns:
            Ratio, shape (...).
        """
        design_c = self.design_wet_bulb_c + self.approach_k + heat / water_rate_per_k
        design = _slope_kj_per_kg_k(np.array(design_c), np.array(self.design_wet_bulb_c))
        return np.asarray(_slope_kj_per_kg_k(inlet_c, sink_c) / design)

    def water_l_per_kwh(
        self,
        heat: npt.NDArray[np.float64],
        air_kg_per_s: npt.NDArray[np.float64],
        dry_bulb_c: npt.NDArray[np.float64],
        wet_bulb_c: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """Return make-up water: evaporation from the balance of the air, and the bleed that goes with it.

        Args:
            heat: Heat given to the air over rated heat, shape (...).
            air_kg_per_s: Air flow, kg/s per kW of rated heat, above 0, shape (...).
            dry_bulb_c: Outdoor dry bulb, deg C, shape (...).
            wet_bulb_c: Outdoor wet bulb, deg C, at most the dry bulb, shape (...).

        Returns:
            L per hour and kW of rated heat, shape (...).

        Source:
            Air leaves saturated (Merkel's assumption); wet bulb and dry bulb give what it brought along.
        """
        entering = saturated_enthalpy_kj_per_kg(wet_bulb_c)
        leaving_c = saturated_temp_c(entering + heat / air_kg_per_s)
        gained = saturated_ratio(leaving_c) - humidity_ratio(dry_bulb_c, wet_bulb_c)
        evaporated = np.where(heat > 0.0, np.maximum(gained, 0.0), 0.0) * air_kg_per_s * 3600.0
        return np.asarray(evaporated / (1.0 - 1.0 / self.cycles_of_concentration))


def _slope_kj_per_kg_k(inlet_c: npt.NDArray[np.float64], sink_c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    low = np.minimum(sink_c, HOTTEST_C - LEAST_SPAN_K)
    high = np.clip(inlet_c, low + LEAST_SPAN_K, HOTTEST_C)
    return np.asarray((saturated_enthalpy_kj_per_kg(high) - saturated_enthalpy_kj_per_kg(low)) / (high - low))
