"""Prices, the generation mix and generation forecasts of European zones from ENTSO-E's transparency platform.

Area codes are those of entsoe-py (the extra `entsoe`); the network and the reading of documents are ours, because a
token must not stand in an error's address, and a curve must not be read past or short of its period.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from planner.errors import ConfigError
from planner.sources.entsoe_xml import Curve, count_series, curves
from planner.sources.fuels import fuel_factors, only_basis
from planner.sources.keys import need_key
from planner.sources.mix import mix_intensity, power_of
from planner.sources.options import did_you_mean
from planner.sources.pages import Page, Paging
from planner.sources.request import Request
from planner.sources.resample import expand, finest
from planner.sources.rows import NoValues, make_series
from planner.sources.shape import changed
from planner.sources.windows import Window, fetch_windows, spans
from planner.timegrid import iso

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.sources.http import Http
    from planner.sources.options import Options
    from planner.sources.series import Series

BASE_URL = "https://web-api.tp.entsoe.eu/api"
LICENCE = "CC BY 4.0, ENTSO-E Transparency Platform and its data owners"

_NAME = "ENTSO-E"
_WINDOW = timedelta(days=7)  # the provider allows a year
_FULL_PAGE = 100  # series of a document
_SETTLED = timedelta(days=5)
_BAN_S = 600.0  # after more than 400 requests in a minute
_TTL = {
    "price": timedelta(minutes=30),
    "carbon": timedelta(minutes=15),
    **dict.fromkeys(("wind_generation", "solar_generation", "generation"), timedelta(hours=1)),
}
_AHEAD = timedelta(days=2)
_FORM = "%Y%m%d%H%M"
_QUARTERS_SINCE = datetime(2025, 9, 30, 22, tzinfo=UTC)  # from then on the coupled auction has quarter hours
_DAY_AHEAD = "A01"
_DOCUMENTS = {
    "price": (("documentType", "A44"), ("contract_MarketAgreement.type", _DAY_AHEAD)),
    "carbon": (("documentType", "A75"), ("processType", "A16")),
    "wind_generation": (("documentType", "A69"), ("processType", "A01")),
    "solar_generation": (("documentType", "A69"), ("processType", "A01")),
    "generation": (("documentType", "A71"), ("processType", "A01")),
}
_PSR = {"wind_generation": ("B18", "B19"), "solar_generation": ("B16",), "generation": ("",)}
_FUELS = {
    "B01": "biomass",
    "B02": "coal",
    "B03": "coal",
    "B04": "gas",
    "B05": "coal",
    "B06": "oil",
    "B07": "oil",
    "B08": "coal",
    "B09": "geothermal",
    "B11": "hydro",
    "B12": "hydro",
    "B13": "hydro",
    "B14": "nuclear",
    "B15": "hydro",
    "B16": "solar",
    "B17": "unknown",
    "B18": "wind",
    "B19": "wind",
    "B20": "unknown",
}
_STORAGE = ("B10", "B25")  # gives back what was counted when it was made
_KW_PER_MW = 1000.0


@dataclass(frozen=True)
class Entsoe:
    """The provider; zones are bidding zones such as "DE-LU", "NO2", "IT-NORD".

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
    def from_options(cls, options: Options, http: Http) -> Entsoe:
        """Return the provider that the options declare.

        Raises:
            ConfigError: An option is unknown or wrong, or entsoe-py is not installed.
        """
        source = cls(http, basis=only_basis(options))
        if find_spec("entsoe") is None:
            raise ConfigError(
                "source 'entsoe' needs entsoe-py, which is not installed", fix="pip install 'gridpace[entsoe]'"
            )
        return source

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return a price, the carbon of the zone's own generation, or a generation forecast, in [start, end).

        Raises:
            ConfigError: The provider has no such signal or zone.
            AuthError: There is no key, or it is refused.
            DataUnavailable: Nothing usable came (see `Http.get` for its kinds).
        """
        if signal not in _DOCUMENTS:
            raise ConfigError(f"{_NAME} has no {signal}", fix=f"ask for one of {', '.join(_DOCUMENTS)}")
        area, subject = area_code(zone), f"{_NAME}: {signal} of {zone}"

        def read(pages: list[Page]) -> Series:
            found = [curve for page in pages for curve in page.items]
            return self._series(signal, zone, self._rows(signal, found, subject))

        def page(root: Any) -> Page:
            return Page(curves(root, subject), count_series(root))

        until = min(end, self.http.clock() + _AHEAD)
        windows = [
            Window(first, last, self._request(signal, zone, area, first, last))
            for first, last in spans(start, until, _WINDOW)
        ]
        nothing = NoValues(
            f"{_NAME} has no {signal} of {zone} from {iso(start)} to {iso(end)}",
            why="prices and forecasts reach to the end of the next day, the mix to an hour or two ago",
            fix="check the zone and the span, or use another source",
        )
        found = fetch_windows(self.http, windows, read, start, end, nothing=nothing, paging=Paging(page, _FULL_PAGE))
        return replace(self._series(signal, zone, found.rows), fetched_at=found.fetched_at)

    def _request(self, signal: str, zone: str, area: str, first: datetime, last: datetime) -> Request:
        domains = ("in_Domain", "out_Domain") if signal == "price" else ("in_Domain",)
        span = (("periodStart", first.strftime(_FORM)), ("periodEnd", last.strftime(_FORM)))
        params = (*_DOCUMENTS[signal], *((domain, area) for domain in domains), *span)
        secret = () if self.http.offline else (("securityToken", need_key("entsoe", _NAME)),)
        return Request(
            _NAME,
            f"{signal} of {zone}",
            self.base_url,
            params,
            _TTL[signal],
            last + _SETTLED,
            form="xml",
            absent=((400, "No matching data"),),
            secret_params=secret,
            ban_s=_BAN_S,
        )

    def _rows(self, signal: str, found: list[Curve], subject: str) -> pd.DataFrame:
        if signal == "price":
            return self._prices(found, subject)
        for curve in found:
            if curve.unit != "MAW":
                raise changed(subject, f"its unit is {curve.unit!r}, agreed is 'MAW' (megawatt)")
        table = _generated(found, subject)
        if signal == "carbon":
            mix = table[~table.part.isin(_STORAGE)].assign(kind="actual")
            return mix_intensity(mix, _FUELS, fuel_factors(self.basis), subject)
        return power_of(table.assign(kind="forecast"), _PSR[signal], signal, subject)

    def _prices(self, found: list[Curve], subject: str) -> pd.DataFrame:
        # 1 is the coupled auction, the others are local ones; intraday auctions stand in the same document.
        kept = [curve for curve in found if curve.sequence == 1 and curve.contract in {"", _DAY_AHEAD}]
        for curve in kept:
            if curve.unit != "EUR/MWH":
                raise changed(subject, f"its unit is {curve.unit!r}, agreed is 'EUR/MWH'")
        parts = [curve.rows.assign(rank=_rank(curve)) for curve in kept if len(curve.rows)]
        if not parts:
            raise NoValues(f"{subject} has no row of the coupled auction", fix="check the span")
        table = _one_resolution(pd.concat(parts, ignore_index=True))
        kind = np.where(table.t_start < pd.Timestamp(self.http.clock()), "actual", "forecast")
        return table.assign(value=table.value / _KW_PER_MW, kind=kind, flags="")

    def _series(self, signal: str, zone: str, rows: pd.DataFrame) -> Series:
        mixed = f", mix x {fuel_factors(self.basis).id}" if signal == "carbon" else ""
        return make_series(
            signal=signal,
            zone=zone,
            rows=rows,
            source=f"{_NAME} {zone}{mixed}",
            licence=LICENCE,
            basis=self.basis if signal == "carbon" else "",
            currency="EUR" if signal == "price" else "",
        )


def area_code(zone: str) -> str:
    """Return the code of a bidding zone, such as "10Y1001A1001A82H" for "DE-LU".

    Raises:
        ConfigError: entsoe-py knows no such zone.
    """
    areas = {area.name: area for area in import_module("entsoe.mappings").Area}
    name = re.sub(r"(?<=[A-Z])(?=\d)", "_", zone.replace("-", "_"))
    if name not in areas:
        known = [area.replace("_", "-") for area in areas]
        raise ConfigError(f"{_NAME} has no zone {zone!r}", fix=f"{did_you_mean(zone, known)}such as DE-LU, FR, NO-2")
    return str(areas[name].code)


def _rank(curve: Curve) -> npt.NDArray[np.float64]:
    """Return how far a price goes before one of another resolution for the same time."""
    minutes = curve.resolution / timedelta(minutes=1)
    return np.where(curve.rows.t_start < pd.Timestamp(_QUARTERS_SINCE), minutes, -minutes)


def _one_resolution(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of the finest resolution, of which none of a lower rank lies over one of a higher."""
    fine = expand(table, finest(table))
    best = fine.groupby("t_start")["rank"].transform("max")
    return fine.loc[fine["rank"] == best, ["t_start", "t_end", "value"]].reset_index(drop=True)


def _generated(found: list[Curve], subject: str) -> pd.DataFrame:
    """Return the rows of all that is generated, with their type of plant; what pumps draw is none."""
    parts = [curve.rows.assign(part=curve.psr) for curve in found if curve.generated]
    if not parts:
        raise NoValues(f"{subject} has no generation", fix="check the zone and the span")
    return pd.concat(parts, ignore_index=True)
