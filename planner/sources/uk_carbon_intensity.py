"""Carbon intensity of Great Britain and its 17 regions from the national system operator (no key)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from planner.errors import ConfigError, SchemaChanged
from planner.sources.http import Http
from planner.sources.request import Request
from planner.sources.rows import NoValues, make_series
from planner.sources.series import Series
from planner.sources.windows import Window, fetch_windows, spans
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.sources.options import Options

BASE_URL = "https://api.carbonintensity.org.uk"
LICENCE = "CC BY 4.0, National Energy System Operator"
HORIZON = timedelta(hours=48)
"""How far ahead the provider forecasts."""

_NAME = "UK Carbon Intensity"
_WINDOW = timedelta(days=7)  # the provider allows 14 days
_SETTLED = timedelta(days=2)  # after this the measured values no longer change
_TTL = timedelta(minutes=30)
_TIME = "%Y-%m-%dT%H:%MZ"
_ZONE = re.compile(r"GB(?:-(1[0-7]|[1-9]))?")


@dataclass(frozen=True)
class UkCarbonIntensity:
    """The provider; zones are "GB" and "GB-1" to "GB-17".

    Args:
        http: How the network is used.
        base_url: Address of the provider.
    """

    http: Http
    base_url: str = BASE_URL
    name: str = _NAME

    @classmethod
    def from_options(cls, options: Options, http: Http) -> UkCarbonIntensity:
        """Return the provider; it has no options.

        Raises:
            ConfigError: An option is given.
        """
        options.finish()
        return cls(http)

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the half-hourly direct carbon intensity in [start, end), up to 48 h ahead.

        A half hour without a measured value has its forecast. A window for which the provider has nothing is a gap.

        Raises:
            ConfigError: The signal is not carbon, or the zone is none of Great Britain.
            DataUnavailable: Nothing usable came (see `Http.get` for its kinds).
        """
        match = _ZONE.fullmatch(zone)
        if signal != "carbon" or match is None:
            raise ConfigError(
                f"{_NAME} has no {signal} of {zone}", fix="ask for carbon of GB, or of GB-1 to GB-17 for a region"
            )
        now = self.http.clock()
        windows = [
            Window(first, last, self._request(zone, match[1], first, last))
            for first, last in spans(start, min(end, now + HORIZON), _WINDOW)
        ]
        try:
            rows, fetched_at = fetch_windows(
                self.http, windows, lambda answer: self._read(answer, zone).rows, start, end
            )
        except NoValues as exc:
            raise NoValues(
                f"{_NAME} has no carbon of {zone} from {iso(start)} to {iso(end)}",
                why=f"it forecasts {HORIZON / timedelta(hours=1):.0f} h ahead" if end > now + HORIZON else "",
                fix="plan a week that has begun or begins soon, or use another source",
            ) from exc
        return replace(_series(zone, rows), fetched_at=fetched_at)

    def _request(self, zone: str, region: str | None, first: datetime, last: datetime) -> Request:
        span = f"{first.strftime(_TIME)}/{last.strftime(_TIME)}"
        path = f"/intensity/{span}" if region is None else f"/regional/intensity/{span}/regionid/{region}"
        return Request(_NAME, f"carbon of {zone}", f"{self.base_url}{path}", (), _TTL, settled_at=last + _SETTLED)

    @staticmethod
    def _read(payload: Any, zone: str) -> Series:
        data = payload.get("data") if isinstance(payload, dict) else None
        if isinstance(data, dict):
            data = [data]
        if isinstance(payload, dict) and not data:
            raise NoValues(f"{_NAME} answered without data for carbon of {zone}", fix="try again later")
        if not isinstance(data, list):
            raise _changed(zone, "the answer", payload)
        if zone != "GB":
            data = data[0].get("data") if isinstance(data[0], dict) else None
            if not isinstance(data, list):
                raise _changed(zone, "the region's answer", payload)
        rows = pd.DataFrame(
            [_row(entry, zone) for entry in data], columns=["t_start", "t_end", "value", "kind", "flags"]
        )
        return _series(zone, rows)


def _row(entry: Any, zone: str) -> tuple[datetime, datetime, Any, str, str]:
    try:
        first, last = (datetime.strptime(entry[key], _TIME).replace(tzinfo=UTC) for key in ("from", "to"))
        intensity = entry["intensity"]
        actual, forecast = intensity.get("actual"), intensity["forecast"]
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise _changed(zone, "a row", entry) from exc
    return (first, last, forecast, "forecast", "") if actual is None else (first, last, actual, "actual", "")


def _changed(zone: str, part: str, found: Any) -> SchemaChanged:
    return SchemaChanged(
        f"{_NAME}: {part} of carbon of {zone} has not the agreed shape: {str(found)[:120]}",
        why="the provider has changed its answers",
        fix="look for a newer gridpace, and use data in a file meanwhile",
    )


def _series(zone: str, rows: pd.DataFrame) -> Series:
    return make_series(signal="carbon", zone=zone, rows=rows, source=f"{_NAME} {zone}", licence=LICENCE, basis="direct")
