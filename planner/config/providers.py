"""Which provider gives which signals of a site."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.bundled import data_dir
from planner.config import model
from planner.config.faults import did_you_mean
from planner.config.lines import KeyPath
from planner.errors import ConfigError
from planner.sources.csv_file import CsvFile
from planner.sources.registry import PROVIDERS, SourceSpec, open_source

WIND = "wind_speed_100m"

GROUPS = {"carbon": ("carbon",), "price": ("price",), "weather": ("dry_bulb", "wet_bulb", "ghi", WIND)}
"""Signals that each table of [sources] gives."""

GIVES = {"uk-carbon-intensity": ("carbon",), "open-meteo": ("weather",)}
"""Groups that a provider gives, where it does not give all."""

DEMO = "demo"


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
    """

    spec: SourceSpec
    zone: str
    zone_path: KeyPath
    currency: str
    group: str
    signals: tuple[str, ...]

    def faults(self) -> list[tuple[KeyPath, str, str]]:
        """Return what the provider does not know or does not have: key path, what is wrong, what mends it."""
        name, here = self.spec.provider, ("sources", self.group)
        if self.group not in GIVES.get(name, GROUPS):
            others = [p for p in PROVIDERS if self.group in GIVES.get(p, GROUPS)]
            what = f"{name} gives {', '.join(GIVES[name])}, not {self.group}"
            return [((*here, "provider"), what, f"name another provider: {', '.join(others)}")]
        try:
            source = open_source(self.spec, offline=True)
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
        name = DEMO if table is None else table.provider
        options: dict[str, Any] = {} if table is None else dict(table.model_extra or {})
        if name == DEMO and group == "carbon":
            options.setdefault("basis", basis)
        if name == "csv" and isinstance(options.get("path"), str):
            options["path"] = str(folder / options["path"])
        if name == "open-meteo":
            options.setdefault("latitude", place.latitude)
            options.setdefault("longitude", place.longitude)
        own_zone = table.zone if table is not None else None
        zone_path = ("site", "zone") if own_zone is None else ("sources", group, "zone")
        unwanted = {signal for signal, asked in (("ghi", sun_wanted), (WIND, wind_wanted)) if not asked}
        wanted = tuple(signal for signal in signals if signal not in unwanted)
        made[group] = Provider(
            SourceSpec(name, options), own_zone or place.zone, zone_path, place.currency, group, wanted
        )
    return made


def demo_currencies() -> dict[str, str]:
    """Return the currency of each demo zone."""
    facts = tomllib.loads((data_dir() / "demo" / "demo.toml").read_text(encoding="utf-8"))
    return {zone["name"]: zone["currency"] for zone in facts["zone"]}
