from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planner.accounts.grid import grid_hours, told_sources
from planner.config import site_from_text, starter_site
from planner.config.faults import SiteFaults
from planner.errors import GapInSeries
from planner.timegrid import TimeGrid
from tests.weeks import tiny_week

START = datetime(2024, 5, 13, tzinfo=UTC)
SERVER = """
[accounts.server]
gpus = 4
low_kg = 1000
mid_kg = 1500
high_kg = 2500
low_life_h = 60000
mid_life_h = 40000
high_life_h = 30000
source = "the maker's sheet"
"""


def load(tables: str, tmp_path: Path, basis: str = "direct"):
    text = re.sub("(?m)^basis = .*$", f'basis = "{basis}"', starter_site())
    assert f'basis = "{basis}"' in text
    return site_from_text(f"{text}\n{tables}", tmp_path / "site.toml")


def hours(first: datetime, values: list[str], header: str = "residual_gco2_per_kwh,grid_cfe_share") -> str:
    rows = [f"{first + timedelta(hours=i):%Y-%m-%dT%H:00Z},{value}" for i, value in enumerate(values)]
    return "\n".join(["# our own hours", f"start_utc,{header}", *rows]) + "\n"


def test_a_site_that_says_nothing_has_the_set_of_its_basis(tmp_path):
    direct, lifecycle = load("", tmp_path).accounting, load("", tmp_path, "lifecycle").accounting
    assert (direct.factors.label, direct.factors.basis) == ("direct-ipcc2014/1", "direct")
    assert (lifecycle.factors.label, lifecycle.factors.basis) == ("lifecycle-ipcc2014/1", "lifecycle")
    assert direct.server.label == "hgx-8gpu/1"
    assert direct.residual_gco2_per_kwh is None


def test_a_set_of_the_other_basis_is_refused(tmp_path):
    with pytest.raises(SiteFaults, match=r"'lifecycle-ipcc2014' is lifecycle, but .carbon. basis is direct") as told:
        load('[accounts]\nfactor_set = "lifecycle-ipcc2014"\n', tmp_path)
    assert "direct-ipcc2014, direct-neso" in str(told.value)


def test_an_unknown_set_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(SiteFaults, match="did you mean 'direct-neso'"):
        load('[accounts]\nfactor_set = "direct-nezo"\n', tmp_path)


def test_a_server_of_ones_own(tmp_path):
    server = load(SERVER, tmp_path).accounting.server
    assert (server.label, server.gpus) == ("site-file/1", 4)
    assert server.embodied(8.0).mid_kg == pytest.approx(1500 * 2 / 40_000)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("mid_kg = 1500", "mid_kg = 2600", "2600 kg is not between low_kg and high_kg"),
        ("mid_life_h = 40000", "mid_life_h = 70000", "70000 h is not between high_life_h and low_life_h"),
    ],
)
def test_a_server_whose_range_is_out_of_order_is_refused(tmp_path, old, new, told):
    with pytest.raises(SiteFaults, match=told):
        load(SERVER.replace(old, new), tmp_path)


def test_hours_of_a_file_lie_on_the_slots(tmp_path):
    (tmp_path / "grid.csv").write_text(hours(START - timedelta(hours=2), [f"{400 + i},0.{i + 1}" for i in range(6)]))
    accounting = load('[accounts]\nhours = "grid.csv"\nmarginal_gco2_per_kwh = 700\n', tmp_path).accounting
    week = tiny_week(n_slots=8, slot_minutes=30)
    found = grid_hours(accounting, week.signals, week.grid)
    assert found.residual_gco2_per_kwh.tolist() == [402, 402, 403, 403, 404, 404, 405, 405]
    assert found.cfe_share.tolist() == pytest.approx([0.3, 0.3, 0.4, 0.4, 0.5, 0.5, 0.6, 0.6])
    assert found.marginal_gco2_per_kwh.tolist() == [700.0] * 8
    assert dict(told_sources(accounting, "demo")) == {
        "average_gco2_per_kwh": "demo",
        "residual_gco2_per_kwh": "grid.csv",
        "marginal_gco2_per_kwh": "site file",
        "grid_cfe_share": "grid.csv",
    }


def test_a_grid_that_starts_within_an_hour_takes_the_hour_that_holds(tmp_path):
    (tmp_path / "grid.csv").write_text(hours(START, ["400,0.1", "500,0.2", "600,0.3"]))
    accounting = load('[accounts]\nhours = "grid.csv"\n', tmp_path).accounting
    week = tiny_week(n_slots=4, slot_minutes=30, start=START + timedelta(minutes=30))
    assert grid_hours(accounting, week.signals, week.grid).residual_gco2_per_kwh.tolist() == [400, 500, 500, 600]


def test_hours_that_do_not_cover_the_week_are_a_gap(tmp_path):
    (tmp_path / "grid.csv").write_text(hours(START, ["400,0.1"] * 7))
    accounting = load('[accounts]\nhours = "grid.csv"\n', tmp_path).accounting
    week = tiny_week(n_slots=8)
    with pytest.raises(GapInSeries, match=r"the residual mix in grid.csv covers 2024-05-13T00:00:00Z to .*T07:00:00Z"):
        grid_hours(accounting, week.signals, TimeGrid(START, 60, 8))


def test_without_a_residual_mix_the_average_stands_in_and_is_told(tmp_path):
    accounting = load("", tmp_path).accounting
    week = tiny_week()
    found = grid_hours(accounting, week.signals, week.grid)
    assert found.residual_gco2_per_kwh.tolist() == week.signals.ci_gco2_per_kwh.tolist()
    assert found.cfe_share.tolist() == [0.0] * 8
    assert found.marginal_gco2_per_kwh is None
    assert dict(told_sources(accounting, "demo"))["residual_gco2_per_kwh"] == "the average: no residual mix is given"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "needs start_utc and at least one figure"),
        ("start_utc,residual\n", "grid.csv:1: header.residual: unknown column"),
        ("start_utc,grid_cfe_share\n", "stands alone"),
        ("# note\nstart_utc,grid_cfe_share\n2024-05-13T00:00Z,1.2\n", "grid.csv:3: line 3.grid_cfe_share: is '1.2'"),
        ("start_utc,grid_cfe_share\n2024-05-13T00:00Z,\n", "is ''; 0 to 1 is wanted"),
        ("start_utc,grid_cfe_share\n2024-05-13T00:00,0.1\n", "a whole hour with its offset is wanted"),
        ("start_utc,grid_cfe_share\n2024-05-13T00:30Z,0.1\n", "a whole hour with its offset is wanted"),
        ("start_utc,grid_cfe_share\nMay,0.1\n", "a whole hour with its offset is wanted"),
        (
            "start_utc,grid_cfe_share\n2024-05-13T00:00Z,0.1\n2024-05-13T02:00Z,0.1\n",
            "2024-05-13T02:00:00Z does not follow 2024-05-13T00:00:00Z by an hour",
        ),
        ("start_utc,grid_cfe_share\n2024-05-13T00:00Z\n", "has 1 cells; the header has 2"),
        ("start_utc,grid_cfe_share,grid_cfe_share\n2024-05-13T00:00Z,0.1,0.2\n", "each once"),
    ],
)
def test_hours_that_are_wrong_are_told_with_their_line(tmp_path, text, told):
    (tmp_path / "grid.csv").write_text(text)
    with pytest.raises(SiteFaults) as found:
        load('[accounts]\nhours = "grid.csv"\n', tmp_path)
    assert told in str(found.value)


def test_a_file_of_hours_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SiteFaults, match=r"file of hours .*none.csv does not exist"):
        load('[accounts]\nhours = "none.csv"\n', tmp_path)


def test_a_figure_given_twice_is_refused(tmp_path):
    (tmp_path / "grid.csv").write_text(hours(START, ["400,0.1"]))
    with pytest.raises(SiteFaults, match=r"accounts.grid_cfe_share: stands here and in grid.csv"):
        load('[accounts]\nhours = "grid.csv"\ngrid_cfe_share = 0.5\n', tmp_path)


def test_a_contract_of_the_other_basis_is_refused_before_anything_is_planned(tmp_path):
    contract = """
[[contract]]
name = "cal-24"
kw = 10
price_per_kwh = 0.08
technology = "wind"
factor_gco2_per_kwh = 11
basis = "lifecycle"
"""
    with pytest.raises(SiteFaults, match=r"contract.0..basis: the factor is lifecycle, but .carbon. basis is direct"):
        load(contract, tmp_path)
    assert load(contract, tmp_path, "lifecycle").contracts[0].attributes.basis == "lifecycle"
