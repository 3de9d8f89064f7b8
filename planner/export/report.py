"""The report: one HTML file that needs neither network nor server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.export import accounts_view, agreements_view, explain_view, geography_view, power_view, view, worth_view
from planner.export.charts.frame import TimeAxis, power_scale
from planner.export.charts.grid import SHADED, grid_figure
from planner.export.charts.power import limit_told, power_figure
from planner.export.charts.runs import runs_figure, shade_scale
from planner.export.page import embedded, page
from planner.export.waste import waste_sentences
from planner.plan_limits import cooling_limit
from planner.yield_bands import offered_kw

if TYPE_CHECKING:
    from planner.outcome import Outcome


def report_html(outcome: Outcome) -> bytes:
    """Return the report of a planned week as a page, UTF-8.

    Args:
        outcome: The week, its calendar and the judge's figures.
    """
    week = outcome.week
    time = TimeAxis(week.grid.starts, week.grid.end, week.tz)
    limits_kw = {block.name: (week.capacity_kw(block), week.import_limit_kw(block)) for block in week.blocks}
    scale = power_scale(max(float(kw.max()) for kw, _ in limits_kw.values()))
    plans = {plan.block: plan for plan in outcome.calendar.blocks}
    planned = [block for block in week.blocks if block.name in plans]
    allowed = {block.name: cooling_limit(week, block, plans[block.name]) for block in planned}
    return page(
        "report.html.j2",
        view=view,
        power=power_view,
        agreements=agreements_view,
        explain=explain_view,
        geography=geography_view,
        outcome=outcome,
        labels=outcome.labels,
        accounts=accounts_view.section(outcome),
        waste=waste_sentences(outcome),
        worth=worth_view.section(outcome),
        worth_heads=worth_view.HEADS,
        grid=embedded(grid_figure(week, time, outcome.runs, scale)),
        shaded=any(band.signal in SHADED for band in week.bands),
        shades=shade_scale(),
        gantt=embedded(runs_figure(week, outcome.calendar, outcome.runs, time)),
        blocks=[
            (
                block.name,
                limit_told(block, plans[block.name]),
                view.cooling_limit_told(block, allowed[block.name]),
                embedded(
                    power_figure(
                        block,
                        plans[block.name],
                        time,
                        limits_kw[block.name],
                        allowed[block.name],
                        scale,
                        offered_kw(block, week.bands),
                    )
                ),
            )
            for block in planned
        ],
    )
