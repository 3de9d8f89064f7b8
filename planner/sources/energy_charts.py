"""Day-ahead prices and the generation mix of Europe from Energy-Charts (no key); it stands on ENTSO-E's data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from planner.errors import ConfigError
from planner.sources.fuels import fuel_factors, only_basis
from planner.sources.mix import mix_intensity, power_of
from planner.sources.request import Request
from planner.sources.resample import ends_of
from planner.sources.rows import NoValues, make_series, to_numbers
from planner.sources.shape import changed, entries
from planner.sources.units import conversion
from planner.sources.windows import Window, fetch_windows, spans
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.sources.http import Http
    from planner.sources.options import Options
    from planner.sources.series import Series

BASE_URL = "https://api.energy-charts.info"
LICENCE = "CC BY 4.0, Bundesnetzagentur | SMARD.de and others, through Energy-Charts"

_NAME = "Energy-Charts"
_WINDOW = timedelta(days=7)
_SETTLED = timedelta(days=3)
_TTL = {
    "price": timedelta(minutes=30),
    "carbon": timedelta(minutes=15),
    "solar_generation": timedelta(minutes=15),
}
_AHEAD = timedelta(days=2)
_COUNTRY_LETTERS = 2
_NO_TIME = 2**33  # seconds: in the year 2242
_FUELS = {
    "Biomass": "biomass",
    "Fossil brown coal / lignite": "coal",
    "Fossil hard coal": "coal",
    "Fossil peat": "coal",
    "Fossil coal-derived gas": "coal",
    "Fossil gas": "gas",
    "Fossil oil": "oil",
    "Fossil oil shale": "oil",
    "Geothermal": "geothermal",
    "Hydro Run-of-River": "hydro",
    "Hydro water reservoir": "hydro",
    "Nuclear": "nuclear",
    "Others": "unknown",
    "Other renewables": "hydro",
    "Marine": "hydro",
    "Solar": "solar",
    "Waste": "unknown",
    "Wind offshore": "wind",
    "Wind onshore": "wind",
}
_SOLAR = ("Solar",)
_NO_GENERATION = (  # storage gives back what was counted when it was made; the rest is no generation
    "Battery",
    "Hydro pumped storage",
    "Hydro pumped storage consumption",
    "Cross border electricity trading",
    "Load",
    "Residual load",
    "Renewable share of generation",
    "Renewable share of load",
)


@dataclass(frozen=True)
class EnergyCharts:
    """The provider; zones are bidding zones such as "DE-LU", whose first two letters name the country of the mix.

    Args:
        http: How the network is used.
        basis: "direct" or "lifecycle" carbon of the mix.
        base_url: Address of the provider.
    """

    http: Http
    basis: str = "direct"
    base_url: str = BASE_URL
    name: str = _NAME

    @classmethod
    def from_options(cls, options: Options, http: Http) -> EnergyCharts:
        """Return the provider that the options declare.

        Raises:
            ConfigError: An option is unknown or wrong.
        """
        return cls(http, basis=only_basis(options))

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the price, the carbon intensity of the country's own generation, or its solar part, in [start, end).

        Prices are published to the end of the next day; generation ends an hour or two ago.

        Raises:
            ConfigError: The provider has no such signal.
            DataUnavailable: Nothing usable came (see `Http.get` for its kinds).
        """
        if signal not in _TTL:
            raise ConfigError(f"{_NAME} has no {signal}", fix=f"ask for {', '.join(_TTL)}")
        subject = f"{_NAME}: {signal} of {zone}"
        licences: list[str] = []

        def read(answer: Any) -> Series:
            if isinstance(answer, dict) and isinstance(answer.get("license_info"), str):
                licences.append(answer["license_info"])
            if signal == "price":
                rows = self._prices(answer, subject)
            elif signal == "carbon":
                rows = mix_intensity(self._parts(answer, subject), _FUELS, fuel_factors(self.basis), subject)
            else:
                rows = power_of(self._parts(answer, subject), _SOLAR, signal, subject)
            return replace(self._series(signal, zone, rows), licence=licences[-1] if licences else LICENCE)

        until = min(end, self.http.clock() + _AHEAD)
        windows = [
            Window(first, last, self._request(signal, zone, first, last))
            for first, last in spans(start, until, _WINDOW)
        ]
        nothing = NoValues(
            f"{_NAME} has no {signal} of {zone} from {iso(start)} to {iso(end)}",
            why="it answers so too while ENTSO-E, on which it stands, is out of order",
            fix="check the zone and the span, or use another source that does not stand on ENTSO-E",
        )
        found = fetch_windows(self.http, windows, read, start, end, nothing=nothing)
        series = self._series(signal, zone, found.rows)
        return replace(series, fetched_at=found.fetched_at, licence=licences[-1] if licences else LICENCE)

    def _request(self, signal: str, zone: str, first: datetime, last: datetime) -> Request:
        path, place = ("price", ("bzn", zone)) if signal == "price" else ("public_power", ("country", _country(zone)))
        # The answer holds the row of the end too.
        params = (place, ("start", iso(first)), ("end", iso(last - timedelta(minutes=1))))
        url, settled = f"{self.base_url}/{path}", last + _SETTLED
        return Request(_NAME, f"{signal} of {zone}", url, params, _TTL[signal], settled, absent=((404, ""),))

    def _prices(self, payload: Any, subject: str) -> pd.DataFrame:
        starts, ends = self._times(payload, subject)
        unit = str(payload.get("unit", "")).replace(" ", "")
        if unit != "EUR/MWh":
            raise changed(subject, f"its unit is {payload.get('unit')!r}, agreed is 'EUR / MWh'")
        values = self._values(payload.get("price"), "price", starts, subject) * conversion("price", unit).scale
        kind = np.where(starts < pd.Timestamp(self.http.clock()), "actual", "forecast")
        return pd.DataFrame({"t_start": starts, "t_end": ends, "value": values, "kind": kind, "flags": ""})

    def _parts(self, payload: Any, subject: str) -> pd.DataFrame:
        starts, ends = self._times(payload, subject)
        parts = []
        for entry in entries(payload, "production_types", subject):
            name = entry.get("name")
            if not isinstance(name, str):
                raise changed(subject, f"the name of a type of generation is {name!r}")
            if name not in _NO_GENERATION:
                values = self._values(entry.get("data"), name, starts, subject)
                parts.append(pd.DataFrame({"t_start": starts, "t_end": ends, "part": name, "value": values}))
        if not parts:
            raise NoValues(f"{subject}: the answer has no type of generation", fix="check the zone")
        return pd.concat(parts, ignore_index=True).assign(kind="actual")

    @staticmethod
    def _times(payload: Any, subject: str) -> tuple[pd.DatetimeIndex, pd.DatetimeIndex]:
        stamps = payload.get("unix_seconds") if isinstance(payload, dict) else None
        if not isinstance(stamps, list):
            raise changed(subject, f"it has no list 'unix_seconds': {str(payload)[:120]}")
        if payload.get("deprecated") is True:
            raise changed(subject, "the provider has declared this address out of use")
        if not stamps:
            raise NoValues(f"{subject}: the answer has no rows", fix="try again later")
        for i, stamp in enumerate(stamps):
            if type(stamp) is not int or not 0 <= stamp < _NO_TIME:
                raise changed(subject, f"time {i + 1} is {str(stamp)[:40]!r}, agreed are whole seconds since 1970")
        for a, b in pairwise(stamps):
            if a >= b:
                row = f"{datetime.fromtimestamp(b, UTC):%Y-%m-%dT%H:%M:%SZ}"
                raise changed(
                    subject, f"the row of {row} does not come after the one before it, by rising, unique time"
                )
        starts = pd.to_datetime(stamps, unit="s", utc=True)
        return starts, ends_of(starts, subject)

    @staticmethod
    def _values(
        cells: Any, column: str, starts: pd.DatetimeIndex, subject: str
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        if not isinstance(cells, list) or len(cells) != len(starts):
            raise changed(subject, f"{column} does not have one value for each of its {len(starts)} times")
        return to_numbers(cells, column, lambda i: f"{subject}, row of {starts[i]:%Y-%m-%dT%H:%M:%SZ}")

    def _series(self, signal: str, zone: str, rows: pd.DataFrame) -> Series:
        mixed = f"{zone}, mix of {_country(zone)} x {fuel_factors(self.basis).id}"
        what = {"price": zone, "carbon": mixed}.get(signal, f"{zone}, mix of {_country(zone)}")
        return make_series(
            signal=signal,
            zone=zone,
            rows=rows,
            source=f"{_NAME} {what}",
            licence=LICENCE,
            basis=self.basis if signal == "carbon" else "",
            currency="EUR" if signal == "price" else "",
        )


def _country(zone: str) -> str:
    return zone[:_COUNTRY_LETTERS].lower()
