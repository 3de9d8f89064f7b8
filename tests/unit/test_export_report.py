from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import plotly.graph_objects as go
import pytest

from planner.band import Band
from planner.export import wording
from planner.export.charts.frame import TimeAxis
from planner.export.charts.power import COOLING_LIMIT, LIMIT
from planner.export.report import report_html
from planner.ledger import RunAccount
from planner.optimize.limits import block_limits
from planner.week import Signals
from tests.outcomes import FORMULA, HOSTILE, LONG, full_week, sample_outcome
from thermal.plant import dry_cooler
from thermal.reserve import Reserve

LARGEST_BYTES = 6_000_000


class Page(HTMLParser):
    """Text, elements and JSON of a page."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.figures: dict[str, dict] = {}
        self._script: str | None = None
        self._in_style = False
        self.feed(content.decode())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_style = tag == "style"
        self._script = (dict(attrs).get("id") or "") if tag == "script" else None

    def handle_endtag(self, tag):
        self._script, self._in_style = None, False

    def handle_data(self, data):
        if self._script:
            self.figures[self._script] = json.loads(data)
        elif self._script is None and not self._in_style:
            self.text.append(data)

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


@pytest.fixture(scope="module")
def outcome():
    return sample_outcome()


@pytest.fixture(scope="module")
def content(outcome):
    return report_html(outcome)


@pytest.fixture(scope="module")
def page(content):
    return Page(content)


def test_it_is_small_enough_and_asks_for_nothing_outside(content, page):
    assert len(content) <= LARGEST_BYTES
    assert not [a for _, a in page.tags if a.get("src") or str(a.get("href", "data:")).startswith(("http", "//"))]
    (policy,) = [a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv")]
    assert "default-src 'none'" in policy


def test_the_sample_is_judged_clean_and_says_so(outcome, page):
    assert outcome.evaluation.violations == ()
    assert "The judge finds no broken promise." in page.words


def test_broken_promises_are_named(outcome):
    overdue = replace(outcome.week.runs[2], gpus=outcome.week.runs[2].gpus * 2)
    week = replace(outcome.week, runs=(*outcome.week.runs[:2], overdue, *outcome.week.runs[3:]))
    from planner.evaluate import evaluate

    broken = replace(outcome, week=week, evaluation=evaluate(outcome.calendar, outcome.runs, week))
    words = Page(report_html(broken)).words
    assert broken.evaluation.violations
    assert all(" ".join(v.sentence.split()) in words for v in broken.evaluation.violations)


def test_headline_labels_and_promises_not_kept_stand_on_top(page):
    words = page.words
    assert "Synthetic data: made up for a test, no measurement." in words
    assert "16.7 % less than asap" in words
    assert "no figure against steady: steady cannot make 2 B tokens" in words
    assert "6 of 7 kept" in words
    assert words.index("Promises not kept") < words.index("The grid, and when the runs work")


def test_without_shortfalls_there_is_no_such_section():
    words = Page(report_html(sample_outcome(kept=True))).words
    assert "Promises not kept" not in words
    assert "every promise of work is kept" in words


def test_hostile_names_stay_text_in_page_and_figures(content, page):
    assert HOSTILE in page.words
    assert HOSTILE.encode() not in content
    figures = json.dumps(page.figures)
    assert "<script" not in figures
    names = page.figures["chart-runs-data"]["layout"]["yaxis"]["ticktext"]
    assert names[0].startswith("&lt;script&gt;")
    assert names[1] == FORMULA
    assert len(names[2]) < len(LONG)


def test_every_figure_is_valid_plotly_and_has_a_label(page):
    assert len(page.figures) == 4
    for figure in page.figures.values():
        go.Figure(figure)
    labels = [a.get("aria-label") for _, a in page.tags if a.get("class") == "chart"]
    assert len(labels) == 4
    assert all(labels)


def test_power_stacks_add_up_and_lie_beside_their_limit(outcome, page):
    traces = {t.get("name"): np.array(t["y"]) for t in page.figures["chart-block-1-data"]["data"]}
    used = traces["IT"] + traces["Cooling"] + traces["Battery charging"]
    supplied = traces["Grid import"] + traces["Solar"] + traces["Battery discharging"]
    assert used == pytest.approx(supplied, abs=0.01)
    limit = traces[LIMIT] + 0.01
    assert (traces["IT"] + traces["Cooling"] <= limit).all()
    assert (traces["Grid import"] <= limit).all()
    assert len(used) == outcome.week.grid.n_slots + 1


@pytest.mark.parametrize(
    ("reserve", "causes"),
    [
        (Reserve(), {""}),
        (Reserve(one_out=True), {"one dry cooler out"}),
        (Reserve(one_out=True, restart_s=900.0), {"ride-through"}),
    ],
)
def test_the_cooling_limit_is_the_one_that_the_plan_obeys_with_its_cause(reserve, causes):
    """A plant of three coolers in a week of up to 33 C: what binds is the reserve that the site asks for."""
    week = full_week(dry_bulb_c=22.0 + 11.0 * np.sin(2 * np.pi * (np.arange(168) - 9) / 24))
    plant = dry_cooler(600.0, cooler_count=3)
    week = replace(week, blocks=tuple(replace(block, plant=plant, reserve=reserve) for block in week.blocks))
    page = Page(report_html(sample_outcome(week)))
    traces = {t.get("name"): t for t in page.figures["chart-block-1-data"]["data"]}
    shown = traces[COOLING_LIMIT]
    limits = block_limits(week, week.blocks[0])
    assert shown["y"][:-1] == pytest.approx(limits.envelope.w_max_kw, abs=0.01)
    assert {told.strip(" ()") for told in shown["customdata"]} - {""} == causes - {""}
    told = f"lets the plan take {wording.power(min(shown['y']))} of IT power"
    assert told in page.words
    if reserve.one_out:
        assert shown["y"] != pytest.approx([600.0] * 169)
    else:
        assert f"{told} in every hour." in page.words


def test_the_bars_are_the_run_windows(outcome, page):
    bars = page.figures["chart-runs-data"]["data"][0]
    windows = [w for run in outcome.runs for w in run.windows if w.state == "run"]
    assert len(bars["x"]) == len(windows)
    assert sum(bars["x"]) == pytest.approx(sum((w.end - w.start).total_seconds() * 1000 for w in windows))
    assert len(set(bars["marker"]["color"])) == 2


def test_reported_telemetry_stands_beside_the_plan(outcome):
    account = RunAccount("vision", 2e9, 1.9e9, 100.0, 98.0, 2.0, 20.0, 19.5, 0.97)
    with_accounts = replace(outcome, accounts=(account,), accounted_until=outcome.week.grid.starts[72])
    words = Page(report_html(with_accounts)).words
    assert "Planned, and what happened" in words
    assert "2.00 B / 1.90 B" in words
    assert "100 kWh / 98.0 kWh \u00b1 2.00 kWh" in words
    assert "97.0 %" in words
    assert "nothing that is kept" not in words, "no record says what was wasted"


def test_what_was_wasted_is_told_by_cause(outcome):
    wasted = (("hold", 6.0), ("checkpoint", 1.5), ("recompute", 0.25), ("overhead", 2.25))
    account = RunAccount("vision", 2e9, 1.9e9, 100.0, 98.0, 2.0, 20.0, 19.5, 0.97, (), wasted)
    with_accounts = replace(outcome, accounts=(account,), accounted_until=outcome.week.grid.starts[72])
    assert (
        "vision: 10.0 kWh of 98.0 kWh trained nothing that is kept (holds 6.00 kWh, start-up and time without a step "
        "2.25 kWh, checkpoints 1.50 kWh, work lost to a restart 0.250 kWh)."
    ) in Page(report_html(with_accounts)).words


def test_the_axis_of_a_week_with_a_clock_change_ticks_at_site_midnights():
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    from planner.timegrid import iso_week

    tz = ZoneInfo("Europe/Berlin")
    grid = iso_week("2024-W13", tz, 60)
    axis = TimeAxis(grid.starts, grid.end, tz)
    ticks = axis.axis()["tickvals"]
    assert len(axis.edges) == 168
    assert ticks[0] == "2024-03-24T23:00:00Z"
    assert ticks[-1] == "2024-03-30T23:00:00Z"
    assert axis.told[-2] == "Sun 31 Mar 23:00 (CEST)"
    assert datetime(2024, 3, 31, 22, tzinfo=UTC) == grid.end


def test_negative_prices_and_a_week_without_any_run_are_drawn():
    week = full_week()
    signals = week.signals
    below = Signals(
        signals.ci_gco2_per_kwh,
        signals.ci_basis,
        signals.price_per_kwh - 0.2,
        signals.dry_bulb_c,
        signals.wet_bulb_c,
        signals.ghi_w_per_m2,
    )
    page = Page(report_html(sample_outcome(replace(week, signals=below), kept=True)))
    price = next(t for t in page.figures["chart-grid-data"]["data"] if t.get("name") == "Energy price")
    assert min(price["y"]) < 0


def test_what_is_not_known_of_a_forecast_is_shaded(outcome, page):
    week = outcome.week
    levels, n = (0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95), week.grid.n_slots
    price = week.signals.price_per_kwh + np.arange(-3, 4)[:, None] * 0.01
    band = Band("price_per_kwh", "robust-blend/1", week.grid.start, levels, price, price[:2])
    shown = Page(report_html(replace(outcome, week=replace(week, bands=(band,)))))
    traces = {trace["name"]: trace for trace in shown.figures["chart-grid-data"]["data"] if trace.get("name")}
    assert traces["90 %"]["fill"] == "tonexty"
    assert traces["10 %"]["yaxis"] == traces["Energy price"]["yaxis"]
    low, high, line = (np.array(traces[name]["y"][:n]) for name in ("10 %", "90 %", "Energy price"))
    assert high - line == pytest.approx(np.full(n, 20.0), abs=2e-3)  # money per MWh
    assert line - low == pytest.approx(np.full(n, 20.0), abs=2e-3)
    assert "the span from the 10 to the 90 % quantile shaded" in shown.words
    assert "quantile shaded" not in page.words
    assert "90 %" not in {trace.get("name") for trace in page.figures["chart-grid-data"]["data"]}
