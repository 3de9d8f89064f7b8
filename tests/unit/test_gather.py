"""From a site and its sources to the frozen inputs of a week."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from planner import outlook
from planner.config import site_from_text, starter_site
from planner.errors import ConfigError, DataUnavailable
from planner.gather import gather, runs_of_week
from planner.outlook import actual_signals, gather_signals
from planner.sources.registry import open_source
from planner.sources.rows import add_flag
from planner.sources.series import STALE
from planner.timegrid import iso_week, zone
from thermal.plant import cooling, w_max_kw

NOW = datetime(2024, 5, 12, 9, 30, 15, 999, tzinfo=UTC)
COLUMNS = {"carbon": "gCO2e/kWh", "price": "EUR/MWh", "dry_bulb": "degC", "wet_bulb": "degC", "ghi": "W/m2"}


def site_of(*changes, folder=Path()):
    text = starter_site()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return site_from_text(text, folder / "site.toml")


def csv_site(folder, start, hours, *changes, kind="actual", basis="direct", unit="EUR/MWh"):
    """A site whose series all stand in one file of hourly rows: carbon counts the hours, all else is constant."""
    rows = [f"{(start + timedelta(hours=i)).isoformat()},{100 + i % 500},50,12,9,300" for i in range(hours)]
    (folder / "all.csv").write_text("\n".join(["t," + ",".join(COLUMNS), *rows]), encoding="utf-8")
    units = {**COLUMNS, "price": unit}
    tables = ""
    for group, signals in {
        "carbon": ["carbon"],
        "price": ["price"],
        "weather": ["dry_bulb", "wet_bulb", "ghi"],
    }.items():
        of = ", ".join(
            f'{s} = {{ column = "{s}", unit = "{units[s]}"{f", basis = {basis!r}" if s == "carbon" else ""} }}'
            for s in signals
        )
        tables += f'[sources.{group}]\nprovider = "csv"\npath = "all.csv"\ntime_column = "t"\nstamp = "start"\n'
        tables += f'time_zone = "UTC"\nstep_minutes = 60\nkind = "{kind}"\nlicence = "own"\ncolumns = {{ {of} }}\n\n'
    return site_of(("# Without [sources]", f"{tables}# Without"), *changes, folder=folder)


def grid_of(site, week):
    return iso_week(week, zone(site.place.timezone), site.horizon.slot_minutes)


# --- which week --------------------------------------------------------------------------------------------------


def test_the_week_asked_for_goes_before_the_file_and_the_file_before_the_coming_one():
    assert gather(site_of(), now=NOW, week="2024-W19").grid.start == datetime(2024, 5, 5, 22, tzinfo=UTC)
    assert gather(site_of(), now=NOW).grid.start == datetime(2024, 5, 12, 22, tzinfo=UTC)
    coming = gather(site_of(('week = "2024-W20" #', "#")), now=datetime(2024, 5, 5, 12, tzinfo=UTC))
    assert coming.grid.start == datetime(2024, 5, 5, 22, tzinfo=UTC)


def test_issued_at_is_now_in_whole_seconds_unless_given():
    assert gather(site_of(), now=NOW).issued_at == datetime(2024, 5, 12, 9, 30, 15, tzinfo=UTC)
    given = datetime(2024, 5, 1, tzinfo=UTC)
    assert gather(site_of(), now=NOW, issued_at=given).issued_at == given


def test_same_inputs_give_the_same_week():
    assert gather(site_of(), now=NOW).sha256 == gather(site_of(), now=NOW).sha256


def test_a_week_in_which_the_clocks_change_has_167_hours(tmp_path):
    site = csv_site(tmp_path, datetime(2024, 2, 20, tzinfo=UTC), 24 * 45)
    week = gather(site, now=NOW, week="2024-W13")
    assert week.grid.n_slots == 167
    first_h = (week.grid.start - datetime(2024, 2, 20, tzinfo=UTC)) / timedelta(hours=1)
    assert week.signals.ci_gco2_per_kwh.tolist() == [100 + (first_h + i) % 500 for i in range(167)]


# --- signals -----------------------------------------------------------------------------------------------------


def test_demo_signals_are_complete_labelled_and_traced():
    week = gather(site_of(), now=NOW)
    signals = week.signals
    for values in (signals.ci_gco2_per_kwh, signals.price_per_kwh, signals.dry_bulb_c, signals.ghi_w_per_m2):
        assert values.shape == (168,)
        assert np.isfinite(values).all()
        assert not values.flags.writeable
    assert (signals.wet_bulb_c <= signals.dry_bulb_c).all()
    assert week.labels == ("Synthetic data: demo demo-central is made up, not measured.",)
    assert [p.signal for p in week.provenance] == [
        "ci_gco2_per_kwh",
        "price_per_kwh",
        "dry_bulb_c",
        "wet_bulb_c",
        "ghi_w_per_m2",
    ]
    carbon = week.provenance[0]
    assert (carbon.source, carbon.basis, carbon.flags) == ("demo demo-central", "direct", (("synthetic", 168),))
    assert carbon.sha256 == hashlib.sha256(signals.ci_gco2_per_kwh.astype("<f8").tobytes()).hexdigest()
    assert week.provenance[1].unit == "EUR/kWh"


def test_the_site_chooses_the_basis_of_the_demo():
    direct = gather(site_of(), now=NOW).signals
    whole = gather(site_of(('basis = "direct"', 'basis = "lifecycle"')), now=NOW).signals
    assert whole.ci_basis == "lifecycle"
    assert (whole.ci_gco2_per_kwh > direct.ci_gco2_per_kwh).all()


def test_quarter_hours_hold_the_value_of_their_hour():
    hourly = gather(site_of(), now=NOW).signals.price_per_kwh
    quarters = gather(site_of(("slot_minutes = 60", "slot_minutes = 15")), now=NOW).signals.price_per_kwh
    assert quarters.tolist() == np.repeat(hourly, 4).tolist()


def test_a_flat_price_needs_no_source_and_says_where_it_comes_from():
    week = gather(
        site_of(("# energy_per_kwh = 0.11", "energy_per_kwh = 0.11"), ('currency = "EUR"', 'currency = "CHF"')), now=NOW
    )
    assert set(week.signals.price_per_kwh) == {0.11}
    assert week.provenance[1].source == "flat price of the tariff"
    assert week.provenance[1].unit == "CHF/kWh"


NO_ARRAY = ("[block.solar] # leave out what you do not have\npeak_kw = 40\n", "")
NO_SUN = (', ghi = { column = "ghi", unit = "W/m2" }', "")


def test_sunshine_is_asked_for_only_where_an_array_uses_it(tmp_path):
    start = datetime(2024, 4, 10, tzinfo=UTC)
    week = gather(csv_site(tmp_path, start, 24 * 45, NO_ARRAY, NO_SUN), now=NOW)
    assert set(week.signals.ghi_w_per_m2) == {0.0}
    assert "ghi_w_per_m2" not in {entry.signal for entry in week.provenance}
    with pytest.raises(ConfigError, match="has no column for ghi") as refused:
        csv_site(tmp_path, start, 24 * 45, NO_SUN)
    assert "has no column for ghi; declared are dry_bulb, wet_bulb" in str(refused.value)
    assert 'add ghi = { column = "name in the header", unit = "W/m2" } to columns' in str(refused.value)


def test_series_kept_without_sunshine_are_not_those_of_a_site_with_an_array():
    gathered = gather_signals(site_of(NO_ARRAY), grid_of(site_of(), "2024-W20"), now=NOW)
    assert gather(site_of(NO_ARRAY), now=NOW, kept=gathered).provenance == gathered.provenance
    assert gather(site_of(), now=NOW, kept=gathered).signals.ghi_w_per_m2.max() > 0.0


def test_what_lies_past_the_end_of_a_source_is_forecast_and_labelled():
    week = gather(site_of(*_moved_to_june()), now=NOW, week="2024-W23")
    flags = dict(week.provenance[0].flags)
    # The demo ends on Tuesday 4 June 00:00 UTC, 26 h after Monday 00:00 in Berlin.
    assert flags["extrapolated"] == 168 - 26
    assert flags["synthetic"] == 168
    (label,) = [text for text in week.labels if text.startswith("Forecast by gridpace")]
    assert label.startswith(
        "Forecast by gridpace: carbon, price, dry bulb, wet bulb, sunshine of demo demo-central known"
    )
    assert "until 2024-06-04T00:00:00Z; what follows is robust-blend/1, made from " in label


def test_what_ends_long_before_the_week_is_filled_by_a_profile_and_labelled(tmp_path):
    site = csv_site(tmp_path, datetime(2024, 4, 1, tzinfo=UTC), 24 * 32)  # until 3 May, 16 days and 22 h before the end
    week = gather(site, now=NOW, week="2024-W20")
    assert dict(week.provenance[0].flags) == {"profile": 168}
    (label,) = [text for text in week.labels if "28-day hourly median" in text]
    assert label.startswith(
        "Filled by profile: 168 of 168 slots of carbon, price, dry bulb, wet bulb, sunshine are the"
    )
    later = csv_site(tmp_path, datetime(2024, 4, 1, tzinfo=UTC), 24 * 33)
    assert dict(gather(later, now=NOW, week="2024-W20").provenance[0].flags) == {"extrapolated": 168}


def test_carbon_of_another_basis_than_the_sites_is_refused(tmp_path):
    site = csv_site(tmp_path, datetime(2024, 4, 10, tzinfo=UTC), 24 * 45, basis="lifecycle")
    with pytest.raises(ConfigError, match=r"basis 'lifecycle'; the site counts 'direct'"):
        gather(site, now=NOW)


def test_prices_in_another_currency_than_the_sites_are_refused(tmp_path):
    site = csv_site(tmp_path, datetime(2024, 4, 10, tzinfo=UTC), 24 * 45, unit="USD/MWh")
    with pytest.raises(ConfigError, match=r"prices in USD/kWh; the site's currency is EUR"):
        gather(site, now=NOW)


def test_files_are_found_from_the_folder_of_the_site_file(tmp_path, monkeypatch):
    site = csv_site(tmp_path, datetime(2024, 4, 10, tzinfo=UTC), 24 * 45)
    monkeypatch.chdir(Path(__file__).parent)
    week = gather(site, now=NOW)
    assert week.labels == ()
    assert set(week.signals.price_per_kwh) == {0.05}


def test_gaps_that_are_bridged_are_told(tmp_path):
    site = csv_site(tmp_path, datetime(2024, 4, 10, tzinfo=UTC), 24 * 45)
    whole = gather(site, now=NOW)
    rows = (tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()
    gap = [row for row in rows if not row.startswith(("2024-05-14T14", "2024-05-14T15"))]
    assert len(rows) - len(gap) == 2
    (tmp_path / "all.csv").write_text("\n".join(gap), encoding="utf-8")
    told = [label for label in gather(site, now=NOW).labels if label not in whole.labels]
    signals = "carbon, price, dry bulb, wet bulb, sunshine"
    bridged = (
        f"Gaps bridged: 2 of 168 slots of {signals} touch gaps of up to 3 h in csv all.csv, bridged by straight lines."
    )
    assert told == [bridged]


class _Stale:
    """A demo whose answers came from a cache 30 hours ago."""

    name = "stale demo"

    def __init__(self, source):
        self.source = source

    def fetch(self, signal, zone, start, end):
        series = self.source.fetch(signal, zone, start, end)
        fetched = NOW - timedelta(hours=30)
        return replace(series, rows=add_flag(series.rows, STALE), fetched_at=fetched, issued_at=fetched)


def test_the_last_good_answer_is_labelled_with_its_age(monkeypatch):
    monkeypatch.setattr(outlook, "open_source", lambda spec, **kw: _Stale(open_source(spec, **kw)))
    week = gather(site_of(), now=NOW)
    assert "Stale data: carbon of demo demo-central is the last good answer, 30.0 h old." in week.labels
    assert week.provenance[0].issued_at == NOW - timedelta(hours=30)
    assert ("stale", 168) in week.provenance[0].flags


# --- actuals -----------------------------------------------------------------------------------------------------


def test_actual_signals_of_a_week_that_is_measured(tmp_path):
    site = csv_site(tmp_path, datetime(2024, 4, 10, tzinfo=UTC), 24 * 45)
    grid = grid_of(site, "2024-W20")
    later = datetime(2024, 5, 25, tzinfo=UTC)
    actual = actual_signals(site, grid, now=later)
    assert (
        actual.signals.ci_gco2_per_kwh.tolist()
        == gather_signals(site, grid, now=later).signals.ci_gco2_per_kwh.tolist()
    )


def test_forecasts_are_no_actual_signals(tmp_path):
    site = csv_site(tmp_path, datetime(2024, 4, 10, tzinfo=UTC), 24 * 45, kind="forecast")
    with pytest.raises(DataUnavailable, match=r"168 rows are forecasts and 0 of 168 slots are a profile"):
        actual_signals(site, grid_of(site, "2024-W20"), now=NOW + timedelta(days=20))


def test_a_profile_is_no_actual_signal():
    site = site_of()
    with pytest.raises(DataUnavailable, match=r"142 of 168 slots are a profile"):
        actual_signals(site, grid_of(site, "2024-W23"), now=NOW + timedelta(days=60))


def test_nothing_is_actual_before_the_week_is_over(tmp_path):
    site = csv_site(tmp_path, datetime(2024, 4, 10, tzinfo=UTC), 24 * 45)
    grid = grid_of(site, "2024-W20")
    with pytest.raises(DataUnavailable, match=r"not over before 2024-05-19T22:00:00Z"):
        actual_signals(site, grid, now=grid.end - timedelta(seconds=1))
    assert actual_signals(site, grid, now=grid.end).signals.ci_basis == "direct"


# --- blocks ------------------------------------------------------------------------------------------------------


def test_idle_gpus_are_powered_down_where_the_block_could_not_carry_them():
    week = gather(site_of(("capacity_kw = 60", "capacity_kw = 10")), now=NOW)  # maintenance, Wednesday 08 to 12 h
    (block,) = week.blocks
    # By hand: 64 GPUs idle at 264.7 W draw 16.9 kW, more than the 10 kW that maintenance leaves.
    assert np.flatnonzero(~block.idle_powered).tolist() == [56, 57, 58, 59]
    assert set(week.idle_kw(block)[56:60]) == {0.0}
    assert week.idle_kw(block)[0] == pytest.approx(64 * 0.26475, abs=0.01)


def test_idle_gpus_are_powered_down_where_cooling_them_does_not_fit():
    free = gather(site_of(), now=NOW)
    (block,) = free.blocks
    idle_kw = free.idle_kw(block)
    both_kw = idle_kw + cooling(block.plant, idle_kw, free.signals.dry_bulb_c, free.signals.wet_bulb_c).cooling_kw
    between = float(idle_kw[56] + both_kw[56]) / 2  # carries the idle GPUs, but not with their cooling
    week = gather(site_of(("capacity_kw = 60", f"capacity_kw = {between!r}")), now=NOW)
    assert not week.blocks[0].idle_powered[56]
    just = site_of(("capacity_kw = 60", f"capacity_kw = {float(both_kw[56])!r}"))
    assert gather(just, now=NOW).blocks[0].idle_powered[56]


def test_idle_gpus_are_powered_down_where_it_is_too_hot_for_the_plant():
    week = gather(
        site_of(("rated_it_kw = 90", "rated_it_kw = 90\nsupply_setpoint_c = 20\nsupply_limit_c = 22")), now=NOW
    )
    (block,) = week.blocks
    carried = w_max_kw(block.plant, week.signals.dry_bulb_c, week.signals.wet_bulb_c)
    hot = carried < 64 * 0.2647
    assert hot.any()
    assert (~block.idle_powered == hot).all()


# --- runs --------------------------------------------------------------------------------------------------------


def _moved_to_june():
    return [(f"2024-05-{d}", f"2024-06-{d - 8:02d}") for d in (16, 19, 18, 27)]


def test_a_run_starts_no_earlier_than_the_week():
    week = gather(site_of(), now=NOW)
    assert week.run("assistant-8b").earliest_start == week.grid.start
    assert week.run("search-1b").earliest_start == datetime(2024, 5, 13, 10, tzinfo=UTC)


def test_stages_made_before_the_week_are_taken_off():
    site = site_of(
        ("priority = 2 #", "tokens_done = 5.0e10 #"), ("2024-05-16T18", "2024-05-11T18"), ("tokens_done = 5e10", "#")
    )
    runs, told = runs_of_week(site, grid_of(site, "2024-W20"))
    assert told == ()
    assert [stage.name for stage in runs[0].stages] == ["instruct"]
    assert runs[0].tokens_done == pytest.approx(0.2e10)


def test_runs_that_are_made_or_start_later_are_left_out_and_named():
    site = site_of(
        ("tokens_done = 5e10", "tokens_done = 4.0e11"),
        ("2024-05-13T12", "2024-05-20T12"),
        ("2024-05-18T12", "2024-05-28T12"),
    )
    runs, told = runs_of_week(site, grid_of(site, "2024-W20"))
    assert [run.name for run in runs] == ["assistant-8b"]
    assert told == (
        "Run 'search-1b' may not start before 2024-05-20T10:00:00Z and is left out.",
        "Run 'vision-3b' has made all its tokens and is left out.",
    )


def test_what_falls_on_the_edges_of_the_week_lies_outside_it():
    site = site_of(
        ("priority = 2 #", "tokens_done = 4.8e10 #"),
        ("2024-05-16T18", "2024-05-13T00"),  # due as the week starts
        ("2024-05-13T12", "2024-05-20T00"),  # may start as it ends
        ("2024-05-18T12", "2024-05-28T12"),
    )
    runs, told = runs_of_week(site, grid_of(site, "2024-W20"))
    assert [stage.name for stage in runs[0].stages] == ["instruct"]
    assert len(told) == 1


def test_overdue_runs_are_all_named():
    with pytest.raises(ConfigError) as caught:
        gather(site_of(), now=NOW, week="2024-W21")
    assert "'assistant-8b' lacks 6.8e+10 tokens due by 2024-05-19T16:00:00Z" in caught.value.what
    assert "'search-1b' lacks 2.2e+11 tokens" in caught.value.what
    assert "vision-3b" not in caught.value.what
    assert "tokens_done" in caught.value.fix


def test_more_gpus_running_than_there_are_is_refused():
    site = site_of(
        ("priority = 2 #", 'running_in = "racks" #'),
        ("tokens_done = 5e10", 'running_in = "racks"'),
        ("count = 64", "commissioning = [{ since = 2024-05-01T00:00:00, count = 48 }]"),
    )
    with pytest.raises(ConfigError, match=r"runs of 64 GPUs are running in pool 'racks' .* which has 48 in service"):
        runs_of_week(site, grid_of(site, "2024-W20"))


def test_a_week_without_work_is_refused():
    finished = site_of(
        ("priority = 2 #", "tokens_done = 6.8e10 #"),
        ("earliest_start = 2024-05-13T12:00:00", "tokens_done = 2.2e11"),
        ("tokens_done = 5e10", "tokens_done = 4.0e11"),
    )
    with pytest.raises(ConfigError, match=r"no run has work left"):
        runs_of_week(finished, grid_of(finished, "2024-W20"))


@pytest.mark.parametrize("name", ["lab-8gpu", "block-20mw", "superfactory", "superfactory-power"])
def test_example_sites_gather_and_want_about_seventy_percent(root, name):
    from planner.config import load_site

    week = gather(load_site(root / "data" / "sites" / f"{name}.toml"), now=NOW)
    have_h = sum(float(pool.gpus_in_service(week.grid).sum()) * week.grid.slot_h for pool in week.pools)
    wanted_h = 0.0
    for run in week.runs:
        per_h = run.gpus * max(o.tokens_per_gpu_s for o in run.options) * 3600
        wanted_h += run.gpus * week.work_tokens(run) / per_h
        for _, deadline, tokens in week.due_tokens(run):
            assert tokens / per_h < (deadline - run.earliest_start) / timedelta(hours=1)
    assert 0.65 <= wanted_h / have_h <= 0.75
