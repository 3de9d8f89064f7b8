"""The lump that a loop is to whoever reckons by hand."""

from __future__ import annotations

from thermal.transient import LoopInertia


def loop_kj_per_k(loop: LoopInertia) -> float:
    """Heat capacity of all that warms when heat rejection is lost, kJ/K."""
    rack_kj = (loop.rack_supply_l_per_kw + loop.rack_return_l_per_kw) * loop.rack_coolant_kj_per_m3_per_k
    facility_l = loop.facility_supply_l_per_kw + loop.facility_return_l_per_kw
    facility_kj = facility_l * loop.facility_coolant_kj_per_m3_per_k
    solid_j = (
        loop.case_j_per_kw_per_k + loop.plate_j_per_kw_per_k + loop.cdu_j_per_kw_per_k + loop.cooler_j_per_kw_per_k
    )
    return loop.rated_heat_kw * (rack_kj + facility_kj + solid_j) / 1000.0
