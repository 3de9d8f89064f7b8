"""`gridpace calibrate`: from a table of readings to a table that a site file takes."""

from __future__ import annotations

import csv
import tomllib

import numpy as np
import pytest

from planner.cli import run
from planner.config import load_site
from tests.plant_telemetry import made_up
from thermal.calibrate import changed

HIDDEN = {"facility_pump_flow_floor": 0.5, "facility_pump_head_kpa": 300.0, "cooler_fan_w_per_kw": 45.0}


@pytest.fixture(scope="module")
def site_file(root):
    return root / "data" / "sites" / "block-20mw.toml"


@pytest.fixture(scope="module")
def readings(site_file):
    return made_up(changed(load_site(site_file).blocks[0].plant, HIDDEN), days=5)


@pytest.fixture
def table(tmp_path, readings):
    def written(factor=1.0):
        shown = {"time": [f"{t}Z" for t in readings.time]}
        shown |= {n: [f"{v:.6g}" for v in np.maximum(values, 0.0)] for n, values in readings.readings.items()}
        shown["rack_flow_l_per_min"] = [f"{factor * float(v):.6g}" for v in shown["rack_flow_l_per_min"]]
        path = tmp_path / "telemetry.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(shown)
            out.writerows(zip(*shown.values(), strict=True))
        return path

    return written


def test_the_fitted_table_takes_the_place_of_the_sites_own(table, site_file, tmp_path, capsys):
    fitted = tmp_path / "fitted.toml"
    assert run(["calibrate", str(table()), "--site", str(site_file), "--out", str(fitted)]) == 0
    told = capsys.readouterr().out
    for heading in ("Energy balance:", "Settings, fitted to 4 days of telemetry.csv", "On 1 days that were not fitted"):
        assert heading in told
    for column in ("95 % within", "CV-RMSE", "noise alone"):
        assert column in told
    assert "PUE within 0.01" in told
    text = site_file.read_text(encoding="utf-8")
    old = '[block.cooling]\nkind = "dry_cooler"\nrated_it_kw = 18500\n'
    assert old in text
    (tmp_path / "site.toml").write_text(text.replace(old, fitted.read_text(encoding="utf-8")), encoding="utf-8")
    plant = load_site(tmp_path / "site.toml").blocks[0].plant
    assert plant.loop is not None
    assert plant.loop.facility_pump.flow_floor == pytest.approx(0.5, rel=0.05)
    assert plant.loop.rejection.fan_w_per_kw == pytest.approx(45.0, rel=0.05)
    grades = {p.setting: p.grade for p in plant.provenance}
    assert grades["facility_pump_flow_floor"] == "measured"


def test_the_table_can_go_to_standard_output(table, site_file, capsys):
    assert run(["calibrate", str(table()), "--site", str(site_file), "--out", "-"]) == 0
    found = capsys.readouterr()
    cooling = tomllib.loads(found.out)["block"]["cooling"]
    assert cooling["kind"] == "dry_cooler"
    assert cooling["facility_pump_flow_floor"]["grade"] == "measured"
    assert "Energy balance:" in found.err


def test_telemetry_that_does_not_balance_is_refused_and_nothing_written(table, site_file, tmp_path, capsys):
    fitted = tmp_path / "fitted.toml"
    assert run(["calibrate", str(table(1.3)), "--site", str(site_file), "--out", str(fitted)]) == 2
    told = capsys.readouterr().err
    assert "the energy balance of telemetry.csv does not close" in told
    assert "rack loop, 2024-05-01T00:00 to" in told
    assert "liquid_heat_share, 0.945 in the site file" in told
    assert not fitted.exists()


def test_a_site_with_several_blocks_is_asked_which(table, root, capsys):
    site = str(root / "data" / "sites" / "superfactory.toml")
    assert run(["calibrate", str(table()), "--site", site]) == 2
    assert "name it by --block" in capsys.readouterr().err
    assert run(["calibrate", str(table()), "--site", site, "--block", "nowhere"]) == 2
    assert "the site has no block 'nowhere'" in capsys.readouterr().err


def test_readings_of_nothing_that_is_cooled_are_refused(tmp_path, site_file, capsys):
    (tmp_path / "few.csv").write_text("time,it_power_kw,dry_bulb_c\n2024-05-01T00:00:00Z,900,12\n", encoding="utf-8")
    assert run(["calibrate", str(tmp_path / "few.csv"), "--site", str(site_file)]) == 2
    assert "has no reading of pumps, fans, chillers, flows or temperatures" in capsys.readouterr().err
