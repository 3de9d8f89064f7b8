"""What a block's tank, heat pumps and buyer of heat must be to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.config import model
    from planner.config.draft import Placed
    from thermal.plant import CoolingPlant

_BEFORE = {"store_": "store_volume_m3", "heat_pump_": "heat_pump_capacity_share"}
"""What stands before the settings of a tank and of heat pumps -> the setting that says whether there are any."""


def check_heat(placed: Placed[model.BlockTable], plant: CoolingPlant) -> None:
    """Note settings of what is not there, heat pumps without a buyer and a buyer without heat pumps."""
    cooling, heat = placed.table.cooling, placed.table.heat
    told = cooling.model_extra or {}
    loop = plant.loop
    there = {} if loop is None else {"store_": loop.store.volume_m3, "heat_pump_": loop.heat_pump.capacity_share}
    for before, size in there.items():
        idle = [key for key in told if key.startswith(before) and key != _BEFORE[before]]
        if idle and size == 0.0:
            placed.fault(
                ("cooling", idle[0]),
                f"would do nothing: {_BEFORE[before]} is 0",
                f"set {_BEFORE[before]} above 0, or leave {idle[0]} out",
            )
    pumps = there.get("heat_pump_", 0.0)
    if heat is None:
        if pumps and placed.sound("heat"):
            placed.fault(
                ("cooling", "heat_pump_capacity_share"),
                "is above 0, but nobody buys the heat",
                "add [block.heat] with price_per_kwh and demand_kw, or leave it out",
            )
        return
    if not pumps or loop is None:
        placed.fault(
            ("heat",),
            "the block has no heat pumps whose heat could be bought",
            "set heat_pump_capacity_share in [block.cooling] of a plant with a liquid loop, or leave [block.heat] out",
        )
    elif heat.supply_c is not None and heat.supply_c > loop.heat_pump.supply_c:
        placed.fault(
            ("heat", "supply_c"),
            f"the buyer asks for {heat.supply_c:g} C, but the heat pumps give {loop.heat_pump.supply_c:g} C",
            f"set heat_pump_supply_c to at least {heat.supply_c:g} in [block.cooling]",
        )
