"""Prices per MWh and powers in MW in a site file are refused, each with its mend."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.config import SiteFaults, site_from_text
from planner.errors import ConfigError
from planner.price_slips import SLIP, check_price_units
from tests.unit.test_config_power import CONTRACT, text_of

PPA = '[[ppa]]\nname = "farm"\nkind = "baseload"\nbaseload_kw = 10\nstrike_per_kwh = {strike}\n'
HOURS = np.array([-0.02, 0.12])


def faults_of(**changes):
    with pytest.raises(SiteFaults) as caught:
        site_from_text(text_of(**changes), Path("site.toml"))
    return str(caught.value)


@pytest.mark.parametrize("kw", ["0.05", "5000"])
def test_a_contract_of_another_unit_is_refused(kw):
    told = faults_of(contract=CONTRACT.replace("kw = 10", f"kw = {kw}"))
    assert f"contract[0].kw: {kw} kW beside blocks of 100 kW: W, kW and MW are mixed up" in told
    assert "1 MW = 1000" in told


@pytest.mark.parametrize("kw", ["0.05", "5000"])
def test_a_baseload_of_another_unit_is_refused(kw):
    told = faults_of(contract=PPA.format(strike=0.05).replace("baseload_kw = 10", f"baseload_kw = {kw}"))
    assert f"ppa[0].baseload_kw: {kw} kW beside blocks of 100 kW: W, kW and MW are mixed up" in told


@pytest.mark.parametrize("kw", ["0.09", "90000"])
def test_contracted_demand_of_another_unit_is_refused(kw):
    told = faults_of(tariff=f"[tariff.contracted]\ncontract_kw = {kw}\nmin_share = 0.8")
    assert f"tariff.contracted.contract_kw: {kw} kW beside blocks of 100 kW" in told


def test_prices_per_mwh_are_refused_by_name():
    site = site_from_text(text_of(contract=CONTRACT.replace("0.07", "71") + PPA.format(strike=52)), Path("site.toml"))
    with pytest.raises(
        ConfigError, match=r"contract 'c': 71, strike_per_kwh of agreement 'farm': 52 beside hours"
    ) as c:
        check_price_units(site, HOURS)
    assert "0.12 EUR/kWh at most" in c.value.what
    assert "per kWh" in c.value.fix


def test_dear_prices_per_kwh_pass_and_so_does_a_week_without_a_price():
    site = site_from_text(text_of(contract=CONTRACT + PPA.format(strike=0.99 * SLIP * 0.12)), Path("site.toml"))
    check_price_units(site, HOURS)
    check_price_units(site, np.zeros(2))
