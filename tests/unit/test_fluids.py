"""The frozen coolant tables against CoolProp, and their twin in data/."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.conftest import ROOT
from thermal.coolant_tables import COOLANTS, TEMPS_C
from thermal.fluids import NAMES, density_kg_per_m3, freezing_c, heat_capacity_kj_per_kg_k, volume_heat_kj_per_m3_k

COOLPROP = {"water": "Water", "pg25": "INCOMP::MPG[0.25]", "pg40": "INCOMP::MPG[0.40]", "eg30": "INCOMP::MEG[0.30]"}


@pytest.mark.parametrize("name", NAMES)
def test_tables_agree_with_coolprop_between_their_points(name):
    props = pytest.importorskip("CoolProp.CoolProp").PropsSI
    for temp_c in np.linspace(1.0, 89.0, 45):
        cp = props("C", "T", temp_c + 273.15, "P", 3e5, COOLPROP[name]) / 1000.0
        rho = props("D", "T", temp_c + 273.15, "P", 3e5, COOLPROP[name])
        assert float(heat_capacity_kj_per_kg_k(name, temp_c)) == pytest.approx(cp, rel=2e-3)
        assert float(density_kg_per_m3(name, temp_c)) == pytest.approx(rho, rel=1e-3)


def test_glycol_of_the_reference_by_hand():
    # 25 % propylene glycol at 40 C: 3969 J/kgK, 1009.9 kg/m3
    assert float(volume_heat_kj_per_m3_k("pg25", 40.0)) == pytest.approx(3.969 * 1009.9, rel=2e-4)
    assert volume_heat_kj_per_m3_k("pg25", [-20.0, 120.0]) == pytest.approx(
        volume_heat_kj_per_m3_k("pg25", [0.0, 90.0])
    )


def test_ice_forms_later_with_more_glycol():
    assert freezing_c("water") == 0.0
    assert -21.0 < freezing_c("pg40") < freezing_c("pg25") < -9.0


def test_the_file_in_data_says_the_same():
    with (ROOT / "data" / "coolants" / "coolants.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(NAMES) * len(TEMPS_C)
    for row in rows:
        _, ice_c, heats, densities = COOLANTS[row["coolant"]]
        k = TEMPS_C.index(float(row["temp_c"]))
        assert float(row["heat_capacity_kj_per_kg_k"]) == heats[k]
        assert float(row["density_kg_per_m3"]) == densities[k]
        assert float(row["freezing_c"]) == ice_c
