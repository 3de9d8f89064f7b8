"""What it takes to read a year of each feed, from the bytes of its answers to checked rows: time of the processor."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd

from planner.sources import SourceSpec, open_source
from planner.sources.answers import decode
from planner.sources.cache import Answer
from planner.sources.eia import _page as eia_page
from planner.sources.eia import _parts as eia_parts
from planner.sources.electricity_maps import ElectricityMaps
from planner.sources.energy_charts import EnergyCharts
from planner.sources.entsoe import Entsoe
from planner.sources.entsoe_xml import curves
from planner.sources.fuels import fuel_factors
from planner.sources.http import Http
from planner.sources.mix import mix_intensity
from planner.sources.open_meteo import OpenMeteo
from planner.sources.request import Request
from planner.sources.rows import make_series
from planner.sources.uk_carbon_intensity import UkCarbonIntensity
from planner.sources.watttime import WattTime
from tests.bench.machine import describe, table
from tests.feeds import (
    HALF,
    HOUR,
    QUARTER,
    eia_answer,
    em_past,
    em_prices,
    entsoe_document,
    entsoe_series,
    moer_answer,
    power_answer,
    price_answer,
    times,
)

FIRST, LAST = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
LIMIT_S = 0.5
ROUNDS = 5


def main(arguments: list[str]) -> None:
    """Print the table; takes no options."""
    if arguments:
        sys.exit(f"feeds takes no options, not {arguments}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, read in readers(Path(folder)).items():
            spent = []
            for _ in range(ROUNDS):
                began = time.process_time()
                count = len(read())
                spent.append(time.process_time() - began)
            limit = f"at most {LIMIT_S:g}" if "hourly" in name else "-"
            rows.append([name, f"{count:,}", f"{statistics.median(spent):.3f}", f"{max(spent):.3f}", limit])
    print(describe(), end="\n\n")
    print(table(["a year of", "rows", "median, CPU s", f"highest of {ROUNDS}, CPU s", "wanted, s"], rows))


def readers(folder: Path) -> dict:
    """Return what reads a year of each feed."""
    http = Http(cache=None, offline=True, clock=lambda: LAST)
    charts, maps = EnergyCharts(http), ElectricityMaps(http)
    weather = OpenMeteo(http, 51.0, 10.0)
    prices = json.dumps(price_answer(FIRST, LAST, HOUR)).encode()
    types = dict.fromkeys("abcdefghijkl", 100.0)
    mix = json.dumps(power_answer(FIRST, LAST, HOUR, **types, Solar=5.0)).encode()
    past = json.dumps(em_past(FIRST, LAST)).encode()
    sold = json.dumps(em_prices(FIRST, LAST)).encode()
    marginal = json.dumps(moer_answer(FIRST, LAST)).encode()
    fuels = dict.fromkeys(("COL", "NG", "OIL", "NUC", "WAT", "WND", "SUN", "GEO", "BIO", "OTH"), 100)
    generated = json.dumps(eia_answer(FIRST, LAST, fuels=fuels)).encode()
    hours, quarters = ([float(t.hour) for t in times(FIRST, LAST, step)] for step in (HOUR, QUARTER))
    sold_hours, sold_quarters = (
        entsoe_document(
            entsoe_series(FIRST, LAST, points, step=step, unit="EUR/MWH"), kind="Publication_MarketDocument"
        )
        for points, step in ((hours, "PT60M"), (quarters, "PT15M"))
    )
    made = entsoe_document(*(entsoe_series(FIRST, LAST, hours, psr=f"B{i:02d}") for i in range(1, 13)))
    stamps = list(times(FIRST, LAST, HOUR))
    csv, parquet = folder / "year.csv", folder / "year.parquet"
    csv.write_text("t,v\n" + "".join(f"{t:%Y-%m-%dT%H:%M:%SZ},{t.hour}\n" for t in stamps), encoding="utf-8")
    pd.DataFrame({"t": stamps, "v": hours}).to_parquet(parquet)
    entsoe = Entsoe(http)

    def file(path: Path) -> pd.DataFrame:
        options = {
            "path": str(path),
            "time_column": "t",
            "stamp": "start",
            "time_zone": "UTC",
            "step_minutes": 60,
            "kind": "actual",
            "columns": {"price": {"column": "v", "unit": "EUR/MWh"}},
        }
        return open_source(SourceSpec("csv", options)).fetch("price", "X", FIRST, LAST).rows

    def checked(rows: pd.DataFrame, signal: str, **meaning: str) -> pd.DataFrame:
        return make_series(signal=signal, zone="X", rows=rows, source="bench", licence="", **meaning).rows

    def of_maps(body: bytes, signal: str) -> pd.DataFrame:
        rows, currency = maps._rows(_decoded(body), signal, "DE", "bench")
        return checked(rows, signal, currency=currency, basis="direct" if signal == "carbon" else "")

    def of_entsoe(text: str, signal: str) -> pd.DataFrame:
        rows = entsoe._rows(signal, curves(_decoded(text.encode(), "xml"), "bench"), "bench")
        return entsoe._series(signal, "DE-LU", rows).rows

    def of_charts(body: bytes, signal: str) -> pd.DataFrame:
        answer = _decoded(body)
        if signal == "price":
            return checked(charts._prices(answer, "bench"), "price", currency="EUR")
        parts = charts._parts(answer, "bench")
        return checked(mix_intensity(parts, {}, fuel_factors("direct"), "bench"), "carbon", basis="direct")

    def of_eia(body: bytes) -> pd.DataFrame:
        parts = eia_parts([eia_page(_decoded(body), "CISO", "bench")], "bench")
        return checked(mix_intensity(parts, {}, fuel_factors("direct"), "bench"), "carbon", basis="direct")

    def of_watttime(body: bytes) -> pd.DataFrame:
        rows, _ = WattTime._rows(_decoded(body), "CAISO_NORTH", LAST)
        return checked(rows, "carbon", basis="marginal")

    hourly = [f"{t:%Y-%m-%dT%H:%M}" for t in stamps]
    halves = json.dumps({"data": _uk_rows()}).encode()
    sky = json.dumps(
        {
            "utc_offset_seconds": 0,
            "elevation": 100.0,
            "hourly_units": {"temperature_2m": "°C", "relative_humidity_2m": "%"},
            "hourly": {"time": hourly, "temperature_2m": hours, "relative_humidity_2m": [50.0] * len(hours)},
        }
    ).encode()
    britain = UkCarbonIntensity(http)
    british_mix = UkCarbonIntensity(http, basis="lifecycle")
    return {
        "hourly CSV": lambda: file(csv),
        "hourly Parquet": lambda: file(parquet),
        "half-hourly carbon, UK Carbon Intensity": lambda: britain._read(_decoded(halves), "GB", LAST).rows,
        "half-hourly mix of 9 types, UK Carbon Intensity": lambda: british_mix._read(_decoded(halves), "GB", LAST).rows,
        "hourly price, Energy-Charts": lambda: of_charts(prices, "price"),
        "hourly mix of 13 types, Energy-Charts": lambda: of_charts(mix, "carbon"),
        "hourly wet bulb, Open-Meteo": lambda: weather._read(_decoded(sky), "wet_bulb", "X", LAST).rows,
        "hourly carbon, Electricity Maps": lambda: of_maps(past, "carbon"),
        "hourly price, Electricity Maps": lambda: of_maps(sold, "price"),
        "hourly mix of 10 types, EIA": lambda: of_eia(generated),
        "hourly price, ENTSO-E": lambda: of_entsoe(sold_hours, "price"),
        "hourly mix of 12 types, ENTSO-E": lambda: of_entsoe(made, "carbon"),
        "quarter-hourly price, ENTSO-E": lambda: of_entsoe(sold_quarters, "price"),
        "five-minute carbon, WattTime": lambda: of_watttime(marginal),
    }


def _uk_rows() -> list[dict]:
    form = "%Y-%m-%dT%H:%MZ"
    fuels = ("biomass", "coal", "imports", "gas", "nuclear", "other", "hydro", "solar", "wind")
    mix = [{"fuel": fuel, "perc": 100 / len(fuels)} for fuel in fuels]
    return [
        {
            "from": f"{t:{form}}",
            "to": f"{t + HALF:{form}}",
            "intensity": {"forecast": 100, "actual": 101, "index": "low"},
            "generationmix": mix,
        }
        for t in times(FIRST, LAST, HALF)
    ]


def _decoded(body: bytes, form: str = "json"):
    request = Request("bench", "bench", "http://bench", (), timedelta(0), form=form)
    return decode(Answer(200, {}, body, LAST), request)
