"""Carbon intensity and sunshine's power of a balancing authority of the United States, from EIA's hourly generation."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from planner.errors import ConfigError
from planner.sources.fuels import fuel_factors, only_basis
from planner.sources.keys import need_key
from planner.sources.mix import mix_intensity, power_of
from planner.sources.pages import Page, Paging
from planner.sources.request import Request
from planner.sources.rows import NoValues, make_series, to_number, to_numbers
from planner.sources.shape import agreed, cell, changed, entries, instant
from planner.sources.windows import Window, fetch_windows, spans
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.sources.http import Http
    from planner.sources.options import Options
    from planner.sources.series import Series

BASE_URL = "https://api.eia.gov/v2"
LICENCE = "public domain, U.S. Energy Information Administration"

_NAME = "EIA"
_HOUR = timedelta(hours=1)
_PAGE = 5000
_WINDOW = timedelta(days=7)  # 168 hours of some 16 types fit one page, of 30 they do not
_SETTLED = timedelta(days=5)
_TTL = timedelta(hours=1)
_STAMP = "%Y-%m-%dT%H"
_HOURS = re.compile(r"\d{4}-\d\d-\d\dT\d\d", re.ASCII)
_SIGNALS = ("carbon", "solar_generation")
_SOLAR = ("SUN", "SNB")
_FUELS = {
    "COL": "coal",
    "NG": "gas",
    "OIL": "oil",
    "NUC": "nuclear",
    "WAT": "hydro",
    "WND": "wind",
    "WNB": "wind",
    "SUN": "solar",
    "SNB": "solar",
    "GEO": "geothermal",
    "BIO": "biomass",
    "OTH": "unknown",
    "UNK": "unknown",
}
_STORAGE = ("BAT", "PS", "UES", "OES")  # gives back what was counted when it was made


@dataclass(frozen=True)
class Eia:
    """The provider; zones are its respondents, such as "CISO", "ERCO", "PJM".

    Args:
        http: How the network is used.
        basis: "direct" or "lifecycle" carbon.
        base_url: Address of the provider.
    """

    http: Http
    basis: str = "direct"
    base_url: str = BASE_URL
    name: str = _NAME

    @classmethod
    def from_options(cls, options: Options, http: Http) -> Eia:
        """Return the provider that the options declare.

        Raises:
            ConfigError: An option is unknown or wrong.
        """
        return cls(http, basis=only_basis(options))

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the hourly carbon intensity of what was generated, or the solar part, in [start, end).

        It ends some hours ago. The provider's stamps are ends of hours, UTC: a row starts one hour before its stamp.

        Raises:
            ConfigError: The provider has no such signal.
            AuthError: There is no key, or it is refused.
            DataUnavailable: Nothing usable came (see `Http.get` for its kinds).
        """
        if signal not in _SIGNALS:
            raise ConfigError(f"{_NAME} has no {signal}", fix=f"ask for {' or '.join(_SIGNALS)}")
        subject = f"{_NAME}: {signal} of {zone}"

        def read(pages: list[Page]) -> Series:
            parts = _parts(pages, subject)
            if signal == "carbon":
                return self._series(signal, zone, mix_intensity(parts, _FUELS, fuel_factors(self.basis), subject))
            return self._series(signal, zone, power_of(parts, _SOLAR, signal, subject))

        windows = [
            Window(first, last, self._request(signal, zone, first, last))
            for first, last in spans(start, min(end, self.http.clock()), _WINDOW)
        ]
        nothing = NoValues(
            f"{_NAME} has no {signal} of {zone} from {iso(start)} to {iso(end)}",
            why="it tells what was, some hours later",
            fix="check the zone and the span, or use another source",
        )
        paging = Paging(lambda answer: _page(answer, zone, subject), _PAGE)
        found = fetch_windows(self.http, windows, read, start, end, nothing=nothing, paging=paging)
        return replace(self._series(signal, zone, found.rows), fetched_at=found.fetched_at)

    def _request(self, signal: str, zone: str, first: datetime, last: datetime) -> Request:
        params = (
            ("frequency", "hourly"),
            ("data[0]", "value"),
            ("facets[respondent][]", zone),
            ("start", (first + _HOUR).strftime(_STAMP)),
            ("end", last.strftime(_STAMP)),
            ("sort[0][column]", "period"),
            ("sort[0][direction]", "asc"),
            # Without a whole order, rows of one hour may stand on two pages or on none.
            ("sort[1][column]", "fueltype"),
            ("sort[1][direction]", "asc"),
            ("offset", "0"),
            ("length", str(_PAGE)),
        )
        url = f"{self.base_url}/electricity/rto/fuel-type-data/data/"
        secret = (("api_key", need_key("eia", _NAME)),) if not self.http.offline else ()
        return Request(_NAME, f"{signal} of {zone}", url, params, _TTL, last + _SETTLED, secret_params=secret)

    def _series(self, signal: str, zone: str, rows: pd.DataFrame) -> Series:
        carbon = signal == "carbon"
        source = f"{_NAME} {zone}, mix x {fuel_factors(self.basis).id}" if carbon else f"{_NAME} {zone}"
        basis = self.basis if carbon else ""
        return make_series(signal=signal, zone=zone, rows=rows, source=source, licence=LICENCE, basis=basis)


def _page(payload: Any, zone: str, subject: str) -> Page:
    response = payload.get("response") if isinstance(payload, dict) else None
    data = entries(response, "data", subject)
    for entry in data:
        agreed(cell(entry, "respondent", subject), zone, "respondent", subject)
        agreed(entry.get("value-units"), "megawatthours", "unit", subject)
    told = response.get("total") if isinstance(response, dict) else None
    try:
        total = to_number(told)
    except ValueError:
        raise changed(subject, f"its total is {told!r}") from None
    return Page(data, len(data), None if math.isnan(total) else int(total))


def _parts(pages: list[Page], subject: str) -> pd.DataFrame:
    data = [entry for page in pages for entry in page.items]
    if not data:
        raise NoValues(f"{subject}: the answer has no rows", fix="check the zone and the span")
    told = [cell(entry, "period", subject) for entry in data]
    stamps = {text: _stamp(text, subject) for text in dict.fromkeys(map(str, told))}
    ends = pd.DatetimeIndex(list(stamps.values()))[pd.Index(list(stamps)).get_indexer(pd.Index(map(str, told)))]
    fuels = [str(cell(entry, "fueltype", subject)) for entry in data]
    total, different = pages[-1].total, len(set(zip(told, fuels, strict=True)))
    if total is not None and different < total:
        raise changed(subject, f"it holds {different} of {total} rows")
    values = to_numbers(
        [cell(entry, "value", subject) for entry in data],
        "generation",
        lambda i: f"{subject}, {fuels[i]} of the hour until {data[i]['period']}",
    )
    parts = pd.DataFrame({"t_start": ends - _HOUR, "t_end": ends, "part": fuels, "value": values, "kind": "actual"})
    return parts[~parts.part.isin(_STORAGE)]


def _stamp(text: Any, subject: str) -> datetime:
    if isinstance(text, str) and _HOURS.fullmatch(text):
        return instant(f"{text}:00Z", subject)
    raise changed(subject, f"period {text!r} is no hour such as 2024-01-01T05")
