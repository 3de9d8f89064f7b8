"""Carbon intensity of Great Britain and its 17 regions from the national system operator (no key).

The operator's own intensity is direct; for the lifecycle basis its generation mix is multiplied by fuel factors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from planner.errors import ConfigError, DataUnavailable
from planner.sources.fuels import fuel_factors, only_basis
from planner.sources.http import Http
from planner.sources.mix import mix_intensity
from planner.sources.request import Request
from planner.sources.rows import NoValues, make_series, to_numbers
from planner.sources.series import Series
from planner.sources.shape import changed
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
_FUELS = {
    **{fuel: fuel for fuel in ("biomass", "coal", "gas", "hydro", "nuclear", "solar", "wind")},
    "other": "unknown",
}
_IMPORTS = "imports"  # of which nobody says from what
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", re.ASCII)
_UTC = "datetime64[us, UTC]"
_ZONE = re.compile(r"GB(?:-(1[0-7]|[1-9]))?")


@dataclass(frozen=True)
class UkCarbonIntensity:
    """The provider; zones are "GB" and "GB-1" to "GB-17".

    Args:
        http: How the network is used.
        base_url: Address of the provider.
        basis: "direct", the operator's own intensity, or "lifecycle", its mix times fuel factors.
    """

    http: Http
    base_url: str = BASE_URL
    name: str = _NAME
    basis: str = "direct"

    @classmethod
    def from_options(cls, options: Options, http: Http) -> UkCarbonIntensity:
        """Return the provider that the options declare.

        Raises:
            ConfigError: An option is unknown or wrong.
        """
        return cls(http, basis=only_basis(options))

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the half-hourly carbon intensity in [start, end), up to 48 h ahead.

        A half hour without a measured value has its forecast. A window for which the provider has nothing is a gap.
        The national mix is of the past alone; imports are not in a mix.

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
        nothing = NoValues(
            f"{_NAME} has no carbon of {zone} from {iso(start)} to {iso(end)}",
            why=f"it forecasts {HORIZON / timedelta(hours=1):.0f} h ahead" if end > now + HORIZON else "",
            fix="plan a week that has begun or begins soon, or use another source",
        )
        found = fetch_windows(
            self.http, windows, lambda answer: self._read(answer, zone, now), start, end, nothing=nothing
        )
        return replace(self._series(zone, found.rows), fetched_at=found.fetched_at)

    def _request(self, zone: str, region: str | None, first: datetime, last: datetime) -> Request:
        span = f"{first.strftime(_TIME)}/{last.strftime(_TIME)}"
        national = "generation" if self.basis == "lifecycle" else "intensity"
        path = f"/{national}/{span}" if region is None else f"/regional/intensity/{span}/regionid/{region}"
        return Request(_NAME, f"carbon of {zone}", f"{self.base_url}{path}", (), _TTL, settled_at=last + _SETTLED)

    def _read(self, payload: Any, zone: str, now: datetime) -> Series:
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
        if self.basis == "lifecycle":
            return self._series(zone, _mix(data, zone, now))
        rows = pd.DataFrame(
            [_row(entry, zone) for entry in data], columns=["t_start", "t_end", "value", "kind", "flags"]
        )
        return self._series(zone, rows)

    def _series(self, zone: str, rows: pd.DataFrame) -> Series:
        mixed = f", mix x {fuel_factors(self.basis).id}" if self.basis == "lifecycle" else ""
        return make_series(
            signal="carbon", zone=zone, rows=rows, source=f"{_NAME} {zone}{mixed}", licence=LICENCE, basis=self.basis
        )


def _row(entry: Any, zone: str) -> tuple[datetime, datetime, Any, str, str]:
    try:
        first, last = _instant(entry["from"]), _instant(entry["to"])
        intensity = entry["intensity"]
        actual, forecast = intensity.get("actual"), intensity["forecast"]
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise _changed(zone, "a row", entry) from exc
    return (first, last, forecast, "forecast", "") if actual is None else (first, last, actual, "actual", "")


def _mix(data: list[Any], zone: str, now: datetime) -> pd.DataFrame:
    spans: list[tuple[datetime, datetime]] = []
    fuels: list[str] = []
    cells: list[Any] = []
    sizes: list[int] = []
    for entry in data:
        try:
            spans.append((_instant(entry["from"]), _instant(entry["to"])))
            parts = [(one["fuel"], one["perc"]) for one in entry["generationmix"]]
        except (KeyError, TypeError, ValueError) as exc:
            raise _changed(zone, "a row", entry) from exc
        fuels += [str(fuel) for fuel, _ in parts]
        cells += [share for _, share in parts]
        sizes.append(len(parts))
    row = np.repeat(np.arange(len(sizes)), sizes)
    subject = f"{_NAME}: carbon of {zone}"
    values = to_numbers(cells, "the share", lambda i: f"{subject}, {fuels[i]} of {spans[row[i]][0]:%Y-%m-%dT%H:%MZ}")
    first, last = (pd.DatetimeIndex([span[edge] for span in spans]) for edge in (0, 1))
    kind = np.where(last <= pd.Timestamp(now), "actual", "forecast")
    table = pd.DataFrame(
        {"t_start": first[row], "t_end": last[row], "part": fuels, "value": values, "kind": kind[row]}
    ).astype({"t_start": _UTC, "t_end": _UTC})
    return mix_intensity(table[table.part != _IMPORTS], _FUELS, fuel_factors("lifecycle"), subject)


def _instant(text: Any) -> datetime:
    if not _STAMP.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text)


def _changed(zone: str, part: str, found: Any) -> DataUnavailable:
    return changed(f"{_NAME}: carbon of {zone}", f"{part} is {str(found)[:120]}")
