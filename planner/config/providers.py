"""Which provider gives which signals of a site."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.bundled import data_dir
from planner.config import model
from planner.config.faults import did_you_mean
from planner.config.lines import KeyPath
from planner.errors import ConfigError
from planner.sources.catalogue import FACTS
from planner.sources.chain import check_basis, shared_upstreams
from planner.sources.csv_file import CsvFile
from planner.sources.registry import PROVIDERS, SourceSpec, open_source

WIND = "wind_speed_100m"

GROUPS = {"carbon": ("carbon",), "price": ("price",), "weather": ("dry_bulb", "wet_bulb", "ghi", WIND)}
"""Signals that each table of [sources] gives."""

DEMO: Final = "demo"


@dataclass(frozen=True)
class Provider:
    """A provider of some signals.

    Args:
        spec: Its name and options.
        zone: Zone as it names it.
        zone_path: Key that names the zone.
        currency: Currency of the site, which a demo price must have.
        group: Key of GROUPS.
        signals: Signals it is asked for.
        basis: Basis of the carbon intensity that the site counts.
        place: Key path of its table.
        fallbacks: Providers that are asked in turn where it has nothing fresh.
    """

    spec: SourceSpec
    zone: str
    zone_path: KeyPath
    currency: str
    group: str
    signals: tuple[str, ...]
    basis: str
    place: KeyPath
    fallbacks: tuple[Provider, ...] = ()

    @property
    def chain(self) -> tuple[Provider, ...]:
        """The provider and its fallbacks, in the order in which they are asked."""
        return (self, *(one for fallback in self.fallbacks for one in fallback.chain))

    def warnings(self) -> tuple[str, ...]:
        """Return sentences about providers of the chain that fail together."""
        return tuple(
            f"Providers {' and '.join(names)} of {self.group} both stand on the data of {upstream}: they fail together."
            for upstream, names in shared_upstreams(tuple(one.spec.provider for one in self.chain))
        )

    def faults(self) -> list[tuple[KeyPath, str, str]]:
        """Return what the chain does not know or does not have: key path, what is wrong, what mends it."""
        return [fault for one in self.chain for fault in one.own_faults(fallback=one is not self)]

    def own_faults(self, *, fallback: bool) -> list[tuple[KeyPath, str, str]]:
        """Return the faults of this provider alone; a fallback must count carbon as the site does from the start."""
        name, here = self.spec.provider, self.place
        if self.group not in FACTS[name].gives:
            others = [p for p in PROVIDERS if self.group in FACTS[p].gives]
            what = f"{name} gives {', '.join(FACTS[name].gives) or FACTS[name].also}, not {self.group}"
            return [((*here, "provider"), what, f"name another provider: {', '.join(others)}")]
        try:
            source = open_source(self.spec, offline=True)
            if self.group == "carbon" and (fallback or name not in {"csv", DEMO}):
                check_basis(source, self.basis)
        except ConfigError as error:
            return [(here, error.what, error.fix or error.why)]
        path = self.spec.options.get("path")
        if isinstance(path, str) and not Path(path).is_file():
            return [((*here, "path"), f"there is no file {path}", "relative paths start from the site file's folder")]
        if isinstance(source, CsvFile):
            return [((*here, "columns"), *source.lacks(signal)) for signal in self.signals if not source.has(signal)]
        return self._demo_faults() if name == DEMO else []

    def _demo_faults(self) -> list[tuple[KeyPath, str, str]]:
        currencies = demo_currencies()
        if self.zone not in currencies:
            what = f"the demo has no zone {self.zone!r}"
            return [(self.zone_path, what, f"{did_you_mean(self.zone, currencies)} or name other [sources]")]
        own = currencies[self.zone]
        if self.group == "price" and own != self.currency:
            what = f"is {self.currency}, and prices of {self.zone} are in {own}"
            return [
                (("site", "currency"), what, f'set it to "{own}", give tariff.energy_per_kwh, or name [sources.price]')
            ]
        return []


def providers(
    sources: model.SourcesTable,
    place: model.SiteTable,
    basis: str,
    folder: Path,
    *,
    price_wanted: bool,
    sun_wanted: bool,
    wind_wanted: bool,
) -> dict[str, Provider]:
    """Return the provider of each group of signals; the demo where the file names none.

    Args:
        sources: The file's [sources].
        place: The file's [site].
        basis: Basis of the carbon intensity.
        folder: Folder that relative paths of data files start from.
        price_wanted: Whether a series of prices is needed.
        sun_wanted: Whether a series of sunshine is needed: only solar arrays ask for it.
        wind_wanted: Whether a series of wind speed is needed: only wind turbines ask for it.
    """
    made: dict[str, Provider] = {}
    for group, signals in GROUPS.items():
        table: model.ProviderTable | None = getattr(sources, group)
        if group == "price" and not price_wanted:
            continue
        unwanted = {signal for signal, asked in (("ghi", sun_wanted), (WIND, wind_wanted)) if not asked}
        wanted = tuple(signal for signal in signals if signal not in unwanted)
        own = table or model.ProviderTable(provider=DEMO)
        made[group] = _provider(own, ("sources", group), place, basis, folder, group, wanted)
    return made


def _provider(
    table: model.ProviderTable,
    here: KeyPath,
    place: model.SiteTable,
    basis: str,
    folder: Path,
    group: str,
    signals: tuple[str, ...],
) -> Provider:
    name = table.provider
    options: dict[str, Any] = dict(table.model_extra or {})
    if FACTS[name].based and group == "carbon":
        options.setdefault("basis", basis)
    if name == "csv" and isinstance(options.get("path"), str):
        options["path"] = str(folder / options["path"])
    if name == "open-meteo":
        options.setdefault("latitude", place.latitude)
        options.setdefault("longitude", place.longitude)
    return Provider(
        spec=SourceSpec(name, options),
        zone=table.zone or place.zone,
        zone_path=("site", "zone") if table.zone is None else (*here, "zone"),
        currency=place.currency,
        group=group,
        signals=signals,
        basis=basis,
        place=here,
        fallbacks=tuple(
            _provider(one, (*here, "fallback", i), place, basis, folder, group, signals)
            for i, one in enumerate(table.fallback)
        ),
    )


def demo_currencies() -> dict[str, str]:
    """Return the currency of each demo zone."""
    facts = tomllib.loads((data_dir() / "demo" / "demo.toml").read_text(encoding="utf-8"))
    return {zone["name"]: zone["currency"] for zone in facts["zone"]}
