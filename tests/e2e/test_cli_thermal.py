"""`gridpace thermal` and `gridpace export dsx`, as facility staff run them."""

from __future__ import annotations

import json

import pytest

from tests.mini_site import ISSUED, MINI, gridpace

LIQUID = MINI.replace('kind = "room_air"\nrated_it_kw = 18', 'kind = "dry_cooler"\nrated_it_kw = 18')


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("thermal")
    (place / "site.toml").write_text(LIQUID, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def rated(folder):
    """The report before there is a calendar."""
    return gridpace("thermal", "site.toml", "--json", "--out", "alone", "--issued-at", ISSUED, "--offline", cwd=folder)


@pytest.fixture(scope="module")
def planned(folder):
    done = gridpace("plan", "site.toml", "--out", "week", "--issued-at", ISSUED, "--offline", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "week"


def test_without_a_calendar_it_asks_about_rated_power_and_says_so(folder, rated):
    assert rated.returncode == 0, rated.stderr
    told = json.loads(rated.stdout)
    assert told["calendar_id"] is None
    assert told["blocks"][0]["load"] == "rated"
    assert set(told["blocks"][0]["slots"]["it_kw"]) == {18.0}
    assert "note: Load: full rated IT power in every hour" in rated.stderr
    assert sorted(path.name for path in (folder / "alone").iterdir()) == ["thermal.html", "thermal.json"]
    kept = json.loads((folder / "alone" / "thermal.json").read_text(encoding="utf-8"))
    assert kept == {name: value for name, value in told.items() if name != "files"}


def test_the_same_inputs_give_the_same_bytes(folder, rated):
    done = gridpace("thermal", "site.toml", "--out", "again", "--issued-at", ISSUED, "--offline", cwd=folder)
    assert done.returncode == 0, done.stderr
    for name in ("thermal.html", "thermal.json"):
        assert (folder / "again" / name).read_bytes() == (folder / "alone" / name).read_bytes()
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert lines[-1].split()[0] == "files"


def test_it_takes_the_load_of_the_calendar_in_force(folder, planned):
    done = gridpace("thermal", "site.toml", "--out", "week", "--json", "--issued-at", ISSUED, "--offline", cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    header = json.loads((planned / "calendars" / told["calendar_id"] / "calendar.json").read_text(encoding="utf-8"))
    assert told["blocks"][0]["slots"]["it_kw"] == pytest.approx(header["blocks"][0]["it_kw"], abs=1e-4)
    # the calendar's own cooling is the same physics on slot means
    assert sum(told["blocks"][0]["slots"]["cooling_kw"]) == pytest.approx(
        sum(header["blocks"][0]["cooling_kw"]), rel=0.01
    )
    assert (planned / "report.html").exists()


READINGS = """\
time,it_power_kw,dry_bulb_c,cooling_kw,rack_supply_temp_c,facility_supply_temp_c
2024-05-13T07:00:00Z,5,15,0.4,40.1,36.4
2024-05-13T08:00:00Z,6,16,0.5,40.2,36.5
2024-05-13T09:00:00Z,7,17,0.6,40.1,36.3
"""


def test_readings_give_the_measured_side(folder, planned):
    (folder / "readings.csv").write_text(READINGS, encoding="utf-8")
    done = gridpace(
        "thermal", "site.toml", "--out", "week", "--json", "--issued-at", ISSUED, "--offline", "--telemetry",
        "hall=readings.csv", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    found = told["blocks"][0]["measured"]
    assert found["source"] == "readings.csv"
    # (3.7 + 3.7 + 3.8) / 3
    assert found["trends"]["cdu_approach_k"]["latest"] == pytest.approx(3.7333, abs=1e-4)
    assert {row["tag"] for row in found["plan_against_meters"]} == {"measured"}
    it, cooling = found["plan_against_meters"]
    assert (it["hours_h"], it["metered_kw"]) == (3.0, 6.0)
    assert cooling["metered_kw"] == pytest.approx(0.5)
    slots = told["blocks"][0]["slots"]["it_kw"]
    assert any(it["planned_kw"] == pytest.approx(sum(slots[i : i + 3]) / 3, abs=1e-4) for i in range(24))
    assert "Plan against what happened" not in {row["what"] for row in told["not_measured"]}
    page = (folder / "week" / "thermal.html").read_text(encoding="utf-8")
    assert "Measured in hall" in page
    assert "Plan against what happened" in page


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("nowhere.csv",), "nowhere.csv cannot be read"),
        (("hall=readings.csv", "readings.csv"), "names block 'hall' twice"),
    ],
)
def test_readings_that_cannot_be_used_are_told(folder, given, told):
    (folder / "readings.csv").write_text(READINGS, encoding="utf-8")
    options = [part for text in given for part in ("--telemetry", text)]
    done = gridpace("thermal", "site.toml", "--out", "none", "--offline", *options, cwd=folder)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (folder / "none").exists()


def test_requests_and_limits_of_a_calendar(folder, planned):
    done = gridpace(
        "export", "dsx", "week", "--site", "site.toml", "--tag", "hall=site/cdu1", "--out", "-", "--offline", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (request,) = told["setpoint_requests"]
    assert request["topic"] == "BMS/v1/gridpace/Value/CDU/LiquidTemperatureSpRequest/site/cdu1"
    assert len(request["messages"]) == len(told["capacity_limits"][0]["data"]["targets"]) == 168


def test_a_tag_of_no_block_is_told(folder, planned):
    done = gridpace("export", "dsx", "week", "--site", "site.toml", "--tag", "hal=a", "--offline", cwd=folder)
    assert done.returncode == 2
    assert "names no block" in done.stderr
    assert "hall" in done.stderr


def test_a_wrong_week_is_one_json_object_and_exit_code_2(folder):
    done = gridpace("thermal", "site.toml", "--week", "2024-99", "--json", cwd=folder)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["kind"] == "ConfigError"


def test_a_damaged_calendar_in_force_is_told_and_nothing_is_written(folder, planned):
    broken = folder / "broken"
    (broken / "calendars").mkdir(parents=True)
    (broken / "calendars" / "current").write_text("nowhere\n")
    done = gridpace("thermal", "site.toml", "--out", "broken", "--offline", cwd=folder)
    assert done.returncode == 2
    assert sorted(path.name for path in broken.iterdir()) == ["calendars"]
