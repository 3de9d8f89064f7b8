"""What stores heat in the loops, and what carries it when nothing is pumped or blown."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class LoopInertia:
    """The loops of one plant as heat stores, per kW of the liquid heat they are rated for.

    A volume of 1 L/kW is 1 m3/MW, a heat capacity of 1 J/K per kW is 1 kJ/K per MW. Grades: V read in the source or
    measured, S secondary source, K engineering knowledge.

    Args:
        rated_heat_kw: Liquid heat at rated IT power, kW.
        case_j_per_kw_per_k: Chips and lids, J/K per kW (K).
        plate_j_per_kw_per_k: Cold plates with the coolant in them, J/K per kW (K).
        solid_share: Share of the resistance between case and coolant, the coolant's own warming apart, that lies
            between case and plate (K).
        stagnant_w_per_kw_per_k: Conductance from plates to standing coolant, W/K per kW (K).
        rack_supply_l_per_kw: Rack loop from CDU to cold plates, L/kW (K).
        rack_return_l_per_kw: Rack loop from cold plates to CDU, L/kW (K).
        cdu_j_per_kw_per_k: The CDU's exchanger and what it holds, J/K per kW (K).
        facility_supply_l_per_kw: Facility loop from heat rejection to CDU, a buffer on that side included, L/kW (K).
        facility_return_l_per_kw: Facility loop from CDU to heat rejection, L/kW (K).
        cooler_j_per_kw_per_k: Metal of the heat rejection's coils, J/K per kW; their water counts with the loop (K).
        passive_w_per_kw_per_k: What heat rejection still gives to the ambient without fans, W/K per kW; a dry cooler's
            natural draught is some 10 W/K per kW, 0 counts on nothing (K).
        rack_coolant_kj_per_m3_per_k: Rack coolant, kJ/(m3 K); 25 % propylene glycol at 40 C (CoolProp, V).
        facility_coolant_kj_per_m3_per_k: Facility coolant, kJ/(m3 K); water near 35 C (V).

    Raises:
        ValueError: A value is not finite, is not above 0 (`passive_w_per_kw_per_k` may be 0), or `solid_share` is not
            below 1.
    """

    rated_heat_kw: float
    case_j_per_kw_per_k: float = 100.0
    plate_j_per_kw_per_k: float = 250.0
    solid_share: float = 0.5
    stagnant_w_per_kw_per_k: float = 1.25
    rack_supply_l_per_kw: float = 0.75
    rack_return_l_per_kw: float = 0.75
    cdu_j_per_kw_per_k: float = 150.0
    facility_supply_l_per_kw: float = 4.0
    facility_return_l_per_kw: float = 4.0
    cooler_j_per_kw_per_k: float = 500.0
    passive_w_per_kw_per_k: float = 0.0
    rack_coolant_kj_per_m3_per_k: float = 3.969 * 1009.9
    facility_coolant_kj_per_m3_per_k: float = 4.179 * 994.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and (value > 0.0 or (value == 0.0 and field.name.startswith("passive")))):
                raise ValueError(f"{field.name} is {value:g}; a finite value above 0 is wanted")
        if self.solid_share >= 1.0:
            raise ValueError(f"solid_share is {self.solid_share:g}; a share below 1 leaves the coolant's film its part")
