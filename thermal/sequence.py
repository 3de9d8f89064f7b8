"""Who carries the heat, fans or chillers: the site's own order, or the split that takes the least power."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.components import chiller

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.coil import Coil
    from thermal.loop import LiquidLoop

GOLDEN = (5.0**0.5 - 1.0) / 2.0
GOLDEN_STEPS = 30  # shrinks the span of air flow by two million; power is flat there to rounding
TOO_MUCH = 1e6  # price of heat that stays unmet, above every price of carrying it


class Split(NamedTuple):
    """How the heat is carried, per kW of rated liquid heat; arrays of one shape.

    Args:
        air_flow: Air over full flow in the units that run.
        fan: Power of the coolers' or towers' fans.
        cooled: Heat taken by chillers.
        compressor: Power of the chillers.
        condenser_fan: Power of their condensers' fans.
        unmet: Heat that nobody carries at this temperature; the water warms until it is carried.
    """

    air_flow: npt.NDArray[np.float64]
    fan: npt.NDArray[np.float64]
    cooled: npt.NDArray[np.float64]
    compressor: npt.NDArray[np.float64]
    condenser_fan: npt.NDArray[np.float64]
    unmet: npt.NDArray[np.float64]


def fan_share(loop: LiquidLoop, air_flow: npt.NDArray[np.float64], running: float) -> npt.NDArray[np.float64]:
    """Return fan power over rated liquid heat for an air flow over full flow.

    Natural draught moves the share n of the air for nothing, so a fan that moves the share a works against the pressure
    a^2 less that of the draught: its power goes as a (a^2 - n^2), the cubic law with a start at zero.
    """
    natural = loop.rejection.natural_draught_share
    lifted = air_flow * (air_flow**2 - natural**2) / (1.0 - natural**2)
    return np.asarray(running * loop.full_fan_share * np.maximum(lifted, 0.0))


def fans_first(coil: Coil, heat: npt.NDArray[np.float64], cop: npt.NDArray[np.float64], chillers: float) -> Split:
    """Return the split of a site that calls chillers only when its fans run at full speed.

    Args:
        coil: The free cooling.
        heat: Heat to be carried over rated heat, shape (...).
        cop: The chillers' heat over power at full load, shape (...).
        chillers: Share of the chillers that may run.

    Returns:
        The split, each of shape (...).
    """
    loop, natural = coil.loop, coil.loop.rejection.natural_draught_share
    full = coil.carried(1.0)
    blown = heat > coil.carried(natural)
    short = blown & (heat > full)
    between = np.broadcast_to(blown & ~short, np.broadcast_shapes(blown.shape, heat.shape))
    air_flow = np.where(short, 1.0, natural) + np.zeros(between.shape)
    if between.any():
        air_flow[between] = coil.at(between).air_flow_for(np.broadcast_to(heat, between.shape)[between])
    rest = np.where(short, heat - full, 0.0)
    cooled = np.minimum(rest, loop.chiller.capacity_share * chillers)
    compressor = np.zeros_like(cooled)
    if loop.has_chiller:
        compressor = chiller.power(loop.chiller, cooled, cop, chillers)
    return Split(
        air_flow=air_flow,
        fan=fan_share(loop, air_flow, coil.running),
        cooled=cooled,
        compressor=compressor,
        condenser_fan=loop.chiller.condenser_fan_w_per_kw / 1000.0 * (cooled + compressor),
        unmet=rest - cooled,
    )


def least_power(coil: Coil, heat: npt.NDArray[np.float64], cop: npt.NDArray[np.float64], chillers: float) -> Split:
    """Return the split that takes the least power; arguments as for `fans_first`.

    For every number of chillers on, power over air flow is convex: the fans' share is, and what they carry saturates,
    so a golden section finds the least. The split without chillers is compared with these.
    """
    loop = coil.loop
    plain = fans_first(coil, heat, cop, chillers)
    on_most = round(loop.chiller.count * chillers)
    if on_most < 1:
        return plain
    # beyond all capacity there is no choice, nor where fans alone take less than the smallest load of one chiller
    least = chiller.power_of(loop.chiller, np.full_like(cop, 1e-9), cop, 1)
    open_ = (plain.unmet <= 0.0) & ((plain.cooled > 0.0) | (plain.fan > least))
    if not open_.any():
        return plain
    sub = coil.at(open_)
    need, cop_here = (np.broadcast_to(v, open_.shape)[open_] for v in (heat, cop))
    best = _taken(plain, open_)
    for on in range(1, on_most + 1):
        best = _better(best, _with_chillers(sub, need, cop_here, on))
    merged = []
    for whole, part in zip(plain, best, strict=True):
        values = np.array(np.broadcast_to(whole, open_.shape))
        values[open_] = part
        merged.append(values)
    return Split(*merged)


def _with_chillers(coil: Coil, heat: npt.NDArray[np.float64], cop: npt.NDArray[np.float64], on: int) -> Split:
    """Return the least power with `on` chillers running; what these and full fans cannot carry stays unmet."""
    loop, natural = coil.loop, coil.loop.rejection.natural_draught_share
    most = loop.chiller.capacity_share * on / loop.chiller.count
    full = coil.carried(1.0)
    unmet = np.maximum(heat - most - full, 0.0)
    # the chillers' capacity leaves this much to the air at least
    for_air = np.minimum(heat - most, full)
    low, high = np.full_like(heat, natural), np.ones_like(heat)
    blown = for_air > coil.carried(natural)
    if blown.any():
        low[blown] = coil.at(blown).air_flow_for(for_air[blown])
    least = low

    def split(air_flow: npt.NDArray[np.float64]) -> Split:
        cooled = np.clip(heat - coil.carried(air_flow), 0.0, most)
        compressor = chiller.power_of(loop.chiller, cooled, cop, on)
        condenser_fan = loop.chiller.condenser_fan_w_per_kw / 1000.0 * (cooled + compressor)
        return Split(air_flow, fan_share(loop, air_flow, coil.running), cooled, compressor, condenser_fan, unmet)

    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = _power(split(left)), _power(split(right))
    for _ in range(GOLDEN_STEPS):
        lower = at_left < at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        fresh = np.where(lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_fresh = _power(split(fresh))
        left, right = np.where(lower, fresh, right), np.where(lower, left, fresh)
        at_left, at_right = np.where(lower, at_fresh, at_right), np.where(lower, at_left, at_fresh)
    inner, most_air = split(0.5 * (low + high)), split(np.ones_like(heat))
    return _better(_better(split(least), inner), most_air)


def _power(split: Split) -> npt.NDArray[np.float64]:
    return split.fan + split.compressor + split.condenser_fan


def _better(one: Split, other: Split) -> Split:
    """Return, state by state, the split that carries all heat with the least power."""
    price_one, price_other = (_power(s) + TOO_MUCH * s.unmet for s in (one, other))
    return Split(*(np.where(price_other < price_one, b, a) for a, b in zip(one, other, strict=True)))


def _taken(split: Split, where: npt.NDArray[np.bool_]) -> Split:
    return Split(*(np.broadcast_to(v, where.shape)[where] for v in split))
