"""What the grid and the weather do in a week: fetched, laid on its slots, labelled and traced to their source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner.band import Band
from planner.config.providers import GROUPS, providers
from planner.errors import ConfigError, DataUnavailable
from planner.extension import band_of, carry_on, doubts
from planner.far_past import far_past
from planner.sources.align import HISTORY, Aligned, align
from planner.sources.chain import Chain, Link
from planner.sources.issued import IssuedForecasts
from planner.sources.registry import open_source
from planner.sources.series import FILLED, PROFILE, STALE, SYNTHETIC
from planner.sources.solar_noon import check_noon
from planner.timegrid import TimeGrid, iso, zone
from planner.week import Provenance, Signals
from planner.yield_bands import physical, yield_bands

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.config.site import Site
    from planner.sources.cache import ResponseCache
    from planner.sources.series import Series

FIELDS = {
    "carbon": "ci_gco2_per_kwh",
    "price": "price_per_kwh",
    "dry_bulb": "dry_bulb_c",
    "wet_bulb": "wet_bulb_c",
    "ghi": "ghi_w_per_m2",
    "wind_speed_100m": "wind_speed_m_per_s",
}
"""Field of `Signals` that each signal fills."""

SPOKEN = {
    "carbon": "carbon",
    "price": "price",
    "dry_bulb": "dry bulb",
    "wet_bulb": "wet bulb",
    "ghi": "sunshine",
    "wind_speed_100m": "wind",
}
"""Each signal in a sentence."""

WEATHER_SIGNALS = GROUPS["weather"]

FLAT_PRICE = "flat price of the tariff"
"""Source of a price that the site file itself names."""


@dataclass(frozen=True)
class Gathered:
    """Signals with what is known about them.

    Args:
        signals: Values per slot.
        provenance: One entry per signal.
        labels: Sentences that every output must show.
        bands: What is not known of signals that were forecast here, and of the yield of the site's own sun and wind.
        others: The same of each further site, by its name; prices in the plan's currency.
    """

    signals: Signals
    provenance: tuple[Provenance, ...]
    labels: tuple[str, ...]
    bands: tuple[Band, ...] = ()
    others: Mapping[str, Gathered] = field(default_factory=dict)


def gather_signals(
    site: Site,
    grid: TimeGrid,
    *,
    now: datetime,
    offline: bool = False,
    cache: ResponseCache | None = None,
) -> Gathered:
    """Return what the grid and the weather do in each slot, as far as the site's sources know it.

    Args:
        site: The site.
        grid: The slots.
        now: The present instant.
        offline: Whether to keep off the network.
        cache: Answers kept from earlier.

    Raises:
        ConfigError: A source gives another basis or currency than the site asks for.
        DataUnavailable: A series cannot be had.
    """
    groups = _fetch(site, grid, now, offline=offline, cache=cache)
    # What nothing turns in or shines on is not asked for its errors: they would be shown nowhere.
    unsure = [signal for signal in FIELDS if signal not in WEATHER_SIGNALS or site.has_own_supply]
    far = far_past(groups, grid, site.history_days, SPOKEN, unsure=unsure)
    found = [
        replace(series, told=(*series.told, far.told[series.signal])) if series.signal in far.told else series
        for _, delivered in groups
        for series in delivered
    ]
    issued = None if cache is None else IssuedForecasts(cache.folder)
    carried = carry_on(found, far.series, grid, SPOKEN, issued)
    doubted = doubts([series for series in found if series.signal in unsure], far.series, grid, SPOKEN, issued)
    known = [
        (doubted[series.signal].series, doubted[series.signal]) if series.signal in doubted else (series, done)
        for series, done in carried
    ]
    fetched = _aligned(site, grid, [series for series, _ in known])
    bands = [
        band_of(FIELDS[series.signal], done, aligned.values, grid)
        for (series, aligned), (_, done) in zip(fetched, known, strict=True)
        if done is not None
    ]
    gathered = _gathered(site, grid, fetched, now)
    within = physical([band for band in bands if band is not None], gathered.signals)
    return replace(gathered, bands=(*within, *yield_bands(site, grid, gathered.signals, within)))


def actual_signals(
    site: Site,
    grid: TimeGrid,
    *,
    now: datetime,
    offline: bool = False,
    cache: ResponseCache | None = None,
) -> Gathered:
    """Return what the grid and the weather did in a week that is over.

    Reanalysis, the demo (which is synthetic) and a flat price count as having happened; forecasts and profiles do not,
    and nothing does before the week is over.

    Args:
        site: The site.
        grid: The slots.
        now: The present instant.
        offline: Whether to keep off the network.
        cache: Answers kept from earlier.

    Raises:
        DataUnavailable: The sources do not know the whole week as it was.
    """
    if now < grid.end:
        raise DataUnavailable(
            f"the week from {iso(grid.start)} is not over before {iso(grid.end)}, so nobody knows its actual series",
            why=f"it is {iso(now.replace(microsecond=0))}",
            fix="ask again then, or leave out --actual",
        )
    groups = _fetch(site, grid, now, offline=offline, cache=cache)
    fetched = _aligned(site, grid, [series for _, delivered in groups for series in delivered])
    for series, aligned in fetched:
        rows = series.rows[(series.rows.t_end > grid.start) & (series.rows.t_start < grid.end)]
        guessed = int((rows["kind"] == "forecast").sum())
        profile = dict(aligned.flags).get(PROFILE, 0)
        if guessed or profile:
            raise DataUnavailable(
                f"{series.signal} of {series.source} is not known as it was from {iso(grid.start)} to {iso(grid.end)}: "
                f"{guessed} rows are forecasts and {profile} of {grid.n_slots} slots are a profile",
                why="the source has not measured it, or not yet",
                fix='ask again later, or name a source of measured values in [sources] (a csv with kind = "actual")',
            )
    return _gathered(site, grid, fetched, now)


def _fetch(
    site: Site,
    grid: TimeGrid,
    now: datetime,
    *,
    offline: bool,
    cache: ResponseCache | None,
) -> list[tuple[Link, list[Series]]]:
    """Return the first source of each group of signals with each signal's series."""
    found: list[tuple[Link, list[Series]]] = []
    flat = site.flat_price_per_kwh is not None
    folder = Path(site.file).parent
    groups = providers(
        site.sources,
        site.place,
        site.carbon.basis,
        folder,
        price_wanted=not flat,
        sun_wanted=site.has_solar,
        wind_wanted=site.has_wind,
    )
    for provider in groups.values():
        links = tuple(
            Link(
                one.spec.provider,
                open_source(one.spec, cache=cache, offline=offline, clock=lambda: now),
                one.zone,
            )
            for one in provider.chain
        )
        delivered: list[Series] = []
        chain = Chain(links, lambda: now, site.carbon.basis, site.place.currency)
        for signal in provider.signals:
            series = chain.fetch(signal, grid.start - HISTORY, grid.end)
            _check_meaning(site, series)
            if signal == "ghi" and not series.rows["flags"].str.contains(SYNTHETIC).any():
                check_noon(series, site.place.longitude)
            delivered.append(series)
        found.append((links[0], delivered))
    return found


def _aligned(site: Site, grid: TimeGrid, found: list[Series]) -> list[tuple[Series, Aligned]]:
    return [(series, align(series, grid, zone(site.place.timezone))) for series in found]


def _gathered(site: Site, grid: TimeGrid, fetched: list[tuple[Series, Aligned]], now: datetime) -> Gathered:
    values = {series.signal: aligned.values for series, aligned in fetched}
    provenance = [_provenance(series, aligned) for series, aligned in fetched]
    labels = [*_labels(fetched, now), *_bridge_labels(fetched, grid), *_profile_labels(fetched, grid)]
    if site.flat_price_per_kwh is not None:
        values["price"] = np.full(grid.n_slots, site.flat_price_per_kwh)
        provenance.append(
            Provenance(
                signal=FIELDS["price"],
                source=FLAT_PRICE,
                unit=f"{site.place.currency}/kWh",
                basis="",
                licence="the site's own",
                issued_at=None,
                flags=(),
                sha256=series_digest(values["price"]),
            )
        )
    if not site.has_solar:
        values["ghi"] = np.zeros(grid.n_slots)  # nothing looks at it
    order = list(FIELDS.values())
    return Gathered(
        signals=Signals(
            ci_gco2_per_kwh=values["carbon"],
            ci_basis=site.carbon.basis,
            price_per_kwh=values["price"],
            dry_bulb_c=values["dry_bulb"],
            wet_bulb_c=np.minimum(values["wet_bulb"], values["dry_bulb"]),
            ghi_w_per_m2=values["ghi"],
            wind_speed_m_per_s=values.get("wind_speed_100m"),
        ),
        provenance=tuple(sorted(provenance, key=lambda p: order.index(p.signal))),
        labels=tuple(dict.fromkeys(labels)),
    )


def _check_meaning(site: Site, series: Series) -> None:
    if series.signal == "carbon" and series.basis != site.carbon.basis:
        raise ConfigError(
            f"{series.source} gives carbon intensity of basis {series.basis!r}; the site counts {site.carbon.basis!r}",
            why="bases differ by a fifth or more and are never mixed",
            fix=f'set carbon.basis = "{series.basis}" in {site.file}, or choose another carbon source',
        )
    if series.signal == "price" and not series.unit.startswith(f"{site.place.currency}/"):
        raise ConfigError(
            f"{series.source} gives prices in {series.unit}; the site's currency is {site.place.currency}",
            why="money is never converted silently",
            fix=f"set site.currency in {site.file}, or give prices in {site.place.currency}",
        )


def _provenance(series: Series, aligned: Aligned) -> Provenance:
    return Provenance(
        signal=FIELDS[series.signal],
        source=series.source,
        unit=series.unit,
        basis=series.basis,
        licence=series.licence,
        issued_at=series.issued_at,
        flags=aligned.flags,
        sha256=series_digest(aligned.values),
    )


def _labels(fetched: list[tuple[Series, Aligned]], now: datetime) -> list[str]:
    """Return what a reader of the plan must see about series that are made up or old."""
    told: list[str] = []
    for series, aligned in fetched:
        flags = dict(aligned.flags)
        told += series.told
        if SYNTHETIC in flags:
            told.append(f"Synthetic data: {series.source} is made up, not measured.")
        if STALE in flags and series.fetched_at is not None:
            age_h = (now - series.fetched_at) / timedelta(hours=1)
            told.append(f"Stale data: {series.signal} of {series.source} is the last good answer, {age_h:.1f} h old.")
    return told


def _bridge_labels(fetched: list[tuple[Series, Aligned]], grid: TimeGrid) -> list[str]:
    """Return one sentence for all signals in which short gaps are bridged alike."""
    alike: dict[tuple[int, str], list[str]] = {}
    for series, aligned in fetched:
        count = dict(aligned.flags).get(FILLED, 0)
        if count:
            alike.setdefault((count, series.source), []).append(SPOKEN[series.signal])
    return [
        f"Gaps bridged: {count} of {grid.n_slots} slots of {', '.join(signals)} touch gaps of up to 3 h in {source}, "
        "bridged by straight lines."
        for (count, source), signals in alike.items()
    ]


def _profile_labels(fetched: list[tuple[Series, Aligned]], grid: TimeGrid) -> list[str]:
    """Return one sentence for all signals that a profile fills alike."""
    alike: dict[tuple[int, str, str], list[str]] = {}
    for series, aligned in fetched:
        count = dict(aligned.flags).get(PROFILE, 0)
        since = "" if aligned.seam is None else f" from {iso(max(aligned.seam, grid.start))} on"
        if count:
            alike.setdefault((count, series.source, since), []).append(SPOKEN[series.signal])
    return [
        f"Filled by profile: {count} of {grid.n_slots} slots of {', '.join(signals)} are the 28-day hourly median of "
        f"{source}{since}, not a forecast."
        for (count, source, since), signals in alike.items()
    ]


def series_digest(values: npt.NDArray[np.float64]) -> str:
    """Return the SHA-256 of a series' values, shape (T,), as little-endian doubles, hexadecimal."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()
