from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.export.csv_files import SLOT_COLUMNS, WINDOW_COLUMNS, slots_csv, windows_csv
from tests.published import header, off, on, run


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_headers_carry_units_and_stay():
    assert WINDOW_COLUMNS == (
        "calendar_id", "run", "state", "start_utc", "end_utc", "start_local", "end_local", "duration_h", "block",
        "pool", "gpus", "gpu_power_limit_w", "checkpoint", "tokens", "energy_kwh", "carbon_kg", "why", "notes",
    )  # fmt: skip
    assert SLOT_COLUMNS == (
        "calendar_id", "block", "start_utc", "end_utc", "start_local", "end_local", "it_kw", "cooling_kw",
        "facility_kw", "import_kw", "solar_kw", "charge_kw", "discharge_kw", "battery_end_kwh", "supply_setpoint_c",
        "notes",
    )  # fmt: skip


def test_one_row_per_window_in_utc_and_site_time():
    windows = (on(0, 2.5, 650.0, checkpoint="after"), off(2.5, 24))
    first, second = rows(windows_csv(header(notes=("Synthetic data.",)), [run("r1", windows)]))
    assert (first["start_utc"], first["start_local"]) == ("2024-05-13T00:00:00Z", "2024-05-13T02:00:00+02:00")
    assert (first["duration_h"], first["gpus"], first["gpu_power_limit_w"]) == ("2.5", "8", "650")
    assert (first["tokens"], first["energy_kwh"], first["carbon_kg"]) == ("2500000", "25", "5")
    assert (first["checkpoint"], first["notes"]) == ("after", "Synthetic data.")
    assert (second["state"], second["pool"], second["gpu_power_limit_w"], second["gpus"]) == ("off", "", "", "0")


def test_one_row_per_block_and_slot():
    found = rows(slots_csv(header()))
    assert len(found) == 24
    assert (found[3]["start_utc"], found[3]["end_utc"], found[3]["it_kw"]) == (
        "2024-05-13T03:00:00Z", "2024-05-13T04:00:00Z", "3",
    )  # fmt: skip
    assert found[3]["supply_setpoint_c"] == ""


def test_the_hour_that_exists_twice_is_told_apart():
    start = datetime(2024, 10, 26, 12, tzinfo=UTC)
    local = [row["start_local"] for row in rows(slots_csv(header(start=start)))]
    assert "2024-10-27T02:00:00+02:00" in local
    assert "2024-10-27T02:00:00+01:00" in local
    assert len(set(local)) == 24


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@cmd", "\t=1", "\r=1", "'=1"])
def test_no_name_becomes_a_formula(name):
    (row,) = rows(windows_csv(header(), [run(name, (on(0, 24),))]))
    assert row["run"] == f"'{name}"


@given(st.text(min_size=1).filter(lambda t: "\x00" not in t), st.text(min_size=1).filter(lambda t: "\x00" not in t))
def test_two_names_never_become_one(first, second):
    found = rows(windows_csv(header(), [run(first, (on(0, 24),)), run(second, (on(0, 24),))]))
    assert (found[0]["run"] == found[1]["run"]) == (first == second)
    assert not any(row["run"].startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for row in found)
