from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.accounts.document import accounts_document
from planner.accounts.eu_kpis import eu_indicators
from planner.accounts.training import KNOWN, KNOWN_IN_PART, METER_BOUNDARY, training_energy
from planner.accounts.windows import gpu_hours, run_energy_kwh
from planner.export import wording
from planner.export.accounts_view import closing_lines, exact
from planner.heat import HeatSale
from planner.ledger.account import RunAccount
from power.accounts import site_account
from tests.accounting import SET, accounted_outcome, grid, sample_accounts, with_contracts
from tests.outcomes import FORMULA
from tests.published import header, off, on, run
from tests.weeks import make_block
from thermal.plant import dry_cooler


@pytest.fixture(scope="module")
def accounts():
    return with_contracts(sample_accounts(accounted_outcome()))


def test_energy_of_windows_lies_in_the_slots_that_they_touch():
    # 10 kWh an hour from 0 to 2.5 h and from 3.25 to 4 h
    windows = (on(0, 2.5), off(2.5, 3.25), on(3.25, 4), off(4, 24))
    found = run_energy_kwh(header(), [run("r1", windows)])
    assert found[0, :5].tolist() == pytest.approx([10.0, 10.0, 5.0, 7.5, 0.0])
    assert found.sum() == pytest.approx(32.5)
    assert gpu_hours(windows) == pytest.approx(8 * 3.25)


def test_a_gang_that_waits_with_its_gpus_reserves_them():
    waits = replace(on(0, 6), state="hold", tokens=0.0)
    assert gpu_hours((waits, off(6, 24))) == pytest.approx(48.0)


def test_the_sum_of_runs_and_what_is_left_is_the_site(accounts):
    site, parts = accounts.site_figures, (*accounts.run_figures, accounts.unallotted)
    for name in (
        "it_kwh",
        "load_kwh",
        "location_kg",
        "market_kg",
        "onsite_kg",
        "cfe_kwh",
        "water_l",
        "gpu_hours",
        "heat_sold_kwh_th",
    ):
        assert sum(getattr(part, name) for part in parts) == pytest.approx(getattr(site, name), rel=1e-9), name
    for case in ("low_kg", "mid_kg", "high_kg"):
        parted = sum(getattr(part.embodied, case) for part in parts)
        assert parted == pytest.approx(getattr(site.embodied, case), rel=1e-9)


def test_the_site_is_that_of_the_judge_and_the_runs_those_of_the_calendar():
    outcome = accounted_outcome()
    accounts = sample_accounts(outcome)
    found = outcome.evaluation
    assert accounts.site_figures.location_kg == pytest.approx(found.carbon_kg, rel=1e-9)
    assert accounts.site_figures.it_kwh == pytest.approx(found.it_energy_kwh, rel=1e-9)
    assert accounts.site_figures.load_kwh == pytest.approx(found.import_kwh + found.solar_kwh, rel=1e-9)
    for mine, calendar in zip(accounts.run_figures, outcome.runs, strict=True):
        assert mine.location_kg == pytest.approx(sum(w.kgco2e for w in calendar.windows), rel=1e-6)
        assert mine.it_kwh == pytest.approx(sum(w.energy_kwh for w in calendar.windows), rel=1e-9)


def test_eu_indicators_as_worked_from_the_account(accounts):
    found = {one.name: one for one in eu_indicators(accounts)}
    site, account = accounts.site_figures, accounts.account
    total_kwh = site.load_kwh - accounts.stored_kwh
    renewable_kwh = sum(
        float(used.sum())
        for contract, used in zip(account.contracts, account.used_kwh, strict=True)
        if contract.technology in {"wind", "solar"}
    )
    assert accounts.stored_kwh > 0.0
    assert found["E_DC"].value == pytest.approx(total_kwh)
    assert found["PUE"].value == pytest.approx(total_kwh / site.it_kwh)
    assert found["PUE"].value > 1.0
    assert found["WUE"].value == pytest.approx(0.3)
    assert found["REF"].value == pytest.approx(renewable_kwh / total_kwh)
    assert 0.0 < found["REF"].value < 1.0


def test_what_a_week_cannot_state_is_named_and_not_made_up(accounts):
    without_buyer = replace(accounts, heat_sold_kwh_th=None)
    for one in (*eu_indicators(accounts), *eu_indicators(without_buyer)):
        assert (one.value is None) == (one.states != "week"), one.name
    names = {one.name for one in eu_indicators(accounts) if one.value is None}
    assert names >= {"T_WH", "CDD", "C_SERV", "C_STOR"}
    assert {one.name for one in eu_indicators(without_buyer) if one.value is None} == names | {"E_REUSE", "ERF"}


def test_reused_heat_as_worked_by_hand():
    # Six hours of 100 kW of IT; heat pumps lift 20 kW off the loop with 5 kW of their own: 25 kW sold in four of them.
    sold_kwh = np.array([0.0, 25.0, 25.0, 25.0, 25.0, 0.0])
    plant_kw = np.array([10.0, 15.0, 15.0, 15.0, 15.0, 10.0])
    outcome = accounted_outcome()
    account = site_account(
        SET,
        grid(np.full(6, 300.0)),
        (),
        it_kw=np.full(6, 100.0),
        facility_kw=100.0 + plant_kw,
        import_kw=100.0 + plant_kw,
        slot_h=1.0,
    )
    accounts = replace(
        sample_accounts(outcome),
        account=account,
        water_l=np.zeros(6),
        stored_kwh=0.0,
        runs=("half",),
        run_kwh=np.full((1, 6), 50.0),
        run_tokens=np.array([1e9]),
        run_gpu_hours=np.array([48.0]),
        heat_sold_kwh_th=sold_kwh,
    )
    found = {one.name: one for one in eu_indicators(accounts)}
    assert found["E_REUSE"].value == pytest.approx(100.0)
    assert found["E_DC"].value == pytest.approx(680.0)
    assert found["ERF"].value == pytest.approx(100.0 / 680.0)
    assert (accounts.run_figures[0].heat_sold_kwh_th, accounts.unallotted.heat_sold_kwh_th) == (50.0, 50.0)


def test_the_heat_sold_is_the_judges_and_none_without_a_buyer():
    hall = make_block("hall-a", 700.0, n_slots=168, plant=dry_cooler(700.0, heat_pump_capacity_share=0.2))
    hall = replace(hall, heat=HeatSale(0.08, np.full(168, 25.0)))
    outcome = accounted_outcome(blocks=(hall, make_block("hall-b", 300.0, n_slots=168)))
    accounts = sample_accounts(outcome)
    # 25 kW of heat through a week of 168 h, as the sample sells it
    assert accounts.site_figures.heat_sold_kwh_th == pytest.approx(25.0 * 168, rel=1e-6)
    assert accounts.site_figures.heat_sold_kwh_th == pytest.approx(outcome.evaluation.heat_sold_kwh_th, rel=1e-9)
    assert sample_accounts().heat_sold_kwh_th is None


def test_a_site_without_it_energy_has_no_ratio(accounts):
    nothing = np.zeros(accounts.n_slots)
    idle = replace(accounts, account=replace(accounts.account, it_kwh=nothing), run_kwh=0.0 * accounts.run_kwh)
    found = {one.name: one.value for one in eu_indicators(idle)}
    assert found["PUE"] is None
    assert found["WUE"] is None


def test_training_energy_is_estimated_without_telemetry_and_known_with_it(accounts):
    until = accounts.start + timedelta(hours=72)
    reported = {"vision": RunAccount("vision", 2e9, 1.9e9, 100.0, 98.0, 2.0, 20.0, 19.5, 0.97)}
    estimated = training_energy(accounts, {}, None)
    assert [one.kind for one in estimated] == ["estimated"] * len(accounts.runs)
    found = training_energy(accounts, reported, until)
    assert len(found) == len(accounts.runs) + 1
    (known,) = [one for one in found if one.kind == "known"]
    assert (known.run, known.it_kwh, known.error_kwh, known.location_kg) == ("vision", 98.0, 2.0, 19.5)
    assert (known.start, known.end, known.site_kwh) == (accounts.start, until, None)
    assert known.boundary == METER_BOUNDARY
    (beside,) = [one for one in found if one.run == "vision" and one.kind == "estimated"]
    vision = accounts.run_figures[accounts.runs.index("vision")]
    assert (beside.it_kwh, beside.site_kwh) == (vision.it_kwh, vision.load_kwh)
    assert beside.location_kg == vision.location_kg + vision.onsite_kg
    assert beside.error_kwh is None


def test_a_silent_run_is_not_known(accounts):
    silent = {"vision": RunAccount("vision", 2e9, 0.0, 100.0, 0.0, 0.0, 20.0, 0.0, None)}
    assert {one.kind for one in training_energy(accounts, silent, accounts.start)} == {"estimated"}


def test_the_document_is_plain_json_and_says_the_same(accounts):
    statements = training_energy(accounts, {}, None)
    told = json.loads(json.dumps(accounts_document(accounts, statements), allow_nan=False))
    assert told["schema"] == "gridpace.carbon-accounts/1"
    assert told["factor_set"] == {"name": "made-up", "version": "3", "basis": "lifecycle"}
    assert told["site_figures"]["location_kg"] == accounts.site_figures.location_kg
    assert [one["subject"] for one in told["runs"]] == list(accounts.runs)
    parts = [*told["runs"], told["unallotted"]]
    assert sum(one["market_kg"] for one in parts) == pytest.approx(told["site_figures"]["market_kg"], rel=1e-9)
    assert [c["counts"] for c in told["contracts"]] == [True, True, True, False]
    assert len(told["training_energy"]["statements"]) == len(accounts.runs)
    assert told["sha256"] == accounts.sha256


def test_the_terminal_names_the_main_figures(accounts, tmp_path):
    lines = closing_lines(accounts, training_energy(accounts, {}, None), (tmp_path / "runs.csv",))
    text = "\n".join(lines)
    assert "made-up/3, lifecycle; boundary zone-a" in text
    assert f"run        {FORMULA}: " in text
    assert f"energy of training: {len(accounts.runs)} statements estimated, 0 known" in text
    (rest,) = (line for line in lines if line.startswith("no run"))
    assert f"{wording.carbon(accounts.unallotted.location_kg)} location" in rest
    (eu,) = (line for line in lines if line.startswith("EU scheme"))
    stated = {one.name: one.value for one in eu_indicators(accounts)}
    ratios = ", ".join(f"{name} {exact(stated[name])}" for name in ("PUE", "WUE", "REF", "ERF"))
    assert f"{ratios};" in eu
    assert lines[-1].endswith("runs.csv")
    assert "marginal" not in text


@pytest.mark.parametrize(
    "change",
    [
        {"stored_kwh": 1.0},
        {"gpu_hours": 1.0},
        {"site": "other"},
        {"sources": (("average_gco2_per_kwh", "elsewhere"),)},
        {"runs": ("a", "b", "c", "d", "e", "f")},
        {"calendar_id": "f" * 24},
    ],
)
def test_the_digest_tells_apart_whatever_is_said(accounts, change):
    assert replace(accounts, **change).sha256 != accounts.sha256


def test_the_digest_sees_every_series(accounts):
    account = accounts.account
    for name in ("run_kwh", "run_tokens", "run_gpu_hours", "water_l", "heat_sold_kwh_th"):
        assert replace(accounts, **{name: getattr(accounts, name) * (1.0 + 1e-12)}).sha256 != accounts.sha256, name
    for name in ("it_kwh", "facility_kwh", "supplied_kwh", "used_kwh", "location_kg", "market_kg", "cfe_kwh"):
        changed = replace(account, **{name: getattr(account, name) * (1.0 + 1e-12)})
        assert replace(accounts, account=changed).sha256 != accounts.sha256, name


@pytest.mark.parametrize(
    ("sources", "method"),
    [
        ((), KNOWN),
        (("counter", "power"), KNOWN),
        (("counter", "mixed"), KNOWN),
        (("mixed", "partial"), KNOWN_IN_PART),
        (("model",), KNOWN_IN_PART),
    ],
)
def test_energy_that_was_modelled_in_part_says_so(accounts, sources, method):
    reported = {"vision": RunAccount("vision", 2e9, 1.9e9, 100.0, 98.0, 2.0, 20.0, 19.5, 0.97, sources)}
    (known,) = [one for one in training_energy(accounts, reported, accounts.end) if one.kind == "known"]
    assert known.method == method
