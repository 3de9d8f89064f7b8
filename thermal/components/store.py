"""A tank of chilled or warm water: heat rejection put off to a cooler or greener hour."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thermal.exchanger import exprel
from thermal.facts import number
from thermal.fluids import volume_heat_kj_per_m3_k


@dataclass(frozen=True)
class Store:
    """The tank, in the facility loop.

    Args:
        volume_m3: Volume, m3; 0: there is none.
        rise_k: Warm minus cold water, K.
        usable_share: Share of the volume above and below the mixing zone.
        daily_loss_share: Share of the cold that a full tank loses in a day.
        power_share: Heat into or out of the tank at most, over rated heat.
        pump_w_per_kw: Power of the tank's own pumps per heat into or out of it, W/kW.
        initial_share: Cold at the start of the horizon over what the full tank holds.
        final_share: Cold at its end, at least: the same share, or what a tank at rest would then hold if that is less.
    """

    volume_m3: float = number(0.0, "m3", 0.0, 1e6, "0: no tank")
    rise_k: float = number(10.0, "K", 2.0, 40.0, "rise of the facility loop")
    usable_share: float = number(0.9, "", 0.1, 1.0, "stratified tanks")
    daily_loss_share: float = number(0.02, "", 0.0, 0.99, "insulated tanks outdoors")
    power_share: float = number(0.3, "", 0.0, 2.0, "flow through the tank's diffusers")
    pump_w_per_kw: float = number(4.0, "W/kW", 0.0, 50.0, "100 kPa of diffusers and pipes, 10 K, 65 %")
    initial_share: float = number(0.5, "", 0.0, 1.0, "half full")
    final_share: float = number(0.5, "", 0.0, 1.0, "as at the start")


def capacity_kwh_th(store: Store, coolant: str, temp_c: float) -> float:
    """Return the heat that a cold tank takes up, kWh, for the loop's coolant near a temperature in deg C."""
    usable_m3 = store.volume_m3 * store.usable_share
    return usable_m3 * float(volume_heat_kj_per_m3_k(coolant, temp_c)) * store.rise_k / 3600.0


def kept_share(store: Store, hours: float) -> float:
    """Return the share of the cold that is left after some hours without use."""
    return math.exp(-_loss_per_h(store) * hours)


def cold_after_kwh_th(store: Store, cold_kwh_th: float, filled_kw_th: float, drawn_kw_th: float, hours: float) -> float:
    """Return the cold in the tank after a span of steady filling and drawing, kWh.

    Args:
        store: The tank.
        cold_kwh_th: Cold at the start, kWh: the heat it can still take up.
        filled_kw_th: Heat rejected beyond the racks' to fill it with cold, kW.
        drawn_kw_th: The racks' heat that goes into it, kW.
        hours: Length of the span, h.

    Returns:
        kWh; the exact solution with a loss in proportion to the cold. It is linear in cold, filling and drawing.
    """
    mean_h = hours * float(exprel(np.array(-_loss_per_h(store) * hours)))
    return kept_share(store, hours) * cold_kwh_th + mean_h * (filled_kw_th - drawn_kw_th)


def _loss_per_h(store: Store) -> float:
    return -math.log1p(-store.daily_loss_share) / 24.0
