"""Units that a file may declare, and the way from each to the one unit a signal has inside."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.errors import ConfigError
from planner.sources.options import did_you_mean

RELATIVE_HUMIDITY = "relative_humidity"
"""Not a signal of its own: a file's way to a wet bulb."""

KG_PER_LB = 0.45359237  # exact by definition (international yard and pound agreement, 1959)


@dataclass(frozen=True)
class Conversion:
    """A straight line from a declared unit to the inside unit: inside = scale x declared + offset.

    Args:
        scale: Inside units per declared unit.
        offset: Inside value of a declared zero.
        currency: ISO code for a price, "" otherwise.
    """

    scale: float
    offset: float = 0.0
    currency: str = ""


_TEMPERATURES = {
    "degC": Conversion(1.0),
    "degF": Conversion(5.0 / 9.0, -160.0 / 9.0),
    "K": Conversion(1.0, -273.15),
}
_POWERS = {"kW": Conversion(1.0), "MW": Conversion(1e3), "GW": Conversion(1e6)}
_SPEEDS = {
    "m/s": Conversion(1.0),
    "km/h": Conversion(1.0 / 3.6),
    "mph": Conversion(0.44704),
    "kn": Conversion(1852.0 / 3600.0),
}
_SHARES = {"%": Conversion(1.0), "fraction": Conversion(100.0)}
_CONVERSIONS = {
    "carbon": {
        "gCO2e/kWh": Conversion(1.0),
        "gCO2eq/kWh": Conversion(1.0),
        "gCO2/kWh": Conversion(1.0),
        "g/kWh": Conversion(1.0),
        "kg/MWh": Conversion(1.0),
        "kg/kWh": Conversion(1000.0),
        "t/MWh": Conversion(1000.0),
        "lb/MWh": Conversion(KG_PER_LB),
    },
    "dry_bulb": _TEMPERATURES,
    "wet_bulb": _TEMPERATURES,
    "ghi": {"W/m2": Conversion(1.0), "kW/m2": Conversion(1000.0)},
    "wind_speed_100m": _SPEEDS,
    "wind_speed_10m": _SPEEDS,
    "cloud_cover": _SHARES,
    **dict.fromkeys(("wind_generation", "solar_generation", "generation"), _POWERS),
    RELATIVE_HUMIDITY: _SHARES,
}
_PRICE = re.compile(r"([A-Z]{3})/(kWh|MWh)")


def known_units(signal: str) -> tuple[str, ...]:
    """Return the units that a signal may be declared in, the usual one first; for a price, with a currency in place."""
    return ("EUR/MWh", "EUR/kWh") if signal == "price" else tuple(_CONVERSIONS[signal])


def conversion(signal: str, unit: str) -> Conversion:
    """Return the way from a declared unit to the inside unit of a signal.

    Args:
        signal: Key of SIGNALS, or RELATIVE_HUMIDITY (percent inside).
        unit: Such as "lb/MWh", "EUR/MWh", "degF".

    Raises:
        ConfigError: The signal has no such unit.
    """
    if signal == "price":
        match = _PRICE.fullmatch(unit)
        if match is None:
            raise ConfigError(
                f"unit {unit!r} is none of price", fix="write the currency and the energy, such as EUR/MWh or USD/kWh"
            )
        return Conversion(1.0 if match[2] == "kWh" else 0.001, currency=match[1])
    known = _CONVERSIONS[signal]
    if unit not in known:
        raise ConfigError(
            f"unit {unit!r} is none of {signal}", fix=f"{did_you_mean(unit, known)}known are {', '.join(known)}"
        )
    return known[unit]
