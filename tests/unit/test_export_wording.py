from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.export import wording


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.500"),
        (0.99951, "1.00"),
        (9.999, "10.0"),
        (12.345, "12.3"),
        (99.96, "100"),
        (999.6, "1\u202f000"),
        (1234567, "1\u202f234\u202f567"),
        (-3.21, "-3.21"),
    ],
)
def test_numbers_have_three_significant_digits(value, text):
    assert wording.number(value) == text


def test_thousands_are_set_apart_before_decimals_too():
    assert wording.number(96138.94, 6) == "96\u202f138.9"


@given(st.floats(-1e15, 1e15))
def test_a_number_is_near_what_it_says(value):
    told = float(wording.number(value).replace("\u202f", ""))
    assert told == pytest.approx(value, rel=0.0051, abs=0.0005001)
    assert "e" not in wording.number(value)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (wording.energy(950), "950 kWh"),
        (wording.energy(123_456), "123 MWh"),
        (wording.energy(3.2e6), "3.20 GWh"),
        (wording.power(135_000), "135 MW"),
        (wording.power(8.4), "8.40 kW"),
        (wording.carbon(4_200), "4.20 t CO2e"),
        (wording.water(2_500), "2.50 m³"),
        (wording.tokens(4.56e11), "456\u202fB"),
        (wording.tokens(2e12), "2.00\u202fT"),
        (wording.money(0.0, "EUR"), "0 EUR"),
        (wording.hours(92.0), "92 h"),
        (wording.hours(7.25), "7.2 h"),
        (wording.money(1234567.8, "EUR"), "1\u202f234\u202f568 EUR"),
        (wording.money(-3.456, "GBP"), "-3.46 GBP"),
        (wording.change(12.34), "12.3 % less"),
        (wording.change(-4.0), "4.0 % more"),
        (wording.change(0.01), "the same"),
        (wording.compared(12.34, "asap"), "12.3 % less than asap"),
        (wording.compared(-0.04, "steady"), "the same as steady"),
        (wording.duration(0.25), "15 min"),
        (wording.duration(23.9999), "1 d 0 h"),
        (wording.duration(-2.5), "\u22122 h 30 min"),
    ],
)
def test_units_are_chosen_for_people(told, text):
    assert told == text


def test_site_time_shows_its_offset_only_near_a_clock_change():
    berlin = ZoneInfo("Europe/Berlin")
    assert wording.local(datetime(2024, 5, 13, 4, tzinfo=UTC), berlin) == "Mon 13 May 06:00"
    # 2024-10-27: 02:30 exists twice; only the offset tells the two apart.
    assert wording.local(datetime(2024, 10, 27, 0, 30, tzinfo=UTC), berlin) == "Sun 27 Oct 02:30 +0200"
    assert wording.local(datetime(2024, 10, 27, 1, 30, tzinfo=UTC), berlin) == "Sun 27 Oct 02:30 +0100"
