"""Forecasts of providers as issued, scored by lead day on what they cover, from what was known at each origin."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from planner.backtest_issued import issued_points, score_issued
from planner.export.backtest import backtest_html, backtest_json, backtest_table
from planner.forecast import boosted
from planner.forecast.backtest import backtest
from planner.forecast.issued import BLEND, NAIVE, issue
from planner.forecast_history import Past
from planner.sources.issued import IssuedForecasts
from planner.sources.series import Series
from tests.forecasts import START, made_up

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FIRST = START + 110 * DAY
ORIGINS = tuple(FIRST + d * DAY for d in range(5))


def series_of(first, values, known_at, *, kind="forecast", source="Seer XX", step=HOUR, basis="direct"):
    t_start = pd.DatetimeIndex([first + i * step for i in range(len(values))])
    rows = pd.DataFrame({"t_start": t_start, "t_end": t_start + step, "value": values, "kind": kind, "flags": ""})
    rows = rows.astype({"t_start": "datetime64[us, UTC]", "t_end": "datetime64[us, UTC]", "value": float})
    return Series("carbon", "XX", "gCO2e/kWh", basis, source, "own", rows, None, known_at)


@pytest.fixture
def issued(tmp_path):
    return IssuedForecasts(tmp_path)


@pytest.fixture(scope="module")
def history():
    return made_up(130)


@pytest.fixture
def past(history):
    said = series_of(START, history.signals["carbon"], START + 130 * DAY, kind="actual")
    return Past(history, {"carbon": said, "price": replace(said, signal="price", unit="EUR/kWh", fetched_at=None)})


@pytest.fixture(scope="module")
def found(history):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosted, "available", lambda: False)
        return backtest(history, ["carbon", "price"], FIRST, ORIGINS[-1], lambda tasks: map(issue, tasks))


def ahead(history, origin, hours, off=0.0):
    at = history.position(origin)
    return history.signals["carbon"][at : at + hours] + off


def test_each_lead_day_on_the_hours_covered_beside_our_models_on_the_same(issued, history, past, found):
    # Known six hours before: 30 hours from then on, 24 of them ahead, all 10 g too low.
    for origin in (ORIGINS[0], ORIGINS[2]):
        first = origin - 6 * HOUR
        issued.keep(series_of(first, ahead(history, first, 30, off=-10.0), first))
    # And one of 36 hours ahead, 40 g too high: a day and a half.
    issued.keep(series_of(ORIGINS[3], ahead(history, ORIGINS[3], 36, off=40.0), ORIGINS[3]))
    (one,) = score_issued(issued, past, found)
    assert (one.signal, one.issues, one.hours) == ("carbon", 3, 24 + 24 + 36)
    assert [errors.model for errors in one.errors] == ["Seer XX", NAIVE, BLEND]
    provider, _, blend = one.errors
    assert provider.mae[:2] == pytest.approx([(10 + 10 + 40) / 3, 40.0])
    assert np.isnan(provider.mae[2:]).all()
    came = np.array([ahead(history, ORIGINS[i], 24) for i in (0, 2, 3)])
    off = np.array([[10.0], [10.0], [40.0]])
    assert provider.mape_pct[0] == pytest.approx(np.mean(100.0 * off / came))
    # Ours is not helped or hurt by hours that the provider left out.
    points = next(s.points for s in found.scored if (s.signal, s.model) == ("carbon", BLEND))
    assert blend.mae[0] == pytest.approx(np.abs(points[[0, 2, 3], :24] - came).mean())
    assert blend.mae[1] == pytest.approx(np.abs(points[3, 24:36] - ahead(history, ORIGINS[3] + DAY, 12)).mean())


def test_what_was_issued_after_the_origin_is_not_used(issued, history, past, found):
    origin = ORIGINS[1]
    issued.keep(series_of(origin, ahead(history, origin, 48, off=25.0), origin - 2 * HOUR))
    (before,) = score_issued(issued, past, found)
    # A second later the provider knew better, and on the day after it knew all: neither was known then.
    issued.keep(series_of(origin, ahead(history, origin, 48), origin + timedelta(seconds=1)))
    points = issued_points(issued, past.series["carbon"], [origin], 168)
    assert points[0, :48] == pytest.approx(ahead(history, origin, 48, off=25.0))
    (after,) = score_issued(issued, past, found)
    assert before.errors[0].mae[0] == pytest.approx(25.0)
    # The later one counts for the origin after it, by the leads that it has there.
    assert (before.issues, after.issues) == (1, 2)
    assert after.errors[0].mae[0] == pytest.approx((25.0 + 0.0) / 2)
    assert after.errors[0].mae[1] == pytest.approx(25.0)


def test_a_forecast_counts_for_one_origin(issued, history, past):
    said = past.series["carbon"]
    issued.keep(series_of(ORIGINS[0], ahead(history, ORIGINS[0], 72), ORIGINS[0] - 5 * HOUR))
    assert (~np.isnan(issued_points(issued, said, ORIGINS, 168))).sum(axis=1).tolist() == [72, 0, 0, 0, 0]
    # One that is known a day before the last origin to the second is that of the origin where it was new.
    issued.keep(series_of(ORIGINS[3], ahead(history, ORIGINS[3], 72), ORIGINS[3]))
    assert (~np.isnan(issued_points(issued, said, ORIGINS, 168))).sum(axis=1).tolist() == [72, 0, 0, 72, 0]


def test_half_hours_and_what_another_source_or_basis_said(issued, history, past):
    said, origin = past.series["carbon"], ORIGINS[0]
    halves = np.repeat(ahead(history, origin, 24), 2) + np.tile([-4.0, 4.0], 24)
    issued.keep(series_of(origin, halves, origin - HOUR, step=HOUR / 2))
    issued.keep(series_of(origin, [1.0] * 24, origin - HOUR / 2, source="Another XX"))
    issued.keep(series_of(origin, [2.0] * 24, origin - HOUR / 3, basis="lifecycle"))
    (points,) = issued_points(issued, said, [origin], 168)
    assert points[:24] == pytest.approx(ahead(history, origin, 24))
    # Where the only one in that day is of another basis, an older one does not stand in for it.
    issued.keep(series_of(ORIGINS[2], [2.0] * 24, ORIGINS[2] - HOUR, basis="lifecycle"))
    assert np.isnan(issued_points(issued, said, [ORIGINS[2]], 168)).all()


def test_a_zone_without_any_says_nothing(issued, past, found, history):
    assert score_issued(issued, past, found) == ()
    document = backtest_json("XX", past, found)
    assert "as_issued" not in json.loads(document)
    assert "As issued" not in "\n".join(backtest_table("XX", past, found))
    assert "As issued" not in backtest_html("XX", past, found).decode()
    issued.keep(series_of(ORIGINS[-1] + 20 * DAY, [3.0] * 24, ORIGINS[0]))  # covers nothing that is scored
    assert score_issued(issued, past, found) == ()


def test_table_page_and_json(issued, history, past, found):
    issued.keep(series_of(ORIGINS[1], ahead(history, ORIGINS[1], 36, off=12.0), ORIGINS[1] - HOUR))
    scores = score_issued(issued, past, found)
    document = json.loads(backtest_json("XX", past, found, None, scores))
    (one,) = document["as_issued"]["signals"]
    assert (one["signal"], one["source"], one["issues"], one["hours"]) == ("carbon", "Seer XX", 1, 36)
    provider = one["models"][0]
    assert provider["by_lead_day"]["mae"] == [pytest.approx(12.0), pytest.approx(12.0), *[None] * 5]
    assert [model["model"] for model in one["models"]] == ["Seer XX", NAIVE, BLEND]
    lines = backtest_table("XX", past, found, None, scores)
    (row,) = [line for line in lines if "Seer XX" in line]
    assert re.fullmatch(r"carbon +Seer XX +1 +36 +[\d.]+ +[\d.]+( +-){5} +[\d.]+ +12", row)
    page = backtest_html("XX", past, found, None, scores).decode()
    assert "<h2>As issued</h2>" in page
    assert "less than 24 h old" in page
    assert "Seer XX" in page
