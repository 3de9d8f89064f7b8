"""What forecasts are worth to the planner, for people and for other programs: rows, figures, JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.backtest_kept import BASELINES, CARBON, ORACLE
from planner.export.charts.frame import BLACK, BLUE, GREY, ORANGE, Figure, layout, value_axis
from planner.forecast.issued import BLEND, BOOSTED, NAIVE
from planner.forecast.lead_error import STATEMENT
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.backtest_kept import Came, Kept, PlannedWeek, Plans

PLAN_HEADS = (
    "planned by", "plans on", *(f"kept against {name}" for name in BASELINES),
    *(f"saved against {name}" for name in BASELINES), "deadlines missed", "beyond a limit", "weeks compared",
)  # fmt: skip
"""Columns of the table."""
_COLORS = {ORACLE: BLACK, NAIVE: GREY, BLEND: ORANGE, BOOSTED: BLUE}


def plans_statement(plans: Plans) -> str:
    """Return what must be said beside the shares: how the weeks were made, and what the plans were given."""
    left = f" ({plans.left_out} left out, where hours of what came are not known)" if plans.left_out else ""
    return (
        f"Weeks of site {plans.site}, one every {plans.every_days} days{left}: each planned on forecasts and on what "
        f"came to a gap of {100.0 * plans.gap_target:g} %, both judged on what came; kept is the sum of the savings "
        f"over that with perfect foresight. {STATEMENT[0].upper()}{STATEMENT[1:]}; all plans on forecasts saw "
        f"{', '.join(plans.weather)} so"
    )


def plan_rows(plans: Plans) -> list[list[str]]:
    """Return the table's rows, one for each weight and model, as text."""
    return [
        [
            kept.weight,
            kept.model,
            *(_percent(None if share is None else 100.0 * share, 0) for share in kept.share.values()),
            *(_percent(saved, 1) for saved in kept.saved_pct.values()),
            str(kept.late),
            f"{kept.beyond} of {kept.weeks}",
            f"{kept.compared} of {kept.weeks}",
        ]
        for kept in plans.kept
    ]


def plans_json(plans: Plans) -> dict[str, Any]:
    """Return the JSON object, every digit."""
    return {
        "site": plans.site,
        "currency": plans.currency,
        "every_days": plans.every_days,
        "gap_target": plans.gap_target,
        "statement": plans_statement(plans),
        "weeks_left_out": plans.left_out,
        "kept": [_kept(one) for one in plans.kept],
        "weeks": [_week(one) for one in plans.weeks],
    }


def plan_figures(plans: Plans) -> list[tuple[str, str, Figure]]:
    """Return (weight, unit, figure of what each week saves) for each weight."""
    weights = dict.fromkeys(week.weight for week in plans.weeks)
    return [(weight, _unit(plans, weight), _figure(plans, weight)) for weight in weights]


def _figure(plans: Plans, weight: str) -> Figure:
    weeks = [week for week in plans.weeks if week.weight == weight and week.compared]
    days = [f"{week.origin:%Y-%m-%d}" for week in weeks]
    names = [one.model for one in plans.kept if one.weight == weight]
    unit = _unit(plans, weight)
    against = BASELINES[0]
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": days,
            "y": [week.plans[i].saved(against) for week in weeks],
            "line": {"color": _COLORS[name], "width": 2},
            "marker": {"size": 4},
            "hovertemplate": "%{y:,.4~g}",
        }
        for i, name in enumerate(names)
    ]
    return {
        "data": data,
        "layout": layout(
            360,
            f"What plans by {weight} save against {against} in each week, in {unit}, by what they were made on",
            xaxis={"type": "date", "fixedrange": True},
            yaxis=value_axis(f"saved against {against}, {unit}", (0.0, 1.0)),
        ),
    }


def _unit(plans: Plans, weight: str) -> str:
    return "kgCO2e" if weight == CARBON else plans.currency


def _kept(one: Kept) -> dict[str, Any]:
    return {
        "weight": one.weight,
        "model": one.model,
        "share": dict(one.share),
        "saved_pct": dict(one.saved_pct),
        "deadlines_missed": one.late,
        "weeks_beyond_a_limit": one.beyond,
        "weeks_compared": one.compared,
        "weeks": one.weeks,
    }


def _week(week: PlannedWeek) -> dict[str, Any]:
    return {
        "start": iso(week.origin),
        "weight": week.weight,
        "compared": week.compared,
        "plans": [came_document(one) for one in week.plans],
    }


def came_document(one: Came) -> dict[str, Any]:
    """Return what one plan of a week came to, as JSON holds it: emissions in kg CO2e or money, as `figure` is."""
    return {
        "name": one.name,
        "figure": one.figure,
        "without_a_plan": dict(one.usual),
        "deadlines_missed": one.late,
        "beyond_a_limit": one.beyond,
        "certified_gap": one.gap,
        "not_compared": one.reason,
    }


def _percent(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f} %"
