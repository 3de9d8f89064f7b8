"""What is known of a week whose first slots have passed: what they were planned by, and what is new from then on."""

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


def known_until(before: Week, fresh: Week, slot: int) -> Week:
    """Return a week that before a slot holds what an earlier plan knew, and from it on what is known now.

    What was done by an earlier forecast was possible by that forecast: by weather that then came hotter it may not be.

    Args:
        before: The week by which the slots before were planned.
        fresh: The week as it is known now.
        slot: First slot that may still be planned.
    """
    signals = _signals(before.signals, fresh.signals, slot)
    return replace(
        fresh,
        signals=signals,
        blocks=tuple(_block(a, b, slot) for a, b in zip(before.blocks, fresh.blocks, strict=True)),
        uncertainty=None if fresh.uncertainty is None else _uncertainty(signals, fresh.uncertainty, slot),
    )


def series_until(before: Week, fresh: Week, slot: int) -> Gathered:
    """Return the series of such a week, with the digests of what they are now: a week is gathered from them again.

    Nothing is unknown of slots that have passed: bands and paths are what was planned by.

    Args:
        before: The week by which the slots before were planned.
        fresh: The week as it is known now, of the same sites.
        slot: First slot that may still be planned.
    """
    signals = _signals(before.signals, fresh.signals, slot)
    were = {other.name: other for other in before.others}
    others = {}
    for other in fresh.others:
        joined = _signals(were[other.name].signals, other.signals, slot)
        others[other.name] = Gathered(joined, _digested(other.provenance, joined), ())
    bands = tuple(_band(band, signals, slot) for band in fresh.bands)
    return Gathered(signals, _digested(fresh.provenance, signals), fresh.labels, bands, others)


def _digested(entries: tuple[Provenance, ...], signals: Signals) -> tuple[Provenance, ...]:
    return tuple(replace(entry, sha256=series_digest(getattr(signals, entry.signal))) for entry in entries)


def _band(band: Band, signals: Signals, slot: int) -> Band:
    came = getattr(signals, band.signal, None)
    if came is None:
        return band
    quantiles, paths = band.quantiles.copy(), band.paths.copy()
    quantiles[:, :slot], paths[:, :slot] = came[:slot], came[:slot]
    return replace(band, quantiles=quantiles, paths=paths)


def _signals(before: Signals, fresh: Signals, slot: int) -> Signals:
    wind = before.wind_speed_m_per_s, fresh.wind_speed_m_per_s
    return replace(
        fresh,
        ci_gco2_per_kwh=_joined(before.ci_gco2_per_kwh, fresh.ci_gco2_per_kwh, slot),
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


def _uncertainty(signals: Signals, fresh: Uncertainty, slot: int) -> Uncertainty:
    """Return what is not known, of which nothing lies before the slot."""
    heat = fresh.heat
    if heat is not None:
        heat = replace(
            heat,
            dry_bulb_c=_joined(signals.dry_bulb_c, heat.dry_bulb_c, slot),
            wet_bulb_c=_joined(signals.wet_bulb_c, heat.wet_bulb_c, slot),
        )
    paths = tuple(replace(one, signals=_signals(signals, one.signals, slot)) for one in fresh.scenarios)
    return replace(fresh, scenarios=paths, heat=heat)
