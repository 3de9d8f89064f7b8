"""What is known of a week whose first slots have passed: what they were planned by, and what is new from then on.

A new forecast of carbon intensity errs by itself: of what it changes in the one before, only a part comes true. So the
one that the plan in force was made on keeps some weight (Bates and Granger 1969). Prices and weather are taken as the
newest source has them: prices may be settled by then, and limits must hold in the weather that is known best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.outlook import Gathered, series_digest

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.band import Band
    from planner.uncertainty import Uncertainty
    from planner.week import Block, Provenance, Signals, Week

    Floats = npt.NDArray[np.float64]


def known_until(before: Week, fresh: Week, slot: int, fresh_share: float = 1.0) -> Week:
    """Return a week that before a slot holds what an earlier plan knew, and from it on what is known now.

    What was done by an earlier forecast was possible by that forecast: by weather that then came hotter it may not be.

    Args:
        before: The week by which the slots before were planned.
        fresh: The week as it is known now.
        slot: First slot that may still be planned.
        fresh_share: Weight of the new forecast of carbon intensity against the earlier one.
    """
    signals = _signals(before.signals, fresh.signals, slot, fresh_share)
    moved = signals.ci_gco2_per_kwh - fresh.signals.ci_gco2_per_kwh
    return replace(
        fresh,
        signals=signals,
        blocks=tuple(_block(a, b, slot) for a, b in zip(before.blocks, fresh.blocks, strict=True)),
        uncertainty=None if fresh.uncertainty is None else _uncertainty(signals, fresh.uncertainty, slot, moved),
    )


def series_until(before: Week, fresh: Week, slot: int, fresh_share: float = 1.0) -> Gathered:
    """Return the series of such a week, with the digests of what they are now: a week is gathered from them again.

    Nothing is unknown of slots that have passed: bands and paths are what was planned by.

    Args:
        before: The week by which the slots before were planned.
        fresh: The week as it is known now, of the same sites.
        slot: First slot that may still be planned.
        fresh_share: Weight of the new forecast of carbon intensity against the earlier one.
    """
    signals = _signals(before.signals, fresh.signals, slot, fresh_share)
    were = {other.name: other for other in before.others}
    others = {}
    for other in fresh.others:
        joined = _signals(were[other.name].signals, other.signals, slot, fresh_share)
        others[other.name] = Gathered(joined, _digested(other.provenance, joined), ())
    bands = tuple(_band(band, signals, fresh.signals, slot) for band in fresh.bands)
    labels = fresh.labels if fresh_share == 1.0 else tuple(dict.fromkeys((*fresh.labels, told_share(fresh_share))))
    return Gathered(signals, _digested(fresh.provenance, signals), labels, bands, others)


def told_share(fresh_share: float) -> str:
    """Return in a sentence what a plan that goes on takes carbon intensity to be."""
    return (
        f"Carbon intensity ahead: {fresh_share:.0%} of the newest forecast and {1.0 - fresh_share:.0%} of the one that "
        "the plan in force was made on."
    )


def _digested(entries: tuple[Provenance, ...], signals: Signals) -> tuple[Provenance, ...]:
    return tuple(replace(entry, sha256=series_digest(getattr(signals, entry.signal))) for entry in entries)


def _band(band: Band, signals: Signals, fresh: Signals, slot: int) -> Band:
    now, newest = getattr(signals, band.signal, None), getattr(fresh, band.signal, None)
    if now is None or newest is None:
        return band
    quantiles, paths = (_around(values, now, newest, slot) for values in (band.quantiles, band.paths))
    return replace(band, quantiles=quantiles, paths=paths)


def _around(values: Floats, now: Floats, newest: Floats, slot: int) -> Floats:
    """Return values around the newest forecast as they lie around what is made of it; what has passed is known."""
    found = values + (now - newest)
    # only carbon intensity is ever made of two forecasts, and that is not below zero
    found = np.where(now == newest, values, np.maximum(found, 0.0))
    found[:, :slot] = now[:slot]
    return found


def _signals(before: Signals, fresh: Signals, slot: int, fresh_share: float = 1.0) -> Signals:
    wind = before.wind_speed_m_per_s, fresh.wind_speed_m_per_s
    ci = fresh.ci_gco2_per_kwh
    if fresh_share < 1.0:
        ci = fresh_share * ci + (1.0 - fresh_share) * before.ci_gco2_per_kwh
    return replace(
        fresh,
        ci_gco2_per_kwh=_joined(before.ci_gco2_per_kwh, ci, slot),
        price_per_kwh=_joined(before.price_per_kwh, fresh.price_per_kwh, slot),
        dry_bulb_c=_joined(before.dry_bulb_c, fresh.dry_bulb_c, slot),
        wet_bulb_c=_joined(before.wet_bulb_c, fresh.wet_bulb_c, slot),
        ghi_w_per_m2=_joined(before.ghi_w_per_m2, fresh.ghi_w_per_m2, slot),
        wind_speed_m_per_s=None if wind[0] is None or wind[1] is None else _joined(wind[0], wind[1], slot),
    )


def _joined(before: Floats, fresh: Floats, slot: int) -> Floats:
    return np.concatenate([before[:slot], fresh[slot:]])


def _block(before: Block, fresh: Block, slot: int) -> Block:
    powered = np.concatenate([before.idle_powered[:slot], fresh.idle_powered[slot:]])
    powered.setflags(write=False)
    return replace(fresh, idle_powered=powered)


def _uncertainty(signals: Signals, fresh: Uncertainty, slot: int, moved: Floats) -> Uncertainty:
    """Return what is not known, of which nothing lies before the slot; paths lie around the carbon intensity ahead."""
    heat = fresh.heat
    if heat is not None:
        heat = replace(
            heat,
            dry_bulb_c=_joined(signals.dry_bulb_c, heat.dry_bulb_c, slot),
            wet_bulb_c=_joined(signals.wet_bulb_c, heat.wet_bulb_c, slot),
        )
    paths = []
    for one in fresh.scenarios:
        ahead = replace(one.signals, ci_gco2_per_kwh=np.maximum(one.signals.ci_gco2_per_kwh + moved, 0.0))
        paths.append(replace(one, signals=_signals(signals, ahead, slot)))
    return replace(fresh, scenarios=tuple(paths), heat=heat)
