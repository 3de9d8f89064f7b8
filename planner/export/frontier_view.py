"""A front for people and other programs: lines, a page, JSON. Beaten plans are marked, never drawn as the front."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from planner.export import wording, worth_view
from planner.export.charts.frame import BLACK, BLUE, GREY, ORANGE, Figure, Trace, chart_text, layout, value_axis
from planner.export.page import embedded, page
from planner.frontier.points import beats
from planner.objective import CARBON, COST, LATENESS, WATER
from planner.timegrid import iso, week_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.frontier.points import Point
    from planner.frontier.sweep import Front
    from planner.week import Week

ON_FRONT, BEATEN, TWIN, BROKEN = "on the front", "beaten", "same as another", "breaks a promise"
HEADS = ("Plan", "kg CO2e", "Paid", "GPU-h late", "Water, L", "Deadlines kept", "Certified gap", "Stands")
DIGITS = 5
"""Significant digits: neighbours on a front may differ by little."""
MARGIN = 0.06
"""Room beside the outermost points, share of what they span."""


def stands(front: Front, place: int) -> str:
    """Return where a plan stands: on the front, beaten by a plan of it, the same as another, or broken."""
    point = front.points[place]
    if place in front.front:
        return ON_FRONT
    if point.violations:
        return BROKEN
    return BEATEN if any(beats(front.points[i], point, front.measures) for i in front.front) else TWIN


def rows(front: Front, week: Week) -> list[list[str]]:
    """Return the table: the front by rising first objective, then all other plans."""
    rest = [i for i in range(len(front.points)) if i not in front.front]
    return [_row(front, week, i) for i in (*front.front, *rest)]


def notes(front: Front) -> list[str]:
    """Return what must be said beside the table."""
    said = [
        f"{len(front.front)} plans on the front, of {len(front.points)} planned and judged",
        "work is late in GPU-hours by priority, counted again each further day",
    ]
    if front.idle:
        said.append(f"no plan differs from another in {' and '.join(front.idle)}")
    today = front.today
    if 0 not in front.front:
        better = [front.points[i].name for i in front.front if beats(front.points[i], today, front.measures)]
        gap = "" if today.gap is None else f", which is certified to within {wording.percent(today.gap, 2)} of the best"
        said.append(
            f"today's plan breaks a promise: {today.violations[0]}"
            if today.violations
            else f"today's plan{gap}, is beaten by {better[0]!r}"
        )
    slow = sum(not point.settled for point in front.points)
    if slow:
        said.append(
            f"{slow} of them did not reach the gap asked for in their time: with more, the front may lie lower "
            "(--time-limit)"
        )
    return said


def lines(front: Front, week: Week) -> list[str]:
    """Return the front as lines of text, with what each of its plans is worth."""
    found = _columns([list(HEADS), *rows(front, week)])
    found += ["", *_columns([["Plan", *worth_view.HEADS], *worth_table(front, week)])]
    return [*found, "", *notes(front), *week.labels]


def worth_table(front: Front, week: Week) -> list[list[str]]:
    """Return what today's plan and each on the front is worth: one row per plan and way of working without one."""
    places = dict.fromkeys((0, *front.front))
    return [
        [front.points[i].name, *row]
        for i in places
        for row in worth_view.worth_rows(front.points[i].worth, week.prices.currency)
    ]


def document(front: Front, week: Week) -> dict[str, Any]:
    """Return the front as one JSON object, every digit."""
    return {
        "site": week.site,
        "week": week_name(week.grid.start, week.tz),
        "issued_at": iso(week.issued_at),
        "currency": week.prices.currency,
        "objectives": list(front.measures),
        "idle_objectives": list(front.idle),
        "on_front": len(front.front),
        "labels": list(week.labels),
        "points": [
            {
                "name": point.name,
                "today": i == 0,
                "stands": stands(front, i),
                "carbon_kg": point.carbon_kg,
                "cost": point.cost,
                "late_gpu_h": point.late_gpu_h,
                "water_l": point.water_l,
                "deadlines": point.deadlines,
                "deadlines_kept": point.deadlines_kept,
                "violations": list(point.violations),
                "certified_gap": point.gap,
                "settled": point.settled,
                "worth": [worth_view.worth_json(one) for one in point.worth],
            }
            for i, point in enumerate(front.points)
        ],
    }


def frontier_html(front: Front, week: Week) -> bytes:
    """Return the front as a page that needs neither network nor server, UTF-8."""
    moving = [measure for measure in front.measures if measure not in front.idle]
    first, last = (wording.local(t, week.tz) for t in (week.grid.start, week.grid.end))
    return page(
        "frontier.html.j2",
        title=f"{week.site}, week {week_name(week.grid.start, week.tz)}: what plans trade",
        span=f"{first} to {last}, {week.timezone}",
        labels=week.labels,
        notes=notes(front),
        heads=HEADS,
        rows=rows(front, week),
        worth_heads=("Plan", *worth_view.HEADS),
        worth_rows=worth_table(front, week),
        worth_notes=worth_view.worth_notes(front.today.worth),
        charts=[
            (_title(x, week), _title(y, week), embedded(pair_figure(front, week, x, y)))
            for x, y in combinations(moving, 2)
        ],
    )


def pair_figure(front: Front, week: Week, x: str, y: str) -> Figure:
    """Return the plans by two measures; the line joins only those that no plan beats by these two alone.

    Args:
        front: The front.
        week: All inputs.
        x: Measure along the first axis.
        y: Measure along the second.
    """
    points = front.points
    seen = [i for i in front.front if i != 0]
    rest = [i for i in range(1, len(points)) if i not in front.front]
    pair = [i for i in front.front if not any(beats(points[j], points[i], (x, y)) for j in front.front)]
    pair.sort(key=lambda i: (points[i].figure(x), points[i].figure(y)))
    label = f"Plans by {_title(x, week)} and {_title(y, week)}: {len(front.front)} on the front, today's marked"
    data = [
        _trace(front, week, pair, x, y, name="front of these two", mode="lines", line={"color": BLUE, "width": 1.6}),
        _trace(front, week, seen, x, y, name=ON_FRONT, mode="markers", marker={"color": BLUE, "size": 9}),
        _trace(
            front,
            week,
            rest,
            x,
            y,
            name="not on it",
            mode="markers",
            marker={"color": GREY, "size": 8, "symbol": "x-thin", "line": {"color": BLACK, "width": 1}},
        ),
        _trace(
            front,
            week,
            [0],
            x,
            y,
            name="today's plan",
            mode="markers",
            marker={"color": ORANGE, "size": 14, "symbol": "diamond", "line": {"color": BLACK, "width": 1}},
        ),
    ]
    return {
        "data": data,
        "layout": layout(
            400,
            label,
            hovermode="closest",
            xaxis={
                "title": {"text": _title(x, week)},
                "range": _range([point.figure(x) for point in points]),
                "fixedrange": True,
                "zeroline": False,
            },
            yaxis=value_axis(_title(y, week), (0.0, 1.0), range=_range([point.figure(y) for point in points])),
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -0.2, "yanchor": "top"},
        ),
    }


def _trace(front: Front, week: Week, places: Sequence[int], x: str, y: str, **changes: Any) -> Trace:
    points = [front.points[i] for i in places]
    return {
        "type": "scatter",
        "x": [point.figure(x) for point in points],
        "y": [point.figure(y) for point in points],
        "text": [chart_text(_hover(point, week)) for point in points],
        "hovertemplate": "%{text}<extra></extra>",
    } | changes


def _row(front: Front, week: Week, place: int) -> list[str]:
    point = front.points[place]
    gap = "-" if point.gap is None else wording.percent(point.gap, 2)
    return [
        point.name,
        *_told(point, week),
        f"{point.deadlines_kept} of {point.deadlines}",
        gap if point.settled else f"{gap} (time ran out)",
        stands(front, place),
    ]


def _told(point: Point, week: Week) -> list[str]:
    return [
        wording.number(point.carbon_kg, DIGITS),
        f"{wording.number(point.cost, DIGITS)} {week.prices.currency}",
        wording.number(point.late_gpu_h, DIGITS),
        wording.number(point.water_l, DIGITS),
    ]


def _hover(point: Point, week: Week) -> str:
    carbon, paid, late, water = _told(point, week)
    return f"{point.name}: {carbon} kg CO2e, {paid}, {late} GPU-h late, {water} L"


def _title(measure: str, week: Week) -> str:
    return {
        CARBON: "carbon, kg CO2e",
        COST: f"money paid, {week.prices.currency}",
        LATENESS: "work late, GPU-h",
        WATER: "water, L",
    }[measure]


def _range(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = MARGIN * (high - low) or 1.0
    return [low - room, high + room]


def _columns(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
