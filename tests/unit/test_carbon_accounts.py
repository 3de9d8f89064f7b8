from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.config.factors import factor_sets, servers
from power.accounts import ON_SITE, market_by_volume_kg, site_account
from power.embodied import Embodied
from power.factors import MixedBasis, UnknownTechnology
from power.sci import software_carbon_intensity
from tests.accounting import SERVER, SET, contract, grid, site

# Four hours of 10 MW of load, worked by hand:
#                       hour 1    hour 2    hour 3    hour 4     sum
# load, MWh                 10        10        10        10      40
# contract, MWh             15         5         0        10      30
# contracted = min          10         5         0        10      25
# grid share                0.5       0.4       0.3       0.8
# rest x grid share          0         2         3         0       5   -> CFE (25 + 5) / 40 = 0.75
# average, g/kWh           300       400       500       200           -> location-based 14,000 kg
LOAD_KW = [10_000.0] * 4
CONTRACT_KW = [15_000.0, 5_000.0, 0.0, 10_000.0]
HOURS = grid(
    [300.0, 400.0, 500.0, 200.0], residual=500.0, marginal=[600.0, 650.0, 700.0, 0.0], cfe=[0.5, 0.4, 0.3, 0.8]
)


def test_the_cfe_score_as_worked_by_hand():
    account = site(LOAD_KW, [contract(CONTRACT_KW)], hours=HOURS)
    assert account.matched_kwh.tolist() == [10_000.0, 5_000.0, 0.0, 10_000.0]
    assert account.cfe_kwh.tolist() == [10_000.0, 7_000.0, 3_000.0, 10_000.0]
    assert account.cfe_score == pytest.approx(0.75, rel=1e-12)


def test_location_and_market_as_worked_by_hand():
    account = site(LOAD_KW, [contract(CONTRACT_KW)], hours=HOURS)
    assert account.location_kg.tolist() == [3_000.0, 4_000.0, 5_000.0, 2_000.0]
    # matched 25 MWh of wind at 11 g, the rest of 15 MWh at the residual mix of 500 g
    assert account.market_kg.sum() == pytest.approx(25_000 * 0.011 + 15_000 * 0.5)
    # by volume alone all 30 MWh count, whenever they come: 30 at 11 g, 10 at 500 g
    assert market_by_volume_kg(account) == pytest.approx(30_000 * 0.011 + 10_000 * 0.5)


def test_excess_of_one_hour_covers_no_other():
    even = site(LOAD_KW, [contract([7_500.0] * 4)])
    uneven = site(LOAD_KW, [contract([30_000.0, 0.0, 0.0, 0.0])])
    assert even.supplied_kwh.sum() == uneven.supplied_kwh.sum()
    assert even.matched_kwh.sum() == 30_000.0
    assert uneven.matched_kwh.sum() == 10_000.0


def test_marginal_stands_beside_and_changes_nothing():
    with_it = site(LOAD_KW, [contract(CONTRACT_KW)], hours=HOURS)
    without = site(LOAD_KW, [contract(CONTRACT_KW)], hours=replace(HOURS, marginal_gco2_per_kwh=None))
    assert with_it.marginal_kg.tolist() == [6_000.0, 6_500.0, 7_000.0, 0.0]
    assert without.marginal_kg is None
    for name in ("location_kg", "market_kg", "onsite_kg", "cfe_kwh"):
        assert getattr(with_it, name).tolist() == getattr(without, name).tolist()


def test_contracts_are_matched_in_order_and_only_where_they_deliver():
    near = contract([6_000.0] * 4, "near")
    gas = contract([6_000.0] * 4, "gas-ppa", technology="gas")
    far = contract([9_000.0] * 4, "far", boundary="zone-b")
    account = site(LOAD_KW, [far, near, gas])
    used = dict(zip((c.name for c in account.contracts), account.used_kwh[:, 0], strict=True))
    assert used == {"far": 0.0, "near": 6_000.0, "gas-ppa": 4_000.0}
    assert account.unmatched_kwh.tolist() == [0.0] * 4
    # gas is matched at its own factor and is not free of carbon
    assert account.market_kg[0] == pytest.approx(6_000 * 0.011 + 4_000 * 0.49)
    assert account.cfe_score == pytest.approx(0.6)
    assert account.renewable_kwh == pytest.approx(24_000.0)


def test_a_plant_behind_the_meter_is_load_and_no_grid_energy():
    solar = contract([2_000.0] * 4, "roof", "solar", ON_SITE)
    gas = contract([1_000.0] * 4, "sets", "gas", ON_SITE)
    account = site(LOAD_KW, [contract([20_000.0] * 4), solar, gas])
    assert [c.name for c in account.contracts] == ["roof", "sets", "ppa"]
    assert account.load_kwh.tolist() == [13_000.0] * 4
    assert account.location_kg.tolist() == [3_000.0] * 4
    assert account.onsite_kg.tolist() == pytest.approx([2_000 * 0.045 + 1_000 * 0.49] * 4)
    assert account.matched_kwh.tolist() == [10_000.0] * 4
    assert account.cfe_score == pytest.approx(12 / 13)


def test_two_bases_never_meet():
    with pytest.raises(MixedBasis, match="carbon intensity of zone-a is direct, but the account is lifecycle"):
        site(LOAD_KW, hours=grid([300.0] * 4, basis="direct"))
    with pytest.raises(MixedBasis, match="contract 'ppa' is direct"):
        site(LOAD_KW, [contract(CONTRACT_KW, basis="direct")])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"import_kw": np.array([-1.0, 5.0])}, "import is -1 kW"),
        ({"it_kw": np.array([1.0, -2.0])}, "IT power is -2 kW"),
        ({"contracts": [contract([1.0, -3.0])]}, "contract 'ppa' is -3 kW"),
        ({"contracts": [contract([1.0])]}, r"contract 'ppa' has \(1,\) slots"),
    ],
)
def test_an_account_knows_no_negative_power_and_no_other_length(changes, told):
    given = {"contracts": [], "it_kw": np.array([1.0, 1.0]), "import_kw": np.array([2.0, 2.0])} | changes
    with pytest.raises(ValueError, match=told):
        site_account(
            SET,
            grid([300.0, 300.0]),
            given["contracts"],
            it_kw=given["it_kw"],
            facility_kw=given["it_kw"],
            import_kw=given["import_kw"],
            slot_h=1.0,
        )


def test_a_site_that_takes_nothing_has_no_score():
    account = site([0.0, 0.0], [contract([5.0, 5.0])])
    assert account.cfe_score is None
    assert market_by_volume_kg(account) == 0.0


def test_sci_as_worked_by_hand():
    # 1,000 kWh at 300 g: 300 kg. Eight GPUs for 100 h: 4,000 kg x 100 / 43,800 h = 9.1324 kg; low 3,000 kg over
    # 52,560 h, high 5,000 kg over 35,040 h. Two billion tokens are 2,000 million.
    embodied = SERVER.embodied(800.0)
    assert embodied.mid_kg == pytest.approx(9.13242, abs=1e-5)
    assert embodied.low_kg == pytest.approx(5.70776, abs=1e-5)
    assert embodied.high_kg == pytest.approx(14.26941, abs=1e-5)
    found = software_carbon_intensity(300.0, embodied, 2e9)
    assert found.mid_g_per_mtoken == pytest.approx((300_000 + 9_132.42) / 2_000, abs=1e-4)
    assert found.low_g_per_mtoken == pytest.approx(152.85388, abs=1e-5)
    assert found.high_g_per_mtoken == pytest.approx(157.13470, abs=1e-5)
    assert software_carbon_intensity(300.0, embodied, 0.0) is None


def test_embodied_carbon_adds_up():
    one, two = Embodied(1.0, 2.0, 3.0), Embodied(0.5, 0.5, 0.5)
    assert one + two == Embodied(1.5, 2.5, 3.5)
    assert one - two == Embodied(0.5, 1.5, 2.5)


def test_the_bundled_sets_have_one_basis_each_and_a_source_for_every_value():
    known = factor_sets()
    assert {s.basis for s in known.values()} == {"direct", "lifecycle"}
    assert known["lifecycle-ipcc2014"].gco2_per_kwh("coal") == 820.0
    assert known["direct-ipcc2014"].gco2_per_kwh("gas") == 370.0
    assert known["direct-neso"].gco2_per_kwh("gas-open-cycle") == 651.0
    for found in known.values():
        assert found.label == f"{found.name}/{found.version}"
        assert all(f.source and f.grade in {"published", "assumed"} for f in found.factors.values())
        assert found.carbon_free <= {"geothermal", "hydro", "nuclear", "solar", "wind"}
    with pytest.raises(UnknownTechnology, match="direct-neso/1 has no value for 'geothermal'"):
        known["direct-neso"].gco2_per_kwh("geothermal")


def test_the_bundled_server_is_a_board_and_more():
    server = servers()["hgx-8gpu"]
    assert (server.gpus, server.label) == (8, "hgx-8gpu/1")
    assert 1312.0 < server.made.low_kg <= server.made.mid_kg <= server.made.high_kg
    assert "board_kg 1312" in server.source
