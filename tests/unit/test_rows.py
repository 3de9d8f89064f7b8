"""Tank and heat reuse as rows of a linear program, against the physics they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.components import store
from thermal.plant import cooling, dry_cooler, room_air, tower_chiller
from thermal.rows import heat_row, store_row

RATED_KW = 20_000.0


def test_plants_without_tank_or_heat_pump_have_no_rows():
    for plant in (dry_cooler(RATED_KW), room_air(12.0)):
        assert store_row(plant, 1.0) is None
        assert heat_row(plant, [10.0], [5.0]) is None


def test_the_tanks_row_is_the_tank():
    plant = tower_chiller(RATED_KW, store_volume_m3=500.0, store_daily_loss_share=0.1)
    row = store_row(plant, 0.5)
    exact = store.cold_after_kwh_th(plant.loop.store, 900.0, 400.0, 150.0, 0.5)
    assert row.kept_share * 900.0 + row.mean_h * (400.0 - 150.0) == pytest.approx(exact, rel=1e-12)
    assert row.power_kw == pytest.approx(0.3 * RATED_KW * 0.945)
    # 450 m3 of water at 24 C, 10 K
    assert row.capacity_kwh == pytest.approx(450.0 * 4.17 * 10.0 / 3.6, rel=2e-3)


def test_the_tanks_states_and_its_end_by_hand():
    # half full; 2 % a day are lost, so a tank at rest keeps 0.98 ** (1 / 24) of its cold in an hour
    row = store_row(tower_chiller(RATED_KW, store_volume_m3=500.0), 1.0)
    kept = 0.98 ** (1.0 / 24.0)
    hours = -(1.0 - kept) * 24.0 / np.log(0.98)
    first = row.initial_kwh * kept + 100.0 * hours
    second = first * kept - 40.0 * hours
    states = row.states_kwh(np.array([100.0, 0.0, 0.0]), np.array([0.0, 40.0, 0.0]))
    assert states == pytest.approx([first, second, second * kept], rel=1e-12)
    assert row.initial_kwh == pytest.approx(0.5 * row.capacity_kwh)
    assert row.final_kwh(24) == pytest.approx(0.49 * row.capacity_kwh)
    emptied = store_row(tower_chiller(RATED_KW, store_volume_m3=500.0, store_final_share=0.1), 1.0)
    assert emptied.final_kwh(24) == pytest.approx(0.1 * row.capacity_kwh)


def test_heat_sold_by_hand():
    plant = dry_cooler(RATED_KW, heat_pump_capacity_share=0.5)
    row = heat_row(plant, np.array([10.0, 34.0]), np.array([6.0, 20.0]))
    source_c = cooling(plant, 16_000.0, np.array([10.0, 34.0]), np.array([6.0, 20.0])).return_temp_c
    cop = 0.668 * 358.15 / (85.0 - source_c)
    assert row.power_kw_per_kw == pytest.approx(1.0 / cop)
    assert row.taken_kw_per_kw + row.power_kw_per_kw == pytest.approx([1.0, 1.0])
    assert row.sold_max_kw * row.taken_kw_per_kw == pytest.approx([0.5 * RATED_KW * 0.945] * 2)
    assert row.power_kw_per_kw[1] < row.power_kw_per_kw[0]  # a warmer loop is a better source
