"""Which provider gives which signals of a site."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.bundled import data_dir
from planner.config import model
from planner.config.faults import did_you_mean
from planner.errors import ConfigError
from planner.sources.registry import PROVIDERS, SourceSpec, open_source

GROUPS = {"carbon": ("carbon",), "price": ("price",), "weather": ("dry_bulb", "wet_bulb", "ghi")}
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
        currency: Currency of the site, which a demo price must have.
        group: Key of GROUPS.
    """

    spec: SourceSpec
    zone: str
    currency: str
    group: str

    @property
    def signals(self) -> tuple[str, ...]:
        """Signals it is asked for."""
        return GROUPS[self.group]

    def check(self) -> None:
        """Refuse options that the provider does not know, and what the demo lacks.

        Raises:
            ConfigError: Something is wrong.
        """
        name = self.spec.provider
        if self.group not in GIVES.get(name, GROUPS):
            raise ConfigError(
                f"{name} gives {', '.join(GIVES[name])}, not {self.group}",
                fix="name another provider: " + ", ".join(p for p in PROVIDERS if self.group in GIVES.get(p, GROUPS)),
            )
        open_source(self.spec, offline=True)
        if name == DEMO:
            self._check_demo()
        path = self.spec.options.get("path")
        if isinstance(path, str) and not Path(path).is_file():
            raise ConfigError(f"there is no file {path}", fix="relative paths start from the site file's folder")

    def _check_demo(self) -> None:
        zones = demo_currencies()
        if self.zone not in zones:
            raise ConfigError(
                f"the demo has no zone {self.zone!r}", fix=f"{did_you_mean(self.zone, zones)}; or name another provider"
            )
        if self.group == "price" and zones[self.zone] != self.currency:
            raise ConfigError(
                f"prices of {self.zone} are in {zones[self.zone]}, the site's currency is {self.currency}",
                fix=f'set site.currency = "{zones[self.zone]}", or tariff.energy_per_kwh, or another provider',
            )


def providers(
    sources: model.SourcesTable,
    place: model.SiteTable,
    basis: str,
    folder: Path,
    *,
    price_wanted: bool,
) -> dict[str, Provider]:
    """Return the provider of each group of signals; the demo where the file names none.

    Args:
        sources: The file's [sources].
        place: The file's [site].
        basis: Basis of the carbon intensity.
        folder: Folder that relative paths of data files start from.
        price_wanted: Whether a series of prices is needed.
    """
    made: dict[str, Provider] = {}
    for group in GROUPS:
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
        zone = table.zone if table is not None and table.zone is not None else place.zone
        made[group] = Provider(SourceSpec(name, options), zone, place.currency, group)
    return made


def demo_currencies() -> dict[str, str]:
    """Return the currency of each demo zone."""
    facts = tomllib.loads((data_dir() / "demo" / "demo.toml").read_text(encoding="utf-8"))
    return {zone["name"]: zone["currency"] for zone in facts["zone"]}
