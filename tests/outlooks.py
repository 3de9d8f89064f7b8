"""Weeks of cooling for tests of the thermal report: a hot week and a mild one, made up."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np

from planner.config.load import load_site
from planner.outlook import Gathered, gather_signals
from planner.thermal_outlook import ThermalOutlook, thermal_outlook
from planner.timegrid import iso_week, zone
from tests.conftest import ROOT
from thermal.calibrate import SIGNALS, Telemetry
from thermal.calibrate.prediction import Inputs, predict
from thermal.plant import CoolingPlant
from thermal.reserve import Reserve
from thermal.units_out import ALL
from trainer_hooks.contract import Calendar

SITE = ROOT / "data" / "sites" / "block-20mw.toml"
TZ = zone("Europe/Berlin")
GRID = iso_week("2024-W20", TZ, 60)


def weather(mean_c: float) -> np.ndarray:
    """Dry bulb with a daily swing of 9 K around a mean, warming by a kelvin over the week."""
    hour = np.arange(GRID.n_slots)
    return mean_c + 9.0 * np.sin(2.0 * np.pi * (hour - 8) / 24.0) + hour / GRID.n_slots


def gathered(mean_c: float) -> Gathered:
    """The demo's signals with another weather."""
    found = gather_signals(load_site(SITE), GRID, now=GRID.start, offline=True, cache=None)
    dry_c = weather(mean_c)
    return replace(found, signals=replace(found.signals, dry_bulb_c=dry_c, wet_bulb_c=dry_c - 11.0))


def fouled(plant: CoolingPlant) -> Telemetry:
    """Three weeks of readings until the week ends, of CDUs whose approach grows by 0.05 K a day; no meter errs."""
    hours = np.arange(21 * 24)
    time = np.datetime64(GRID.end.replace(tzinfo=None), "s") - hours[::-1] * np.timedelta64(1, "h")
    it_kw = plant.rated_it_kw * (0.6 + 0.2 * np.sin(hours / 97.0) + 0.1 * np.sin(hours / 11.0))
    dry_c = 18.0 + 8.0 * np.sin(hours / 24.0 * 2.0 * np.pi)
    given = Inputs(it_kw, dry_c, dry_c - 6.0, np.full(hours.shape, np.nan))
    shown = predict(plant, given, frozenset(SIGNALS) - {"pump_kw"}, ALL)
    shown["rack_supply_temp_c"] = shown["rack_supply_temp_c"] + 0.05 * hours / 24.0
    return Telemetry("readings.csv", time, {"it_power_kw": it_kw, "dry_bulb_c": dry_c} | shown)


def outlook(
    mean_c: float = 32.0,
    calendar: Calendar | None = None,
    name: str = "",
    issued_at: datetime = GRID.start,
    reserve: Reserve | None = None,
    readings: bool = False,
) -> ThermalOutlook:
    """The cooling of block-20mw in a week of that mean temperature; another name, reserve or readings if given."""
    site = load_site(SITE)
    if reserve is not None:
        site = replace(site, blocks=(replace(site.blocks[0], reserve=reserve),))
    if name:
        block = site.blocks[0]
        site = replace(site, blocks=(replace(block, power=replace(block.power, name=name)),))
    telemetry = {block.power.name: fouled(block.plant) for block in site.blocks} if readings else {}
    found = thermal_outlook(site, GRID, gathered(mean_c), issued_at=issued_at, calendar=calendar, telemetry=telemetry)
    return replace(found, site=name) if name else found
