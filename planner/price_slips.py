"""Whether the prices of contracts and agreements are per kWh, as the hours' prices show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from planner.config.site import Site

SLIP = 100.0
"""So many times the highest price of the week is no price per kWh: per MWh is 1000 times as much."""


def check_price_units(site: Site, price_per_kwh: npt.NDArray[np.float64]) -> None:
    """Refuse prices of contracts and agreements that are far beyond the prices of the week.

    Args:
        site: The site.
        price_per_kwh: Energy price per slot, money per kWh, shape (T,).

    Raises:
        ConfigError: A price is at least SLIP times the highest of the week.
    """
    highest = float(np.abs(price_per_kwh).max(initial=0.0))
    if highest <= 0.0:
        return
    far = [f"{name} {price:g}" for name, price in _named(site) if price >= SLIP * highest]
    if far:
        raise ConfigError(
            f"{', '.join(far)} beside hours at {highest:.3g} {site.prices.currency}/kWh at most: "
            "prices per kWh and per MWh are mixed up",
            fix="write all prices per kWh (71 per MWh are 0.071)",
        )


def _named(site: Site) -> Iterable[tuple[str, float]]:
    yield from ((f"price_per_kwh of contract {c.name!r}:", c.price_per_kwh) for c in site.contracts)
    yield from ((f"strike_per_kwh of agreement {p.name!r}:", p.strike_per_kwh) for p in site.ppas)
