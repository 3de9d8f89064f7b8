"""What every provider's rows must be before anything is planned on them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from planner.errors import ConfigError, DataUnavailable, SchemaChanged
from planner.sources.rows import add_flag, make_series, to_number, to_numbers


def frame(values, starts=None, *, kind="actual", minutes=60):
    t = pd.DatetimeIndex(starts or pd.date_range("2024-05-13", periods=len(values), freq="h", tz="UTC"))
    if t.tz is None:
        t = t.tz_localize("UTC")
    return pd.DataFrame(
        {"t_start": t, "t_end": t + pd.Timedelta(minutes=minutes), "value": values, "kind": kind, "flags": ""}
    )


def carbon(rows, **changes):
    given = {"signal": "carbon", "zone": "GB", "source": "test", "licence": "own", "basis": "direct"}
    return make_series(rows=rows, **{**given, **changes})


def price(rows, currency="EUR"):
    return carbon(rows, signal="price", basis="", currency=currency)


def test_rows_come_sorted_in_utc_with_the_unit_of_the_signal():
    rows = frame([3.0, 1.0, 2.0], ["2024-05-13T02:00", "2024-05-13T00:00", "2024-05-13T01:00"])
    series = carbon(rows)
    assert series.unit == "gCO2e/kWh"
    assert series.rows.value.tolist() == [1.0, 2.0, 3.0]
    assert str(series.rows.t_start.dtype) == str(series.rows.t_end.dtype) == "datetime64[us, UTC]"
    assert price(rows).unit == "EUR/kWh"


def test_null_is_a_gap_and_never_zero():
    series = carbon(frame([100.0, None, math.nan, 120.0]))
    assert series.rows.value.tolist() == [100.0, 120.0]
    assert [t.hour for t in series.rows.t_start] == [0, 3]


def test_all_null_is_no_data():
    with pytest.raises(DataUnavailable, match="no value of carbon of GB"):
        carbon(frame([None, None]))


def test_numbers_written_as_text_are_read():
    assert carbon(frame(["20", " 21.5 ", "1e2", "null", ""])).rows.value.tolist() == [20.0, 21.5, 100.0]


@pytest.mark.parametrize("cell", ["1,234", "1_000", "12 g", "0x10", "inf", "1e999", True, [1], math.inf])
def test_cells_that_are_no_plain_number_are_refused(cell):
    with pytest.raises(ValueError):
        to_number(cell)


def test_the_decimal_comma_is_declared_and_then_the_only_one():
    assert to_number("71,94", decimal=",") == 71.94
    for text in ("71.94", "1.234,5"):
        with pytest.raises(ValueError):
            to_number(text, decimal=",")


def test_text_among_numbers_names_the_row():
    with pytest.raises(
        SchemaChanged, match=r"row of 2024-05-13T01:00:00Z: carbon of GB is 'n\.v\.', which is no number"
    ):
        carbon(frame(["20", "n.v."]))


def test_infinite_values_are_refused():
    with pytest.raises(SchemaChanged, match="02:00:00Z: carbon of GB is infinite"):
        carbon(frame([1.0, 2.0, math.inf]))


def test_equal_duplicates_become_one_flagged_row():
    series = carbon(frame([5.0, 5.0, 6.0], ["2024-05-13T00:00", "2024-05-13T00:00", "2024-05-13T01:00"]))
    assert series.rows.value.tolist() == [5.0, 6.0]
    assert series.rows["flags"].tolist() == ["duplicate_resolved", ""]


def test_conflicting_duplicates_name_both_rows():
    rows = frame([5.0, 6.0, 5.5], ["2024-05-13T00:00", "2024-05-13T01:00", "2024-05-13T00:00"])
    with pytest.raises(SchemaChanged, match=r"00:00:00Z: carbon of GB is 5\.5 .* says 5 "):
        carbon(rows)


def test_duplicates_of_different_length_conflict():
    rows = frame([5.0, 5.0], ["2024-05-13T00:00", "2024-05-13T00:00"])
    rows.loc[1, "t_end"] += pd.Timedelta(hours=1)
    with pytest.raises(SchemaChanged, match="start at the same time and differ"):
        carbon(rows)


def test_overlapping_rows_are_refused():
    with pytest.raises(SchemaChanged, match=r"starts before the row before it ends .* 60 min long"):
        carbon(frame([5.0, 6.0], ["2024-05-13T00:00", "2024-05-13T00:15"]))


def test_an_empty_interval_is_refused():
    with pytest.raises(SchemaChanged, match="interval ends at or before its start"):
        carbon(frame([5.0], minutes=0))


@pytest.mark.parametrize(("value", "ok"), [(0.0, True), (1500.0, True), (-0.1, False), (1500.1, False)])
def test_carbon_intensity_lies_between_0_and_1500(value, ok):
    if ok:
        assert carbon(frame([value])).rows.value.tolist() == [value]
    else:
        with pytest.raises(SchemaChanged, match=r"possible are 0 to 1500 gCO2e/kWh"):
            carbon(frame([value]))


def test_a_jump_by_a_thousand_is_refused_and_counted():
    with pytest.raises(SchemaChanged, match=r"03:00:00Z: carbon is 210000 .*\nwhy: 1 of 4 rows lie outside"):
        carbon(frame([210.0, 220.0, 230.0, 210_000.0]))


def test_prices_may_be_negative_but_not_a_thousandfold():
    assert price(frame([-0.5, 0.08])).rows.value.tolist() == [-0.5, 0.08]
    with pytest.raises(SchemaChanged, match=r"price is 71\.94 EUR/kWh; possible are -25 to 25"):
        price(frame([71.94]))
    assert price(frame([71.94]), "JPY").rows.value.tolist() == [71.94]


@pytest.mark.parametrize(("signal", "bad"), [("dry_bulb", 280.0), ("wet_bulb", -61.0), ("ghi", 1501.0), ("ghi", -5.1)])
def test_weather_out_of_this_world_is_refused(signal, bad):
    with pytest.raises(SchemaChanged, match="possible are"):
        carbon(frame([bad]), signal=signal, basis="")


def test_a_night_a_little_below_zero_is_clipped_and_flagged():
    series = carbon(frame([-2.0, 0.0, 300.0]), signal="ghi", basis="")
    assert series.rows.value.tolist() == [0.0, 0.0, 300.0]
    assert series.rows["flags"].tolist() == ["clipped", "", ""]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"signal": "carbno"}, "no signal 'carbno'"),
        ({"basis": ""}, "basis of carbon is ''"),
        ({"basis": "average"}, "basis of carbon is 'average'"),
        ({"signal": "dry_bulb"}, "basis of dry_bulb is 'direct'"),
        ({"signal": "price", "basis": ""}, "currency of price is ''"),
        ({"currency": "EUR"}, "currency of carbon is 'EUR'"),
    ],
)
def test_meaning_is_declared(changes, message):
    with pytest.raises(ConfigError, match=message):
        carbon(frame([5.0]), **changes)


def test_an_unknown_kind_is_refused():
    with pytest.raises(SchemaChanged, match="kind is 'measured'"):
        carbon(frame([5.0], kind="measured"))


def test_flags_are_joined():
    rows = add_flag(add_flag(frame([1.0, 2.0]), "a"), "b", (pd.Series([True, False])).to_numpy())
    assert rows["flags"].tolist() == ["a;b", "a"]


@pytest.mark.parametrize("cells", [[1, 2.5, None], [1, "2.5", ""], [3, 4], [None, None]])
def test_columns_are_read_as_cell_by_cell(cells):
    found = to_numbers(cells, "x", lambda i: f"row {i + 1}")
    np.testing.assert_array_equal(found, [to_number(cell) for cell in cells])


@pytest.mark.parametrize("bad", [True, 10**400, float("inf"), "1_000"])
def test_a_cell_that_is_no_number_among_plain_ones_names_its_row(bad):
    with pytest.raises(SchemaChanged, match=r"row 2: x is .*, which is no number"):
        to_numbers([1, bad, 2.5], "x", lambda i: f"row {i + 1}")


def test_a_unit_that_changes_within_a_series_is_named():
    rows = frame([40.0 + i % 24 for i in range(24)] + [0.04 + i / 1000 for i in range(24)])
    with pytest.raises(SchemaChanged, match=r"row of 2024-05-14T00:00:00Z: carbon of GB goes from about 51\.5"):
        carbon(rows)
