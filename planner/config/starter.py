"""What a new user begins with: a small site file with comments, and its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any

from planner.bundled import data_dir
from planner.config.schema import SCHEMA_FILE, schema_text
from planner.errors import ConfigError
from planner.sources.catalogue import FACTS
from planner.sources.keys import variable
from planner.sources.zones import listed_zones
from planner.timegrid import coming_week, iso_week
from planner.timegrid import zone as time_zone

SITE_FILE = "site.toml"
_EXAMPLE_MONDAY = date(2024, 5, 13)
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d(?=T)")
_WEEK_LINE = re.compile(r"^week = .*\n", re.MULTILINE)
_DEMO_SOURCES = re.compile(r"^# Without \[sources\].*?\n\n", re.MULTILINE | re.DOTALL)
_NO_FLAT_PRICE = "# energy_per_kwh = 0.11 # a flat price; without it the price source below gives a series"
_IN_TURN = {"carbon": ("uk-carbon-intensity", "energy-charts", "eia"), "price": ("energy-charts",)}
"""Providers that a zone begins with, the first that serves it: those that need no key stand before those that do."""


def starter_site() -> str:
    """Return the text of a small site file on demo data, with a comment on each key."""
    return (data_dir() / "starter-site.toml").read_text(encoding="utf-8")


def zone_site(zone: str, now: datetime) -> str:
    """Return the starter's text with the sources of a zone.

    Args:
        zone: A zone of `data/zones.toml`.
        now: The present instant; the dates of the file lie in and after the week that comes then.

    Raises:
        ConfigError: There is no such zone.
    """
    text = starter_site()
    known = _listed(zone)
    for key, value in {"zone": zone, **known}.items():
        text = re.sub(rf"^({key} = )[^ \n]+", rf"\g<1>{json.dumps(value)}", text, count=1, flags=re.MULTILINE)
    sources = "\n".join(_sources(known))
    if "[sources.price]" not in sources:
        text = text.replace(_NO_FLAT_PRICE, "energy_per_kwh = 0.11 # put yours here")
    tz = time_zone(known["timezone"])
    week = coming_week(now, tz)
    text = _DEMO_SOURCES.sub(f"{sources}\n", text)
    text = _WEEK_LINE.sub(f'# week = "{week}" # another week than the coming one\n', text)
    later = iso_week(week, tz, 60).start.astimezone(tz).date() - _EXAMPLE_MONDAY
    return _DAY.sub(lambda day: (date.fromisoformat(day[0]) + later).isoformat(), text)


def starter_files(zone: str | None, now: datetime) -> dict[str, str]:
    """Return name -> text of the files that a new site folder holds, on demo data where the zone is None."""
    return {SITE_FILE: starter_site() if zone is None else zone_site(zone, now), SCHEMA_FILE: schema_text()}


def _listed(zone: str) -> Mapping[str, Any]:
    zones = listed_zones()
    if zone not in zones:
        raise ConfigError(
            f"zone {zone!r} is not listed, so its sources are not known",
            fix=f"name one of {', '.join(zones)}; or leave --zone out, and name the sources in the file",
        )
    return zones[zone]


def _sources(known: Mapping[str, Any]) -> Iterator[str]:
    for group, in_turn in _IN_TURN.items():
        provider = next((one for one in in_turn if one in known), None)
        if provider is not None:
            key = f" # its key: {variable(provider)}" if FACTS[provider].keyed else ""
            yield f'[sources.{group}]\nprovider = "{provider}"{key}\nzone = "{known[provider]}"\n'
    yield '[sources.weather]\nprovider = "open-meteo"\n'
