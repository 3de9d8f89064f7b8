"""Average carbon intensity and day-ahead prices of a zone from Electricity Maps, in steps of 5, 15 or 60 minutes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from planner.errors import ConfigError
from planner.sources.keys import need_key
from planner.sources.request import Request
from planner.sources.rows import NoValues, make_series, to_numbers
from planner.sources.series import ESTIMATED
from planner.sources.shape import agreed, cell, changed, entries, instant
from planner.sources.units import conversion
from planner.sources.windows import Window, fetch_windows, past_and_ahead, spans
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
_TTL = {"carbon": timedelta(minutes=30), "price": timedelta(hours=1)}
_VERSIONS = ("v4", "v3")
_BASES = ("direct", "lifecycle")
_STEPS = {"hourly": _HOUR, "15_minutes": timedelta(minutes=15), "5_minutes": timedelta(minutes=5)}
_PRICES = {"published": ("actual", timedelta(days=2)), "modelled": ("forecast", HORIZON)}
"""Kind of price -> the provider's word for it, and how far ahead it goes."""
_OWN_MODEL = "electricitymap"  # what the provider names as the source of prices that no exchange published


@dataclass(frozen=True)
class ElectricityMaps:
    """The provider; zones are its own, such as "DE", "US-CAL-CISO".

    Prices are those that an exchange published, or those that the provider models where there is none or not yet: a
    source gives one of the two, and never puts one in place of the other.

    Args:
        http: How the network is used.
        basis: "direct" or "lifecycle" carbon.
        version: "v4" or "v3" of its interface.
        base_url: Address of the provider.
        granularity: "hourly", "15_minutes" or "5_minutes".
        prices: "published" or "modelled".
    """

    http: Http
    basis: str = "direct"
    version: str = "v4"
    base_url: str = BASE_URL
    name: str = _NAME
    granularity: str = "hourly"
    prices: str = "published"

    @classmethod
    def from_options(cls, options: Options, http: Http) -> ElectricityMaps:
        """Return the provider that the options declare.

        Raises:
            ConfigError: An option is unknown or wrong.
        """
        source = cls(
            http,
            options.choice("basis", _BASES, "direct"),
            options.choice("version", _VERSIONS, "v4"),
            granularity=options.choice("granularity", tuple(_STEPS), "hourly"),
            prices=options.choice("prices", tuple(_PRICES), "published"),
        )
        options.finish()
        return source

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the average carbon intensity up to 72 h ahead, or the day-ahead price, in [start, end).

        A price is in the currency that the answer names. Published ones reach to the end of the next day.

        Raises:
            ConfigError: The provider has no such signal.
            AuthError: There is no key, or it is refused for the zone or the span.
            DataUnavailable: Nothing usable came (see `Http.get` for its kinds).
        """
        if signal not in _TTL:
            raise ConfigError(f"{_NAME} has no {signal}", fix="ask for carbon or price")
        subject = f"{_NAME}: {signal} of {zone}"
        currencies: list[str] = []

        def read(answer: Any) -> Series:
            rows, currency = self._rows(answer, signal, zone, subject)
            if currencies and currency != currencies[0]:
                raise _another_currency(rows.t_start.iloc[0], currency, currencies[0], subject)
            currencies.append(currency)
            series = self._series(signal, zone, rows, currency)
            if not answer.get("updatedAt"):
                return series
            return replace(series, issued_at=instant(answer["updatedAt"], subject))

        windows = self._carbon_windows(zone, start, end) if signal == "carbon" else self._windows(zone, start, end)
        nothing = NoValues(
            f"{_NAME} has no {signal} of {zone} from {iso(start)} to {iso(end)}",
            why=f"it forecasts {HORIZON / _HOUR:.0f} h ahead" if signal == "carbon" else "not every zone has prices",
            fix="plan a week that has begun or begins soon, or use another source",
        )
        found = fetch_windows(self.http, windows, read, start, end, nothing=nothing)
        series = self._series(signal, zone, found.rows, currencies[0])
        return replace(series, fetched_at=found.fetched_at, issued_at=found.issued_at)

    def _carbon_windows(self, zone: str, start: datetime, end: datetime) -> list[Window]:
        basis = (("emissionFactorType", self.basis),)

        def past(first: datetime, last: datetime) -> Request:
            params = (("start", iso(first)), ("end", iso(last)), *basis)
            return self._request("carbon", zone, "past-range", params, last + _SETTLED)

        def ahead() -> Request:
            horizon = ("horizonHours", f"{HORIZON / _HOUR:.0f}")
            return self._request("carbon", zone, "forecast", (horizon, *basis), None)

        return past_and_ahead((start, end), self.http.clock(), (_WINDOW, HORIZON), past, ahead)

    def _windows(self, zone: str, start: datetime, end: datetime) -> list[Window]:
        path, reach = _PRICES[self.prices]
        return [
            Window(
                first,
                last,
                self._request("price", zone, path, (("start", iso(first)), ("end", iso(last))), last + _SETTLED),
            )
            for first, last in spans(start, min(end, self.http.clock() + reach), _WINDOW)
        ]

    def _request(
        self, signal: str, zone: str, path: str, params: tuple[tuple[str, str], ...], settled_at: datetime | None
    ) -> Request:
        place = "carbon-intensity" if signal == "carbon" else "price-day-ahead"
        common = (
            ("zone", zone),
            ("temporalGranularity", self.granularity),
            # Else an unknown zone is looked up by where the caller sits, and answered with that.
            ("disableCallerLookup", "true"),
        )
        secret = (("auth-token", need_key("electricity-maps", _NAME)),) if not self.http.offline else ()
        return Request(
            _NAME,
            f"{signal} of {zone}",
            f"{self.base_url}/{self.version}/{place}/{path}",
            (*params, *common),
            _TTL[signal],
            settled_at,
            secret_headers=secret,
        )

    def _rows(self, payload: Any, signal: str, zone: str, subject: str) -> tuple[pd.DataFrame, str]:
        """Return the rows of an answer, and the currency of a price."""
        told = payload if isinstance(payload, dict) else {}
        list_key = next((key for key in ("forecast", "data", "history") if key in told), "data")
        data = entries(payload, list_key, subject)
        if not data:
            raise NoValues(f"{subject}: the answer has no rows", fix="check the zone and the span")
        for entry in (payload, *data):
            agreed(entry.get("zone", zone), zone, "zone", subject)
            agreed(entry.get("emissionFactorType", self.basis), self.basis, "basis", subject)
            agreed(entry.get("temporalGranularity", self.granularity), self.granularity, "resolution", subject)
        starts = self._starts(data, subject)
        column = "carbonIntensity" if signal == "carbon" else "value"
        values = to_numbers(
            [cell(entry, column, subject) for entry in data],
            column,
            lambda i: f"{subject}, row of {starts[i]:%Y-%m-%dT%H:%M:%SZ}",
        )
        rows = pd.DataFrame({"t_start": starts, "t_end": starts + _STEPS[self.granularity], "value": values})
        if signal == "carbon":
            estimated = np.array([entry.get("isEstimated") is True for entry in data])
            measured = np.where(estimated, "modelled", "actual")
            kind = "forecast" if list_key == "forecast" else measured
            return rows.assign(kind=kind, flags=np.where(estimated, ESTIMATED, "")), ""
        scale, currency = _unit(payload, data, starts, subject)
        modelled = np.array([_OWN_MODEL in str(entry.get("source", "")).lower() for entry in data])
        if self.prices == "published" and modelled.any():
            first = starts[int(np.flatnonzero(modelled)[0])]
            raise changed(subject, f"row of {iso(first)} is modelled where published prices were asked for")
        came = np.where(modelled, "modelled", "actual")
        kind = np.where(starts < pd.Timestamp(self.http.clock()), came, "forecast")
        return rows.assign(value=values * scale, kind=kind, flags=np.where(modelled, ESTIMATED, "")), currency

    def _starts(self, data: list[dict[str, Any]], subject: str) -> pd.DatetimeIndex:
        starts = pd.DatetimeIndex([instant(cell(entry, "datetime", subject), subject) for entry in data])
        step = _STEPS[self.granularity]
        off = np.flatnonzero(starts != starts.floor(pd.Timedelta(step)))
        minutes = step / timedelta(minutes=1)
        if off.size:
            which = "an hour" if step == _HOUR else f"a step of {minutes:g} min"
            raise changed(subject, f"row of {starts[off[0]]:%Y-%m-%dT%H:%M:%SZ} does not start with {which}")
        distances = np.diff(np.unique(starts.to_numpy()))
        if len(distances) and distances.min() > np.timedelta64(step):
            apart = distances.min() / np.timedelta64(1, "m")
            raise changed(
                subject, f"its rows from {iso(starts.min())} on lie {apart:g} min apart, asked were {minutes:g} min"
            )
        return starts

    def _series(self, signal: str, zone: str, rows: pd.DataFrame, currency: str) -> Series:
        carbon = signal == "carbon"
        return make_series(
            signal=signal,
            zone=zone,
            rows=rows,
            source=f"{_NAME} {zone}" if carbon else f"{_NAME} {zone}, {self.prices} prices",
            licence=LICENCE,
            basis=self.basis if carbon else "",
            currency=currency,
        )


def _unit(
    payload: dict[str, Any], data: list[dict[str, Any]], starts: pd.DatetimeIndex, subject: str
) -> tuple[float, str]:
    """Return the scale to money per kWh and the currency that all rows have."""
    units = [entry.get("unit", payload.get("unit")) for entry in data]
    for start, unit in zip(starts, units, strict=True):
        if unit != units[0]:
            raise _another_currency(start, str(unit), str(units[0]), subject)
    try:
        found = conversion("price", str(units[0]).replace(" ", ""))
    except ConfigError:
        how = f"row of {iso(starts[0])} has the unit {units[0]!r}, agreed is a currency per MWh or kWh"
        raise changed(subject, how) from None
    return found.scale, found.currency


def _another_currency(start: datetime, now: str, before: str, subject: str) -> Exception:
    return changed(subject, f"row of {iso(start)} is in {now}, those before in {before}; money is never converted")
