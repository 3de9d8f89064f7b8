from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from planner.accounts.document import accounts_document
from planner.accounts.eu_kpis import eu_indicators
from planner.accounts.training import METER_BOUNDARY, training_energy
from planner.accounts.windows import gpu_hours, run_energy_kwh
from planner.export import wording
from planner.export.accounts_view import closing_lines, exact
from planner.ledger.account import RunAccount
from tests.accounting import accounted_outcome, sample_accounts, with_contracts
from tests.outcomes import FORMULA
from tests.published import header, off, on, run


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
    for name in ("it_kwh", "load_kwh", "location_kg", "market_kg", "onsite_kg", "cfe_kwh", "water_l", "gpu_hours"):
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
    for one in eu_indicators(accounts):
        assert (one.value is None) == (one.states != "week"), one.name
    names = {one.name for one in eu_indicators(accounts) if one.value is None}
    assert names >= {"ERF", "T_WH", "CDD", "C_SERV", "C_STOR"}


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
    assert f"PUE {exact(stated['PUE'])}, WUE {exact(stated['WUE'])}, REF {exact(stated['REF'])};" in eu
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
    for name in ("run_kwh", "run_tokens", "run_gpu_hours", "water_l"):
        assert replace(accounts, **{name: getattr(accounts, name) * (1.0 + 1e-12)}).sha256 != accounts.sha256, name
    for name in ("it_kwh", "facility_kwh", "supplied_kwh", "used_kwh", "location_kg", "market_kg", "cfe_kwh"):
        changed = replace(account, **{name: getattr(account, name) * (1.0 + 1e-12)})
        assert replace(accounts, account=changed).sha256 != accounts.sha256, name
