"""Rows of files onto the hours of a past."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from planner.errors import ConfigError, DataUnavailable
from planner.forecast_history import chosen_signals, hour_means, read_past

START = datetime(2024, 5, 13, tzinfo=UTC)
TABLE = """
[sources.{name}]
provider = "csv"
path = "{path}"
time_column = "t"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "{kind}"
columns = {{ {columns} }}
"""
CARBON = 'carbon = { column = "ci", unit = "g/kWh", basis = "direct" }'
WEATHER = 'dry_bulb = { column = "temp", unit = "degC" }, relative_humidity = { column = "rh", unit = "%" }'


def rows_of(*given):
    starts, lengths, values = zip(*given, strict=True)
    t_start = pd.DatetimeIndex([START + timedelta(minutes=m) for m in starts])
    t_end = t_start + pd.to_timedelta(lengths, unit="min")
    return pd.DataFrame({"t_start": t_start, "t_end": t_end, "value": values, "kind": "actual", "flags": ""})


def written(folder, hours, columns=CARBON, kind="actual", name="a", gap=()):
    lines = [f"{(START + timedelta(hours=h)).isoformat()},{'' if h in gap else 100 + h},12,80" for h in range(hours)]
    (folder / f"{name}.csv").write_text("\n".join(["t,ci,temp,rh", *lines]), encoding="utf-8")
    return TABLE.format(name=name, path=f"{name}.csv", kind=kind, columns=columns)


def past_of(folder, *tables):
    file = folder / "sources.toml"
    file.write_text("".join(tables), encoding="utf-8")
    return read_past(file, "zone", START, START + timedelta(days=30))


def test_an_hour_is_the_mean_of_its_rows_weighted_by_time():
    rows = rows_of((0, 15, 100.0), (15, 45, 200.0), (60, 120, 50.0))
    assert hour_means(rows, START, 4).tolist()[:3] == [175.0, 50.0, 50.0]


def test_an_hour_that_is_known_by_less_than_half_is_not_known():
    rows = rows_of((0, 15, 1.0), (60, 30, 2.0), (180, 60, 3.0))
    found = hour_means(rows, START, 4)
    assert np.isnan(found[[0, 2]]).all()
    assert found[[1, 3]].tolist() == [2.0, 3.0]


def test_all_columns_of_all_tables_on_the_hours_they_share(tmp_path):
    past = past_of(tmp_path, written(tmp_path, 100), written(tmp_path, 80, WEATHER, name="b"))
    hours = dict(past.history.signals)
    assert set(hours) == {"carbon", "dry_bulb", "wet_bulb"}
    assert past.history.start == START
    assert hours["carbon"].tolist() == [100.0 + h for h in range(100)]
    assert np.isnan(hours["dry_bulb"][80:]).all()
    assert 9.0 < hours["wet_bulb"][0] < 12.0
    assert past.series["carbon"].basis == "direct"


def test_the_past_begins_with_the_first_whole_day(tmp_path):
    past = past_of(tmp_path, written(tmp_path, 100, gap=(3, 10)))
    assert past.history.start == START + timedelta(hours=11)


def test_signals_to_forecast(tmp_path):
    past = past_of(tmp_path, written(tmp_path, 100, CARBON + ', cloud_cover = { column = "rh", unit = "%" }'))
    assert chosen_signals(past, []) == ["carbon"]
    assert chosen_signals(past, ["carbon", "carbon"]) == ["carbon"]
    with pytest.raises(ConfigError, match="there is no past of price"):
        chosen_signals(past, ["price"])


def test_forecasts_are_no_past(tmp_path):
    with pytest.raises(DataUnavailable, match=r"csv a\.csv has nothing but forecasts of carbon"):
        past_of(tmp_path, written(tmp_path, 100, kind="forecast"))


def test_no_whole_day_in_common(tmp_path):
    with pytest.raises(DataUnavailable, match="carbon have no whole day in common"):
        past_of(tmp_path, written(tmp_path, 23))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[plan]", "has no tables"),
        ("sources = 3", "has no tables"),
        ("[[[", "is no TOML file"),
        ('[sources.carbon]\nprovider = "demo"', "past hours are read from files"),
    ],
)
def test_what_names_no_files_is_refused(tmp_path, text, told):
    with pytest.raises(ConfigError, match=told):
        past_of(tmp_path, text)


def test_a_file_that_is_not_there_and_a_signal_given_twice(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_past(tmp_path / "none.toml", "zone", START, START + timedelta(days=1))
    with pytest.raises(ConfigError, match="carbon is given twice"):
        past_of(tmp_path, written(tmp_path, 50), written(tmp_path, 50, name="b"))
