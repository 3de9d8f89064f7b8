"""A site's table of readings: columns and units as declared, every fault named with its row."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from planner.errors import ConfigError
from planner.sources.plant_telemetry import read_plant_telemetry

PLAIN = """time,it_power_kw,dry_bulb_c,fan_kw,note
2024-05-01T01:00:00Z,900,11.5,,b
2024-05-01T00:00:00Z,800,12.5,4.2,a
"""
OWN = """stamp;IT;OAT;CHW flow;speed
01.05.2024 02:00;1.5;50;100;80
01.05.2024 03:00;1.6;59;110;90
"""
COLUMNS = """
time_column = "stamp"
time_zone = "Europe/Berlin"
time_format = "%d.%m.%Y %H:%M"

[columns]
it_power_kw = { column = "IT", unit = "MW" }
dry_bulb_c = { column = "OAT", unit = "degF" }
facility_flow_l_per_min = { column = "CHW flow", unit = "gpm" }
fan_speed = { column = "speed", unit = "%" }
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="telemetry.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return written


def test_columns_named_as_the_signals_are_in_order_of_time(write):
    found, unused = read_plant_telemetry(write(PLAIN))
    assert unused == ("note",)
    assert found.source == "telemetry.csv"
    assert list(found.time) == [np.datetime64("2024-05-01T00:00:00"), np.datetime64("2024-05-01T01:00:00")]
    assert list(found["it_power_kw"]) == [800.0, 900.0]
    assert found["fan_kw"][0] == 4.2
    assert np.isnan(found["fan_kw"][1])
    assert np.isnan(found["chiller_kw"]).all()


def test_gzip_is_unpacked(tmp_path):
    (tmp_path / "telemetry.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    assert len(read_plant_telemetry(tmp_path / "telemetry.csv.gz")[0]) == 2


def test_declared_columns_come_in_the_inside_units(write):
    table = write(OWN.replace(";", ","))
    found, unused = read_plant_telemetry(table, write(COLUMNS, "columns.toml"))
    assert unused == ()
    assert found.time[0] == np.datetime64("2024-05-01T00:00:00")  # summer time is two hours ahead
    assert list(found["it_power_kw"]) == [1500.0, 1600.0]
    assert list(found["dry_bulb_c"]) == pytest.approx([10.0, 15.0])
    assert list(found["facility_flow_l_per_min"]) == pytest.approx([378.5411784, 416.39529624])
    assert list(found["fan_speed"]) == pytest.approx([0.8, 0.9])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PLAIN.replace("it_power_kw", "it_powr_kw"), r"has no column 'it_power_kw'[\s\S]*did you mean \"it_powr_kw\""),
        (PLAIN.replace("4.2", "four"), "row 3: column 'fan_kw' is 'four', which is no number"),
        (PLAIN.replace("12.5", "285.6"), "row 3: column 'dry_bulb_c' gives 285.6 C for dry_bulb_c, outside -60 to 120"),
        (PLAIN.replace("900", "-5"), "row 2: column 'it_power_kw' gives -5 kW"),
        (PLAIN.replace("T01:", "T00:"), "telemetry.csv row 2 and telemetry.csv row 3 have the same time"),
        (PLAIN.replace("2024-05-01T01:00:00Z", "May Day"), "row 2: time 'May Day' cannot be read"),
        (PLAIN.replace("900,11.5", ",11.5").replace("800,12.5", ",12.5"), "it_power_kw has no reading"),
        ("", "has no column 'time'"),
    ],
)
def test_a_wrong_table_is_told_with_its_row(write, text, told):
    with pytest.raises(ConfigError, match=told):
        read_plant_telemetry(write(text))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"MW"', '"GW"', "unit 'GW' is none of it_power_kw"),
        ('"degF"', '"deg"', "unit 'deg' is none of dry_bulb"),
        ("fan_speed =", "fan_sped =", r"columns has no signal 'fan_sped'[\s\S]*did you mean \"fan_speed\""),
        ("dry_bulb_c = {", "wet_bulb_c = {", "columns lacks dry_bulb_c"),
        ('{ column = "speed", unit = "%" }', '"speed"', "columns.fan_speed is 'speed'; it must be a table"),
        ('unit = "%" }', 'unit = "%", scale = 2 }', "has no option 'scale'"),
        ("[columns]", "[columns", "columns.toml is no TOML"),
    ],
)
def test_a_wrong_declaration_is_told(write, old, new, told):
    table, columns = write(OWN.replace(";", ",")), write(COLUMNS.replace(old, new), "columns.toml")
    with pytest.raises(ConfigError, match=told):
        read_plant_telemetry(table, columns)


def test_a_file_that_is_not_there_is_told(tmp_path, write):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_plant_telemetry(tmp_path / "none.csv")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_plant_telemetry(write(PLAIN), tmp_path / "none.toml")
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_plant_telemetry(tmp_path / "broken.parquet")


def test_a_long_name_is_cut_for_the_sources_of_settings(write):
    found, _ = read_plant_telemetry(write(PLAIN, f"{'x' * 60}.csv"))
    assert len(found.source) == 40
    assert found.source.endswith("x.csv")
