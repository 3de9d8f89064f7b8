"""A cooling plant that draws other power than it is described to is an alarm until it does not."""

from __future__ import annotations

import csv
from datetime import UTC, datetime

import numpy as np
import pytest

from planner.config import load_site
from planner.errors import ConfigError
from planner.ledger import Ledger
from planner.ledger.alarms import open_alarms
from planner.service.drift import calibrate
from planner.service.plant_drift import plant_drift
from planner.service.worker import Worker
from planner.sources.cache import ResponseCache
from tests.plant_telemetry import made_up
from tests.served import Clock


@pytest.fixture(scope="module")
def text(root):
    return (root / "data" / "sites" / "block-20mw.toml").read_text(encoding="utf-8")


@pytest.fixture
def worker(tmp_path, text):
    (tmp_path / "site.toml").write_text(
        f'{text}\n[service]\nplant_telemetry = {{ "{_block(tmp_path, text)}" = "meters.csv" }}\n', encoding="utf-8"
    )
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        now = datetime(2024, 5, 9, tzinfo=UTC)
        site = load_site(tmp_path / "site.toml").name
        yield Worker(tmp_path / "site.toml", site, ledger, ResponseCache(tmp_path), Clock(now), "here", offline=True)


def _block(folder, text):
    (folder / "plain.toml").write_text(text, encoding="utf-8")
    return load_site(folder / "plain.toml").blocks[0].power.name


def metered(worker, factor):
    """Write what the meters of a plant show whose parts draw so many times what they should."""
    readings = made_up(worker.load().blocks[0].plant, days=2, noise=0.0)
    shown = {"time": [f"{t}Z" for t in readings.time]}
    for name, values in readings.readings.items():
        scale = factor if name in {"rack_pump_kw", "facility_pump_kw", "fan_kw", "chiller_kw", "cooling_kw"} else 1.0
        shown[name] = [f"{v:.6g}" for v in np.maximum(scale * values, 0.0)]
    with (worker.site_file.parent / "meters.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(shown)
        out.writerows(zip(*shown.values(), strict=True))
    return readings


def alarms(worker):
    with worker.ledger.reading() as session:
        return [(row.kind, row.owner) for row in open_alarms(session, worker.site)]


def test_a_plant_that_draws_more_is_an_alarm_and_a_sound_one_closes_it(worker):
    metered(worker, 1.3)
    assert "cooling is off by" in calibrate(worker)
    assert alarms(worker) == [("plant", "facilities")]
    with worker.ledger.reading() as session:
        assert (
            "gridpace calibrate meters.csv --site site.toml --block hall" in open_alarms(session, worker.site)[0].action
        )
    metered(worker, 1.02)
    calibrate(worker)
    assert alarms(worker) == []


def test_how_far_it_is_off_is_the_share_of_what_is_read(worker):
    block = worker.load().blocks[0]
    readings = made_up(block.plant, days=2, noise=0.0)
    found = plant_drift(block, readings)
    assert (found.signal, found.hours) == ("parts_kw", 48)
    assert found.off == pytest.approx(0.0, abs=0.02)


def test_a_table_that_is_not_there_is_told(worker):
    with pytest.raises(ConfigError, match=r"meters\.csv"):
        calibrate(worker)
