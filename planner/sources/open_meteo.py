"""Weather of a place from Open-Meteo: forecast up to 16 days ahead, reanalysis for the past (no key)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from planner.errors import ConfigError
from planner.sources.http import Http
from planner.sources.request import Request
from planner.sources.rows import NoValues, make_series, to_numbers
from planner.sources.series import DERIVED, Series
from planner.sources.shape import changed
from planner.sources.windows import Window, fetch_windows, floor, spans
from planner.timegrid import iso
from thermal.psychro import pressure_pa, wet_bulb_c

if TYPE_CHECKING:
    from planner.sources.options import Options

FORECAST_URL = "https://api.open-meteo.com/v1/forecast"
ARCHIVE_URL = "https://archive-api.open-meteo.com/v1/archive"
LICENCE = "CC BY 4.0, Open-Meteo.com (free for non-commercial use)"

_NAME = "Open-Meteo"
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_WINDOW = timedelta(days=28)
_ARCHIVE_DELAY = timedelta(days=7)  # the reanalysis comes about five days late
_FORECAST_DAYS = 16
_TTL = timedelta(hours=1)
_HUMIDITY = "relative_humidity_2m"
_VARIABLES = {
    "dry_bulb": "temperature_2m",
    "wet_bulb": "wet_bulb_temperature_2m",
    "ghi": "shortwave_radiation",
    "wind_speed_100m": "wind_speed_100m",
}
_UNITS = {
    "temperature_2m": "°C",
    "wet_bulb_temperature_2m": "°C",
    "shortwave_radiation": "W/m²",
    "wind_speed_100m": "m/s",
    _HUMIDITY: "%",
}
_PAST = ("temperature_2m", _HUMIDITY, "shortwave_radiation", "wind_speed_100m")  # the archive knows no wet bulb
_AHEAD = (*_PAST, "wet_bulb_temperature_2m")


@dataclass(frozen=True)
class OpenMeteo:
    """The provider at one place.

    Args:
        http: How the network is used.
        latitude: Degrees north.
        longitude: Degrees east.
        forecast_url: Address of forecasts.
        archive_url: Address of the reanalysis.
    """

    http: Http
    latitude: float
    longitude: float
    forecast_url: str = FORECAST_URL
    archive_url: str = ARCHIVE_URL
    name: str = _NAME

    @classmethod
    def from_options(cls, options: Options, http: Http) -> OpenMeteo:
        """Return the provider at the place that the options declare.

        Raises:
            ConfigError: An option is unknown, missing or wrong.
        """
        source = cls(http, options.number("latitude", -90.0, 90.0), options.number("longitude", -180.0, 180.0))
        options.finish()
        return source

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the hourly signal in [start, end), up to 16 days ahead.

        Temperatures and wind are the values at the start of each hour; irradiance is the hour's mean (the provider
        stamps it with the hour's end). The archive has no wet bulb: it is derived from temperature and humidity, and
        flagged.

        Raises:
            ConfigError: The provider has no such signal.
            DataUnavailable: Nothing usable came (see `Http.get` for its kinds).
        """
        if signal not in _VARIABLES:
            raise ConfigError(f"{_NAME} has no {signal}", fix=f"ask for one of {', '.join(_VARIABLES)}")
        now = self.http.clock()

        def read(answer: Any) -> Series:
            return self._read(answer, signal, zone, now)

        windows = self._windows(f"{signal} of {zone}", start, end, now)
        nothing = NoValues(
            f"{_NAME} has no {signal} of {zone} from {iso(start)} to {iso(end)}",
            why=f"it forecasts {_FORECAST_DAYS} days ahead",
            fix="plan a nearer week, or use another source",
        )
        found = fetch_windows(self.http, windows, read, start, end, nothing=nothing)
        return replace(self._series(signal, zone, found.rows), fetched_at=found.fetched_at)

    def _windows(self, subject: str, start: datetime, end: datetime, now: datetime) -> list[Window]:
        place = (("latitude", f"{self.latitude:.4f}"), ("longitude", f"{self.longitude:.4f}"))
        # Always GMT: "auto" gives a whole series today's offset.
        common = (*place, ("timezone", "GMT"), ("wind_speed_unit", "ms"))
        settled = floor(now - _ARCHIVE_DELAY, _WINDOW)
        asked = []
        for first, last in spans(start, min(end, settled), _WINDOW):
            # The day after the window is asked for too: irradiance of its last hour is stamped with the next midnight.
            days = (("start_date", f"{first:%Y-%m-%d}"), ("end_date", f"{last:%Y-%m-%d}"))
            params = (*common, *days, ("hourly", ",".join(_PAST)))
            settled_at = last + _ARCHIVE_DELAY
            request = Request(_NAME, subject, self.archive_url, params, _TTL, settled_at)
            asked.append(Window(first, last, request))
        today = floor(now, _DAY)
        horizon = today + _FORECAST_DAYS * _DAY
        if end > settled and start < horizon:
            # Always as many past days as the archive can leave open: the same words each day find the last good answer.
            days = (("past_days", str((_WINDOW + _ARCHIVE_DELAY) // _DAY)), ("forecast_days", str(_FORECAST_DAYS)))
            params = (*common, *days, ("hourly", ",".join(_AHEAD)))
            asked.append(Window(settled, horizon, Request(_NAME, subject, self.forecast_url, params, _TTL)))
        return asked

    def _read(self, payload: Any, signal: str, zone: str, now: datetime) -> Series:
        subject = f"{_NAME}: {signal} of {zone}"
        hourly = payload.get("hourly") if isinstance(payload, dict) else None
        if not isinstance(hourly, dict) or not isinstance(payload.get("hourly_units"), dict):
            raise changed(subject, f"it has no hourly values: {str(payload)[:120]}")
        if payload.get("utc_offset_seconds") != 0:
            raise changed(
                subject, f"its times are {payload.get('utc_offset_seconds')} s off UTC where GMT was asked for"
            )
        stamps = hourly.get("time")
        if not isinstance(stamps, list):
            raise changed(subject, f"its times are {str(stamps)[:120]}")
        if not stamps:
            raise NoValues(f"{subject}: the answer has no hours", fix="check the place and the span")
        variable = _VARIABLES[signal]
        derived = signal == "wet_bulb" and variable not in hourly
        if derived:
            temperature, humidity = (self._values(payload, v, subject) for v in ("temperature_2m", _HUMIDITY))
            elevation = payload.get("elevation")
            if not isinstance(elevation, (int, float)):
                raise changed(subject, f"its elevation is {elevation!r}")
            values = wet_bulb_c(temperature, humidity, pressure_pa(elevation))
        else:
            values = self._values(payload, variable, subject)
        starts = _times(stamps, subject) - (_HOUR if signal == "ghi" else timedelta(0))
        rows = pd.DataFrame(
            {
                "t_start": starts,
                "t_end": starts + _HOUR,
                "value": values,
                "kind": np.where(starts + _HOUR <= pd.Timestamp(now), "modelled", "forecast"),
                "flags": DERIVED if derived else "",
            }
        )
        return self._series(signal, zone, rows)

    @staticmethod
    def _values(payload: dict[str, Any], variable: str, subject: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        hourly, stamps = payload["hourly"], payload["hourly"]["time"]
        cells = hourly.get(variable)
        if not isinstance(cells, list) or len(cells) != len(stamps):
            raise changed(subject, f"{variable} does not have one value for each of its {len(stamps)} hours")
        unit = payload["hourly_units"].get(variable)
        if unit != _UNITS[variable]:
            raise changed(subject, f"{variable} is in {unit!r}, agreed is {_UNITS[variable]!r}")
        return to_numbers(cells, variable, lambda i: f"{subject}, row of {stamps[i]}Z")

    def _series(self, signal: str, zone: str, rows: pd.DataFrame) -> Series:
        place = f"{_NAME} {self.latitude:g}, {self.longitude:g}"
        return make_series(signal=signal, zone=zone, rows=rows, source=place, licence=LICENCE)


def _times(stamps: Any, subject: str) -> pd.DatetimeIndex:
    try:
        return pd.DatetimeIndex([datetime.strptime(s, "%Y-%m-%dT%H:%M").replace(tzinfo=UTC) for s in stamps])
    except (TypeError, ValueError) as exc:
        raise changed(subject, f"its times cannot be read: {exc}") from exc
