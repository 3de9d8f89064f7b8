"""The thermal report's facts hold together for any plant, weather and load."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.plants import plants
from thermal.alarms import Level
from thermal.plant import cooling
from thermal.report import cooling_report

SLOTS = 12


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(plant=plants(), seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 0.6, 1.0]))
def test_the_facts_hold_together(plant, seed, share):
    dice = np.random.default_rng(seed)
    dry_c = dice.uniform(-40.0, 55.0, SLOTS)
    wet_c = dry_c - dice.uniform(0.0, 15.0, SLOTS)
    powered = dice.random(SLOTS) < share
    it_kw = plant.rated_it_kw * dice.random(SLOTS)
    found = cooling_report(
        plant, it_kw, dry_c, wet_c, powered=powered, slot_h=0.5, now=3, carbon_kg=None,
        ci_gco2_per_kwh=np.full(SLOTS, 300.0),
    )  # fmt: skip
    hours = found.hours
    assert np.abs(hours.residual_kw).max() <= 1e-6 * plant.rated_it_kw
    assert (hours.w_max_n1_kw <= hours.w_max_kw + 1e-6).all()
    assert ((hours.cause != "") == (powered & (hours.w_max_kw < plant.rated_it_kw * (1.0 - 1e-9)))).all()
    assert sum(d.after - d.first for d in found.derates) == (hours.cause != "").sum()
    assert sum(q.value for q in found.mode_hours.values()) == pytest.approx(SLOTS * 0.5)
    parts_kw = hours.fan_kw + hours.pump_kw + hours.compressor_kw
    assert hours.cooling_kw == pytest.approx(parts_kw)
    # a load within what is carried keeps every limit; one beyond it does not pass unseen
    over = powered & (hours.it_kw > hours.w_max_kw + 1e-9 * plant.rated_it_kw)
    capacity = next(a for a in found.alarms if a.name == "Capacity")
    assert (capacity.level is Level.RED) == over.any()
    if powered.any():
        state = cooling(plant, np.where(powered, it_kw, 0.0), dry_c, wet_c)
        assert found.totals["cooling_kwh"].value == pytest.approx(0.5 * state.cooling_kw[powered].sum())
    json.dumps([found.totals, found.mode_hours], allow_nan=False)
