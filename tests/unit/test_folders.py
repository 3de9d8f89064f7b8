from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import ConfigError
from planner.folders import folder_name, read_published
from tests.published import header, off, on, run
from trainer_hooks.calendar import write_calendar


@pytest.mark.parametrize(
    ("site", "folder"),
    [
        ("lab-8gpu", "lab-8gpu"),
        ("Werk Süd", "Werk Süd"),
        ("../..", "%2E.%2F.."),
        ("a/b\\c", "a%2Fb%5Cc"),
        ("a%2Fb", "a%252Fb"),
        (".hidden", "%2Ehidden"),
    ],
)
def test_a_site_becomes_one_folder(site, folder):
    assert folder_name(site) == folder


@given(st.text(min_size=1, max_size=40).filter(lambda t: t.encode("utf-8", "ignore").decode() == t))
def test_no_site_leaves_its_folder(site):
    name = folder_name(site)
    assert not set(name) & set("/\\\x00")
    assert name not in {".", ".."}


@pytest.mark.parametrize("site", ["日" * 120, "/" * 120, "é" * 101])
def test_a_long_name_still_fits_a_file_system_and_stays_its_own(site, tmp_path):
    names = [folder_name(site), folder_name(site + "x"), folder_name(site[:-1] + "y")]
    assert len(set(names)) == 3
    for name in names:
        (tmp_path / name).mkdir()
        assert len(name.encode()) <= 200


def test_a_name_that_fits_is_not_cut():
    assert folder_name("n" * 200) == "n" * 200


@pytest.fixture
def out(tmp_path):
    write_calendar(tmp_path / "calendars", header(), [run("r1", (on(0, 4), off(4, 24)))])
    return tmp_path


@pytest.mark.parametrize(
    "inside",
    [".", "calendars", "calendars/0123456789abcdef01234567", "calendars/0123456789abcdef01234567/calendar.json"],
)
def test_a_calendar_is_found_from_wherever_one_points(out, inside):
    found, runs, home = read_published(out / inside)
    assert found.calendar_id == header().calendar_id
    assert [r.run for r in runs] == ["r1"]
    assert home.resolve() == out.resolve()


def test_a_calendar_by_itself_has_its_report_beside_it(out, tmp_path):
    alone = tmp_path / "alone"
    (out / "calendars" / header().calendar_id).rename(alone)
    assert read_published(alone)[2] == alone


def test_a_folder_without_a_calendar_and_a_damaged_one_are_config_errors(out, tmp_path):
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "nowhere", tmp_path / "empty"):
        with pytest.raises(ConfigError, match="there is no published calendar in") as caught:
            read_published(place)
        assert "gridpace plan" in caught.value.fix
    file = out / "calendars" / header().calendar_id / "runs" / "r1.json"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ConfigError, match="SHA-256"):
        read_published(out)
