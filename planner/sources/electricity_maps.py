"""Average carbon intensity of a zone from Electricity Maps: the past, and a forecast up to 72 hours ahead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from planner.errors import ConfigError
from planner.sources.keys import need_key
from planner.sources.request import Request
from planner.sources.rows import NoValues, make_series, to_numbers
from planner.sources.series import ESTIMATED
from planner.sources.shape import agreed, cell, changed, entries, instant
from planner.sources.windows import fetch_windows, past_and_ahead
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.sources.http import Http
    from planner.sources.options import Options
    from planner.sources.series import Series

BASE_URL = "https://api.electricitymaps.com"
LICENCE = "Electricity Maps; what the key's contract allows"
HORIZON = timedelta(hours=72)
"""How far ahead the provider forecasts."""

_NAME = "Electricity Maps"
_HOUR = timedelta(hours=1)
_WINDOW = timedelta(days=7)  # the provider allows 10 days
_SETTLED = timedelta(days=3)
_TTL = timedelta(hours=1)
_VERSIONS = ("v4", "v3")
_BASES = ("direct", "lifecycle")


@dataclass(frozen=True)
class ElectricityMaps:
    """The provider; zones are its own, such as "DE", "US-CAL-CISO".

    Args:
        http: How the network is used.
        basis: "direct" or "lifecycle".
        version: "v4" or "v3" of its interface.
        base_url: Address of the provider.
    """

    http: Http
    basis: str = "direct"
    version: str = "v4"
    base_url: str = BASE_URL
    name: str = _NAME

    @classmethod
    def from_options(cls, options: Options, http: Http) -> ElectricityMaps:
        """Return the provider that the options declare.

        Raises:
            ConfigError: An option is unknown or wrong.
        """
        source = cls(http, options.choice("basis", _BASES, "direct"), options.choice("version", _VERSIONS, "v4"))
        options.finish()
        return source

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the hourly average carbon intensity in [start, end), up to 72 h ahead.

        Raises:
            ConfigError: The signal is not carbon.
            AuthError: There is no key, or it is refused for the zone or the span.
            DataUnavailable: Nothing usable came (see `Http.get` for its kinds).
        """
        if signal != "carbon":
            raise ConfigError(f"{_NAME} has no {signal}", fix="ask for carbon")
        issued: list[datetime] = []

        def read(answer: Any) -> pd.DataFrame:
            if isinstance(answer, dict) and "forecast" in answer and "updatedAt" in answer:
                issued.append(instant(answer["updatedAt"], f"{_NAME}: carbon of {zone}"))
            return self._series(zone, self._rows(answer, zone)).rows

        windows = past_and_ahead(
            (start, end),
            self.http.clock(),
            (_WINDOW, HORIZON),
            lambda first, last: self._past(zone, first, last),
            lambda: self._ahead(zone),
        )
        nothing = NoValues(
            f"{_NAME} has no carbon of {zone} from {iso(start)} to {iso(end)}",
            why=f"it forecasts {HORIZON / _HOUR:.0f} h ahead",
            fix="plan a week that has begun or begins soon, or use another source",
        )
        rows, fetched_at = fetch_windows(self.http, windows, read, start, end, nothing=nothing)
        return replace(self._series(zone, rows), fetched_at=fetched_at, issued_at=issued[-1] if issued else None)

    def _past(self, zone: str, first: datetime, last: datetime) -> Request:
        params = (("start", iso(first)), ("end", iso(last)), *self._common(zone))
        return self._request(zone, "past-range", params, last + _SETTLED)

    def _ahead(self, zone: str) -> Request:
        params = (("horizonHours", f"{HORIZON / _HOUR:.0f}"), *self._common(zone))
        return self._request(zone, "forecast", params, None)

    def _common(self, zone: str) -> tuple[tuple[str, str], ...]:
        return (
            ("zone", zone),
            ("emissionFactorType", self.basis),
            ("temporalGranularity", "hourly"),
            # Else an unknown zone is looked up by where the caller sits, and answered with that.
            ("disableCallerLookup", "true"),
        )

    def _request(
        self, zone: str, path: str, params: tuple[tuple[str, str], ...], settled_at: datetime | None
    ) -> Request:
        url = f"{self.base_url}/{self.version}/carbon-intensity/{path}"
        secret = (("auth-token", need_key("electricity-maps", _NAME)),) if not self.http.offline else ()
        return Request(_NAME, f"carbon of {zone}", url, params, _TTL, settled_at, secret_headers=secret)

    def _rows(self, payload: Any, zone: str) -> pd.DataFrame:
        subject = f"{_NAME}: carbon of {zone}"
        list_key = next((key for key in ("forecast", "data", "history") if key in (payload or {})), "data")
        data = entries(payload, list_key, subject)
        if not data:
            raise NoValues(f"{subject}: the answer has no rows", fix="check the zone and the span")
        agreed(payload.get("zone", zone), zone, "zone", subject)
        agreed(payload.get("temporalGranularity", "hourly"), "hourly", "resolution", subject)
        for entry in (payload, *data):
            agreed(entry.get("zone", zone), zone, "zone", subject)
            agreed(entry.get("emissionFactorType", self.basis), self.basis, "basis", subject)
        starts = pd.DatetimeIndex([instant(cell(entry, "datetime", subject), subject) for entry in data])
        off = [i for i, t in enumerate(starts) if t != t.floor("h")]
        if off:
            raise changed(subject, f"row of {starts[off[0]]:%Y-%m-%dT%H:%M:%SZ} does not start with an hour")
        estimated = [entry.get("isEstimated") is True for entry in data]
        return pd.DataFrame(
            {
                "t_start": starts,
                "t_end": starts + _HOUR,
                "value": to_numbers(
                    [cell(entry, "carbonIntensity", subject) for entry in data],
                    "carbonIntensity",
                    lambda i: f"{subject}, row of {starts[i]:%Y-%m-%dT%H:%M:%SZ}",
                ),
                "kind": ["forecast" if list_key == "forecast" else "modelled" if e else "actual" for e in estimated],
                "flags": [ESTIMATED if e else "" for e in estimated],
            }
        )

    def _series(self, zone: str, rows: pd.DataFrame) -> Series:
        return make_series(
            signal="carbon", zone=zone, rows=rows, source=f"{_NAME} {zone}", licence=LICENCE, basis=self.basis
        )
