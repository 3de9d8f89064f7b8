"""Weeks of the past replayed, for people and for other programs: table, page, JSON."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from planner.backtest_kept import BASELINES, CARBON, ORACLE
from planner.export.backtest_plans import came_document
from planner.export.charts.frame import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, Figure, layout, value_axis
from planner.export.page import embedded, page
from planner.forecast.lead_error import STATEMENT
from planner.replay.outcome import ROLLING, STOCHASTIC, WEEK_AHEAD
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.replay.outcome import Replay, ReplayedWeek, Way

SCHEMA = "gridpace.replay/1"
HEADS = (
    "plans", *(f"kept against {name}" for name in BASELINES), *(f"saved against {name}" for name in BASELINES),
    "regret", "better than week-ahead", "deadlines missed", "beyond a limit", "GPU-h changed", "weeks compared",
)  # fmt: skip
"""Columns of the table."""
_COLORS = {ORACLE: BLACK, WEEK_AHEAD: ORANGE, ROLLING: BLUE, STOCHASTIC: GREEN, "asap": GREY, "steady": SKY}


def statement(replay: Replay) -> str:
    """Return what must be said beside the figures: how the weeks were made, and what the plans were given."""
    left = f" ({replay.left_out} left out, where hours of what came are not known)" if replay.left_out else ""
    models = ", ".join(f"{signal} by {model}" for signal, model in replay.model.items())
    return (
        f"Weeks of site {replay.site} on the grid of {replay.zone}, one every {replay.every_days} days{left}, planned "
        f"by {replay.weight} and judged on what came: kept is the sum of the savings over that with perfect foresight, "
        f"regret the sum by which a way of planning is above it. week-ahead is planned once and carried out as it "
        f"stands; rolling is planned again from the plan in force; stochastic-rolling does so on {replay.scenarios} "
        f"weighted paths. Forecasts as they would have been issued: {models}. {STATEMENT[0].upper()}{STATEMENT[1:]}"
    )


def rows(replay: Replay) -> list[list[str]]:
    """Return the table's rows: every way of planning, then both baselines."""
    return [_row(way) for way in replay.ways] + [_baseline_row(replay, name) for name in BASELINES]


def replay_table(replay: Replay) -> list[str]:
    """Return what a replay came to, as lines of text."""
    told = [HEADS, *rows(replay)]
    widths = [max(map(len, column)) for column in zip(*told, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in told
    ]
    return [_title(replay), "", *lines, "", f"{statement(replay)}."]


def replay_json(replay: Replay) -> bytes:
    """Return a replay as JSON, every digit."""
    document = {
        "schema": SCHEMA,
        "site": replay.site,
        "zone": replay.zone,
        "planned_by": replay.weight,
        "unit": _unit(replay),
        "every_days": replay.every_days,
        "scenarios": replay.scenarios,
        "models": dict(replay.model),
        "statement": statement(replay),
        "weeks_left_out": replay.left_out,
        "ways": [_way(way) for way in replay.ways],
        "baselines": {name: _usual(replay, name) for name in BASELINES},
        "weeks": [_week(week) for week in replay.weeks],
    }
    return json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"


def replay_html(replay: Replay, labels: Sequence[str] = ()) -> bytes:
    """Return a replay as a page that needs neither network nor server.

    Args:
        replay: What it came to.
        labels: Sentences about the past that must be shown with it.
    """
    return page(
        "replay.html.j2",
        title=f"Plans of {replay.site} replayed on {replay.zone}",
        span=_title(replay),
        labels=(f"{STATEMENT[0].upper()}{STATEMENT[1:]}.", *labels),
        note=statement(replay),
        heads=HEADS,
        rows=rows(replay),
        unit=_unit(replay),
        charts=[(heading, told, embedded(figure)) for heading, told, figure in _figures(replay)],
    )


def _figures(replay: Replay) -> list[tuple[str, str, Figure]]:
    unit, weeks = _unit(replay), [week for week in replay.weeks if week.planned.compared]
    days = [f"{week.origin:%Y-%m-%d}" for week in weeks]
    best = [_figure_of(week, ORACLE) for week in weeks]
    per_week, summed = {}, {}
    for way in replay.ways:
        name = way.kept.model
        plans = [next(one for one in week.planned.plans if one.name == name) for week in weeks]
        per_week[name] = [plan.saved(BASELINES[0]) for plan in plans]
        if name != ORACLE:
            summed[name] = list(accumulate(p.figure - b for p, b in zip(plans, best, strict=True)))
    for name in BASELINES:
        usual = [week.planned.plans[0].usual[name] for week in weeks]
        summed[name] = list(accumulate(u - b for u, b in zip(usual, best, strict=True)))
    return [
        (
            f"Saved in each week, {unit}",
            f"Against {BASELINES[0]}, on what came.",
            _lines(days, per_week, f"Saved against {BASELINES[0]} in each week by each way of planning, in {unit}",
                   f"saved against {BASELINES[0]}, {unit}"),
        ),
        (
            f"Regret, {unit}",
            "What each way of planning, and each baseline, is above perfect foresight, summed from the first week on.",
            _lines(days, summed, f"Sum of what is above perfect foresight, in {unit}", f"regret so far, {unit}"),
        ),
    ]  # fmt: skip


def _lines(days: list[str], series: dict[str, list[float]], label: str, axis: str) -> Figure:
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": days,
            "y": values,
            "line": {"color": _COLORS[name], "width": 2},
            "marker": {"size": 4},
            "hovertemplate": "%{y:,.4~g}",
        }
        for name, values in series.items()
    ]
    return {
        "data": data,
        "layout": layout(360, label, xaxis={"type": "date", "fixedrange": True}, yaxis=value_axis(axis, (0.0, 1.0))),
    }


def _row(way: Way) -> list[str]:
    kept = way.kept
    late = "-" if way.late_share is None else f"{kept.late} ({100.0 * way.late_share:.2g} %)"
    return [
        kept.model,
        *(_percent(None if share is None else 100.0 * share) for share in kept.share.values()),
        *(_percent(saved) for saved in kept.saved_pct.values()),
        _amount(way.regret),
        _amount(way.against_week_ahead),
        late,
        f"{kept.beyond} of {kept.weeks}",
        f"{way.changed_gpu_h:,.0f}",
        f"{kept.compared} of {kept.weeks}",
    ]


def _baseline_row(replay: Replay, name: str) -> list[str]:
    usual = _usual(replay, name)
    cells = ["-"] * len(HEADS)
    cells[0], cells[HEADS.index("regret")] = name, _amount(usual["regret"])
    cells[HEADS.index("better than week-ahead")] = _amount(usual["against_week_ahead"])
    return cells


def _usual(replay: Replay, name: str) -> dict[str, float]:
    """Return what a baseline comes to over all weeks that can be compared, with the work of perfect foresight."""
    weeks = [week for week in replay.weeks if week.planned.compared]
    figure = sum(week.planned.plans[0].usual[name] for week in weeks)
    best, ahead = (sum(_figure_of(week, one) for week in weeks) for one in (ORACLE, WEEK_AHEAD))
    return {"figure": figure, "regret": figure - best, "against_week_ahead": ahead - figure}


def _figure_of(week: ReplayedWeek, name: str) -> float:
    return next(one.figure for one in week.planned.plans if one.name == name)


def _way(way: Way) -> dict[str, Any]:
    kept = way.kept
    return {
        "name": kept.model,
        "share": dict(kept.share),
        "saved_pct": dict(kept.saved_pct),
        "figure": way.figure,
        "regret": way.regret,
        "against_week_ahead": way.against_week_ahead,
        "deadlines_missed": kept.late,
        "deadlines_missed_share": way.late_share,
        "weeks_beyond_a_limit": kept.beyond,
        "changed_gpu_h": way.changed_gpu_h,
        "plans_thawed": way.thawed,
        "weeks_compared": kept.compared,
        "weeks": kept.weeks,
    }


def _week(week: ReplayedWeek) -> dict[str, Any]:
    return {
        "start": iso(week.origin),
        "deadlines": week.deadlines,
        "compared": week.planned.compared,
        "plans": [
            came_document(one) | {"changed_gpu_h": week.changed_gpu_h.get(one.name, 0.0)} for one in week.planned.plans
        ],
    }


def _title(replay: Replay) -> str:
    first, last = replay.weeks[0].origin, replay.weeks[-1].origin
    return (
        f"{replay.site} on {replay.zone}: {len(replay.weeks)} weeks from {first:%Y-%m-%d} to {last:%Y-%m-%d}, by "
        f"{replay.weight}, in {_unit(replay)}"
    )


def _unit(replay: Replay) -> str:
    return "kgCO2e" if replay.weight == CARBON else replay.currency


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} %"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:,.3g}"
