"""What the tests of faults that feeds of others had share: addresses, small answers, and the mark of a report.

The answers are written for these tests in the shapes that the reports describe.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
import responses

from tests.feeds import entsoe_document, entsoe_series, opened, serving

ENTSOE = re.compile(r"https://web-api\.tp\.entsoe\.eu.*")
PRICE = re.compile(r"https://api\.energy-charts\.info/price.*")
POWER = re.compile(r"https://api\.energy-charts\.info/public_power.*")
EIA = re.compile(r"https://api\.eia\.gov.*")
EM = re.compile(r"https://api\.electricitymaps\.com.*")
UK = re.compile(r"https://api\.carbonintensity\.org\.uk.*")
METEO = re.compile(r"https://(archive-)?api\.open-meteo\.com.*")


def report(*names):
    """One test for each of the reports named."""
    return pytest.mark.parametrize("report", names)


def utc(*parts):
    return datetime(*parts, tzinfo=UTC)


def prices(*series):
    return entsoe_document(*series, kind="Publication_MarketDocument")


def price(first, last, points, **kw):
    return entsoe_series(first, last, points, unit="EUR/MWH", **kw)


def entsoe_prices(document, first, last, *, now=None):
    serving(responses, ENTSOE, lambda p: document)
    series = opened("entsoe", now=now or last).fetch("price", "DE-LU", first, last)
    return (series.rows.set_index("t_start").value * 1000.0).round(6)


def local_file(folder, lines, tz="Europe/Berlin", **options):
    (folder / "local.csv").write_text("t,v\n" + "\n".join(lines), encoding="utf-8")
    declared = {
        "path": str(folder / "local.csv"),
        "time_column": "t",
        "stamp": "start",
        "time_zone": tz,
        "step_minutes": 60,
        "kind": "actual",
        "columns": {"price": {"column": "v", "unit": "EUR/MWh"}},
        **options,
    }
    return opened("csv", **declared)
