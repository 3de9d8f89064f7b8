"""Files of the user's own: units, time and meaning declared."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from planner.errors import ConfigError, DataUnavailable
from planner.sources import SourceSpec, open_source

START, END = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
PRICE = {"price": {"column": "price", "unit": "EUR/MWh"}}


def source(path, **changes):
    given = {
        "path": str(path),
        "time_column": "time",
        "stamp": "start",
        "time_zone": "UTC",
        "step_minutes": 60,
        "kind": "actual",
        "columns": PRICE,
    }
    options = {k: v for k, v in {**given, **changes}.items() if v is not None}
    return open_source(SourceSpec("csv", options))


def written(tmp_path, *lines, name="price.csv"):
    path = tmp_path / name
    path.write_text("\n".join(("time,price", *lines)) + "\n", encoding="utf-8")
    return path


def fetch(path, signal="price", **changes):
    return source(path, **changes).fetch(signal, "DE-LU", START, END)


def starts(series):
    return [f"{t:%m-%dT%H:%M}" for t in series.rows.t_start]


def test_units_are_converted_as_declared(tmp_path):
    path = written(tmp_path, "2024-05-13T00:00Z,80", "2024-05-13T01:00Z,-5")
    series = fetch(path)
    assert series.unit == "EUR/kWh"
    assert series.rows.value.tolist() == pytest.approx([0.08, -0.005])
    assert (series.source, series.licence, series.fetched_at) == ("csv price.csv", "not declared", None)


@pytest.mark.parametrize(
    ("signal", "unit", "cell", "inside"),
    [
        ("carbon", "lb/MWh", 1000, 453.59237),
        ("carbon", "kg/kWh", 0.4, 400.0),
        ("carbon", "t/MWh", 0.4, 400.0),
        ("dry_bulb", "degF", 50, 10.0),
        ("wet_bulb", "K", 273.15, 0.0),
        ("ghi", "kW/m2", 0.8, 800.0),
        ("carbon", "gCO2eq/kWh", 150.0, 150.0),
        ("wind_speed_100m", "km/h", 36, 10.0),
        ("wind_speed_10m", "km/h", 36, 10.0),
        ("cloud_cover", "fraction", 0.25, 25.0),
        ("price", "GBP/kWh", 0.2, 0.2),
    ],
)
def test_every_unit_has_its_line(tmp_path, signal, unit, cell, inside):
    column = {"column": "price", "unit": unit, **({"basis": "marginal"} if signal == "carbon" else {})}
    series = fetch(written(tmp_path, f"2024-05-13T00:00Z,{cell}"), signal, columns={signal: column})
    assert series.rows.value.tolist() == pytest.approx([inside])


def test_a_thousandfold_wrong_unit_is_seen(tmp_path):
    path = written(tmp_path, "2024-05-13T00:00Z,80")
    with pytest.raises(ConfigError, match=r"price\.csv row 2, column 'price': price is 80 EUR/kWh; possible are -25"):
        fetch(path, columns={"price": {"column": "price", "unit": "EUR/kWh"}})


def test_hour_ending_stamps_are_moved_back(tmp_path):
    path = written(tmp_path, "2024-05-13T01:00Z,80")
    assert starts(fetch(path, stamp="end")) == ["05-13T00:00"]
    assert starts(fetch(path, stamp="start")) == ["05-13T01:00"]


def test_local_times_are_read_in_their_zone(tmp_path):
    path = written(tmp_path, "2024-01-15 00:00,80", "2024-07-15 00:00,70")
    assert starts(fetch(path, time_zone="Europe/Berlin")) == ["01-14T23:00", "07-14T22:00"]


@pytest.mark.parametrize("stamp", ["9999-12-31T23:00:00-12:00", "0001-01-01T00:00", "0001-01-01T00:00:00+14:00"])
@pytest.mark.parametrize("tz", ["UTC", "Europe/Berlin", "Pacific/Auckland"])
def test_a_stamp_at_the_ends_of_the_calendar_is_told_by_its_row(tmp_path, stamp, tz):
    path = written(tmp_path, "2024-05-13T00:00,80", f"{stamp},81")
    with pytest.raises(ConfigError, match=r"price\.csv row 3: time .* cannot be read as ISO 8601 in the years 1971"):
        fetch(path, time_zone=tz)


def test_an_offset_in_the_stamp_rules(tmp_path):
    path = written(tmp_path, "2024-07-15 00:00+05:30,80")
    assert starts(fetch(path, time_zone="Europe/Berlin")) == ["07-14T18:30"]


DOUBLED = ("2024-10-27 01:00,1", "2024-10-27 02:00,2", "2024-10-27 02:00,3", "2024-10-27 03:00,4")
HOURS = ["10-26T23:00", "10-27T00:00", "10-27T01:00", "10-27T02:00"]


def test_the_doubled_hour_is_resolved_by_order(tmp_path):
    series = fetch(written(tmp_path, *DOUBLED), time_zone="Europe/Berlin")
    assert starts(series) == HOURS
    assert (series.rows.value * 1000).tolist() == pytest.approx([1, 2, 3, 4])


def test_in_a_file_that_runs_backward_the_first_is_winter_time(tmp_path):
    series = fetch(written(tmp_path, *reversed(DOUBLED)), time_zone="Europe/Berlin")
    assert starts(series) == HOURS
    assert (series.rows.value * 1000).tolist() == pytest.approx([1, 2, 3, 4])


def test_quarter_hours_of_the_doubled_hour(tmp_path):
    local = [f"2024-10-27 02:{m:02d}" for m in (0, 15, 30, 45)] * 2
    path = written(tmp_path, *(f"{t},{i}" for i, t in enumerate(local)))
    series = fetch(path, time_zone="Europe/Berlin", step_minutes=15)
    assert starts(series) == [f"10-27T0{h}:{m:02d}" for h in (0, 1) for m in (0, 15, 30, 45)]
    assert (series.rows.value * 1000).tolist() == pytest.approx(list(range(8)))


def test_a_shuffled_doubled_hour_is_refused(tmp_path):
    lines = (DOUBLED[3], DOUBLED[1], DOUBLED[0], DOUBLED[2], "2024-10-27 05:00,9")
    with pytest.raises(ConfigError, match=r"row 3: local time 2024-10-27 02:00:00 exists twice.*in no order"):
        fetch(written(tmp_path, *lines), time_zone="Europe/Berlin")


def test_three_rows_for_the_doubled_hour_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="and 3 rows have it"):
        fetch(written(tmp_path, *DOUBLED[:3], DOUBLED[2], DOUBLED[3]), time_zone="Europe/Berlin")


def test_one_row_for_the_doubled_hour_needs_a_word(tmp_path):
    path = written(tmp_path, DOUBLED[0], DOUBLED[1], DOUBLED[3])
    with pytest.raises(
        ConfigError, match=r"row 3: local time .* exists twice in Europe/Berlin and the file has one row"
    ):
        fetch(path, time_zone="Europe/Berlin")
    assert starts(fetch(path, time_zone="Europe/Berlin", ambiguous="first"))[1] == "10-27T00:00"
    assert starts(fetch(path, time_zone="Europe/Berlin", ambiguous="last"))[1] == "10-27T01:00"


def test_the_hour_that_does_not_exist_is_refused(tmp_path):
    path = written(tmp_path, "2024-03-31 01:00,1", "2024-03-31 02:00,2", "2024-03-31 03:00,3")
    with pytest.raises(ConfigError, match="row 3: local time 2024-03-31 02:00:00 does not exist in Europe/Berlin"):
        fetch(path, time_zone="Europe/Berlin")


def test_formats_are_declared(tmp_path):
    path = tmp_path / "markt.csv"
    path.write_text("# von Hand\ntime;price\n\n13.05.2024 00:00;71,94\n", encoding="utf-8-sig")
    with pytest.raises(ConfigError, match=r"markt\.csv row 4: time '13\.05\.2024 00:00' cannot be read as ISO 8601"):
        fetch(path, delimiter=";", decimal=",", comment="#")
    series = fetch(path, delimiter=";", decimal=",", comment="#", time_format="%d.%m.%Y %H:%M")
    assert starts(series) == ["05-13T00:00"]
    assert series.rows.value.tolist() == pytest.approx([0.07194])


def test_row_numbers_are_those_of_an_editor(tmp_path):
    path = written(tmp_path, "2024-05-13T00:00Z,80", "", "2024-05-13T01:00Z,eighty")
    with pytest.raises(ConfigError, match=r"price\.csv row 4: column 'price' is 'eighty', which is no number"):
        fetch(path)


def test_duplicates_are_resolved_or_named(tmp_path):
    path = written(tmp_path, "2024-05-13T00:00Z,80", "2024-05-13T00:00Z,80")
    assert fetch(path).rows["flags"].tolist() == ["duplicate_resolved"]
    path = written(tmp_path, "2024-05-13T00:00Z,80", "2024-05-13T00:00Z,81")
    with pytest.raises(
        ConfigError, match=r"row 3, column 'price': price of DE-LU is 0\.081 .* row 2, column 'price' says"
    ):
        fetch(path)


def test_a_finer_step_than_declared_is_seen(tmp_path):
    path = written(tmp_path, "2024-05-13T00:00Z,80", "2024-05-13T00:15Z,81")
    with pytest.raises(ConfigError, match="row 3, column 'price': the row starts before the row before it ends"):
        fetch(path)
    assert len(fetch(path, step_minutes=15).rows) == 2


def test_empty_cells_are_gaps(tmp_path):
    path = written(
        tmp_path, "2024-05-13T00:00Z,80", "2024-05-13T01:00Z,", "2024-05-13T02:00Z,NaN", "2024-05-13T03:00Z,0"
    )
    assert starts(fetch(path)) == ["05-13T00:00", "05-13T03:00"]


def test_ragged_rows_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"price\.csv row 3 has 3 cells where the header has 2"):
        fetch(written(tmp_path, "2024-05-13T00:00Z,80", "2024-05-13T01:00Z,8,1"))


def test_a_missing_column_is_named_with_a_likely_one(tmp_path):
    path = written(tmp_path, "2024-05-13T00:00Z,80")
    with pytest.raises(
        ConfigError, match=r'(?s)no column \'prise\'.*did you mean "price"\? its columns are time, price'
    ):
        fetch(path, columns={"price": {"column": "prise", "unit": "EUR/MWh"}})


def test_a_column_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("time,price,price\n2024-05-13T00:00Z,1,2\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="has 2 columns 'price'"):
        fetch(path)


def test_a_span_without_rows_says_what_the_file_covers(tmp_path):
    path = written(tmp_path, "2023-05-13T00:00Z,80", "2023-05-13T01:00Z,80")
    with pytest.raises(DataUnavailable, match="rows go from 2023-05-13T00:00:00Z to 2023-05-13T02:00:00Z"):
        fetch(path)


def test_rows_that_only_touch_the_span_are_returned(tmp_path):
    path = written(tmp_path, "2024-05-13T00:00Z,80", "2024-05-13T01:00Z,81", "2024-05-13T02:00Z,82")
    start = datetime(2024, 5, 13, 0, 30, tzinfo=UTC)
    series = source(path).fetch("price", "DE-LU", start, start + timedelta(hours=1))
    assert starts(series) == ["05-13T00:00", "05-13T01:00"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stamp": None}, "needs the option 'stamp'"),
        ({"stamp": None, "kind": None, "step_minutes": None}, "needs the options 'stamp', 'step_minutes', 'kind'"),
        (
            {"stampp": "start", "stamp": None, "kind": None},
            "(?s)needs the options 'stamp', 'kind'.*'stampp' instead of",
        ),
        ({"stamp": "middle"}, "stamp is 'middle'; allowed are start, end"),
        ({"time_zone": "Berlin"}, "time zone 'Berlin' is not known"),
        ({"step_minutes": 0}, "step_minutes is 0; it must lie in 1 to 1440"),
        ({"step_minutes": True}, "step_minutes is True; it must be a number"),
        ({"columns": {}}, "columns is {}; it must be a table"),
        ({"columns": {"prise": {"column": "price", "unit": "EUR/MWh"}}}, '(?s)no signal.*did you mean "price"'),
        ({"columns": {"price": "price"}}, "columns.price is 'price'; it must be a table"),
        ({"columns": {"price": {"column": "price", "unit": "per_mwh"}}}, "unit 'per_mwh' is none of price"),
        ({"columns": {"carbon": {"column": "price", "unit": "g/kWh"}}}, "needs the option 'basis'"),
        ({"columns": {"ghi": {"column": "price", "unit": "w/m2"}}}, '(?s)none of ghi.*did you mean "W/m2"'),
        ({"stampp": "start", "stamp": None}, "(?s)needs the option 'stamp'.*it has 'stampp' instead"),
        ({"delimeter": ";"}, "(?s)no option 'delimeter'.*did you mean \"delimiter\""),
    ],
)
def test_options_are_declared_and_checked(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        source(written(tmp_path, "2024-05-13T00:00Z,80"), **changes)


def test_a_signal_that_is_not_declared_is_named(tmp_path):
    with pytest.raises(ConfigError, match="has no column for dry_bulb"):
        fetch(written(tmp_path, "2024-05-13T00:00Z,80"), "dry_bulb")


def test_a_wet_bulb_is_derived_from_humidity_and_flagged(tmp_path):
    path = tmp_path / "weather.csv"
    path.write_text("time,t,rh\n2024-07-01T12:00Z,30,50\n2024-07-01T13:00Z,30,\n", encoding="utf-8")
    columns = {
        "dry_bulb": {"column": "t", "unit": "degC"},
        "relative_humidity": {"column": "rh", "unit": "%"},
    }
    series = fetch(path, "wet_bulb", columns=columns)
    # A psychrometric chart at sea level gives 22.0 deg C for 30 deg C and 50 %.
    assert series.rows.value.tolist() == pytest.approx([22.0], abs=0.05)
    assert series.rows["flags"].tolist() == ["derived"]


def test_gzip_and_parquet_hold_the_same(tmp_path):
    text = "time,price\n2024-05-13T00:00Z,80\n2024-05-13T01:00Z,\n"
    packed = tmp_path / "price.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    parquet = tmp_path / "price.parquet"
    times = pd.to_datetime(["2024-05-13T00:00Z", "2024-05-13T01:00Z"])
    pd.DataFrame({"time": times, "price": [80.0, None]}).to_parquet(parquet)
    assert fetch(packed).rows.equals(fetch(parquet).rows)


def test_parquet_rows_are_named_by_place(tmp_path):
    path = tmp_path / "price.parquet"
    times = pd.to_datetime(["2024-03-31T01:00", "2024-03-31T02:00"])
    pd.DataFrame({"time": times, "price": [80.0, 81.0]}).to_parquet(path)
    with pytest.raises(ConfigError, match=r"price\.parquet row 2: local time 2024-03-31 02:00:00 does not exist"):
        fetch(path, time_zone="Europe/Berlin")


def test_a_week_of_a_real_trace(shared_data):
    path = shared_data / "grid" / "DE-LU_2021-2024_hourly.csv.gz"
    columns = {
        "carbon": {"column": "ci_direct_g_per_kwh", "unit": "g/kWh", "basis": "direct"},
        "price": {"column": "price_per_mwh", "unit": "EUR/MWh"},
    }
    real = source(path, time_column="utc_start", columns=columns)
    start = datetime(2024, 1, 29, tzinfo=UTC)
    carbon = real.fetch("carbon", "DE-LU", start, start + timedelta(days=7))
    price = real.fetch("price", "DE-LU", start, start + timedelta(days=7))
    assert len(carbon.rows) == 168
    assert len(price.rows) == 168 - 24  # the trace lacks the prices of a whole day
    assert 0.0 < carbon.rows.value.min() < carbon.rows.value.max() < 900.0


def test_real_prices_in_naive_local_time(shared_data, tmp_path):
    real = shared_data / "grid" / "fixtures" / "price_DE_naive_local_bad_DST_2024.csv"
    changes = {
        "time_column": "Datetime",
        "time_zone": "Europe/Berlin",
        "columns": {"price": {"column": "Price (EUR/MWh)", "unit": "EUR/MWh"}},
    }
    with pytest.raises(ConfigError, match="row 52: local time 2024-03-31 02:00:00 does not exist"):
        fetch(real, **changes)
    path = tmp_path / "mended.csv"
    lines = real.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:51] + lines[52:]), encoding="utf-8")
    with pytest.raises(ConfigError, match="row 75: local time 2024-10-27 02:00:00 exists twice"):
        fetch(path, **changes)
    series = fetch(path, ambiguous="last", **changes)
    assert len(series.rows) == len(lines) - 2
    autumn = series.rows[series.rows.t_start >= "2024-10-26"]
    assert (autumn.t_start.diff().dt.total_seconds() / 3600).dropna().tolist() == [1, 2] + [1] * 21
