"""What it takes to read a year of each feed: from the bytes of its answers to checked rows."""

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
from planner.sources.electricity_maps import ElectricityMaps
from planner.sources.energy_charts import EnergyCharts
from planner.sources.entsoe_xml import curves
from planner.sources.http import Http
from planner.sources.request import Request
from planner.sources.rows import make_series
from tests.bench.machine import describe, table
from tests.feeds import HOUR, QUARTER, em_past, entsoe_document, entsoe_series, power_answer, price_answer, times

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
                began = time.perf_counter()
                count = len(read())
                spent.append(time.perf_counter() - began)
            limit = f"at most {LIMIT_S:g}" if "hourly" in name else "-"
            rows.append([name, f"{count:,}", f"{statistics.median(spent):.3f}", f"{max(spent):.3f}", limit])
    print(describe(), end="\n\n")
    print(table(["a year of", "rows", "median, s", f"highest of {ROUNDS}, s", "wanted, s"], rows))


def readers(folder: Path) -> dict:
    """Return what reads a year of each feed."""
    http = Http(cache=None, offline=True, clock=lambda: LAST)
    charts, maps = EnergyCharts(http), ElectricityMaps(http)
    prices = json.dumps(price_answer(FIRST, LAST, HOUR)).encode()
    mix = json.dumps(power_answer(FIRST, LAST, HOUR, **dict.fromkeys("abcdefghijkl", 100.0), Solar=5.0)).encode()
    past = json.dumps(em_past(FIRST, LAST)).encode()
    hours, quarters = ([float(t.hour) for t in times(FIRST, LAST, step)] for step in (HOUR, QUARTER))
    documents = [
        entsoe_document(
            entsoe_series(FIRST, LAST, points, step=step, unit="EUR/MWH"), kind="Publication_MarketDocument"
        )
        for points, step in ((hours, "PT60M"), (quarters, "PT15M"))
    ]
    stamps = list(times(FIRST, LAST, HOUR))
    csv, parquet = folder / "year.csv", folder / "year.parquet"
    csv.write_text("t,v\n" + "".join(f"{t:%Y-%m-%dT%H:%M:%SZ},{t.hour}\n" for t in stamps), encoding="utf-8")
    pd.DataFrame({"t": stamps, "v": hours}).to_parquet(parquet)

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

    def entsoe(text: str) -> pd.DataFrame:
        (curve,) = curves(_decoded(text.encode(), "xml"), "bench")
        return checked(
            curve.rows.assign(value=curve.rows.value / 1e3, kind="actual", flags=""), "price", currency="EUR"
        )

    return {
        "hourly CSV": lambda: file(csv),
        "hourly Parquet": lambda: file(parquet),
        "hourly price, Energy-Charts": lambda: checked(
            charts._prices(_decoded(prices), "bench"), "price", currency="EUR"
        ),
        "hourly mix of 13 types, Energy-Charts": lambda: checked(
            charts._mix(_decoded(mix), "bench"), "carbon", basis="direct"
        ),
        "hourly carbon, Electricity Maps": lambda: checked(maps._rows(_decoded(past), "DE"), "carbon", basis="direct"),
        "hourly price, ENTSO-E": lambda: entsoe(documents[0]),
        "quarter-hourly price, ENTSO-E": lambda: entsoe(documents[1]),
    }


def _decoded(body: bytes, form: str = "json"):
    request = Request("bench", "bench", "http://bench", (), timedelta(0), form=form)
    return decode(Answer(200, {}, body, LAST), request)
