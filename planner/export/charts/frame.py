"""What all figures share: colours, the site's time axis, the layout.

Colours are those of Okabe and Ito (2008), told apart by all common kinds of colour vision.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.timegrid import iso, local_midnight

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import numpy.typing as npt

Trace = dict[str, Any]
Figure = dict[str, Any]

ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
BLACK = "#000000"
INK = "#1f2933"
MUTED = "#52606d"
GRID = "#e4e7eb"
GREY = "#b8c1cc"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class TimeAxis:
    """The horizon's slots as Plotly takes them: instants in UTC, told in site time.

    Args:
        starts: Start of every slot, UTC, length T.
        end: End of the last slot, UTC.
        tz: Site time zone.
    """

    starts: tuple[datetime, ...]
    end: datetime
    tz: ZoneInfo

    @cached_property
    def edges(self) -> list[str]:
        """Start of every slot and the end of the last, length T + 1."""
        return [iso(t) for t in (*self.starts, self.end)]

    @cached_property
    def told(self) -> list[str]:
        """The same in site time with its offset, for hovering."""
        there = [t.astimezone(self.tz) for t in (*self.starts, self.end)]
        return [f"{t:%a} {t.day} {t:%b %H:%M} ({t:%Z})" for t in there]

    def axis(self, **changes: Any) -> dict[str, Any]:
        """Return the layout of a time axis with a tick at each midnight of the site."""
        first, last = self.starts[0].astimezone(self.tz).date(), self.end.astimezone(self.tz).date()
        days = [first + timedelta(days=i) for i in range((last - first).days + 1)]
        ticks = [(local_midnight(day, self.tz), day) for day in days]
        ticks = [(t, day) for t, day in ticks if self.starts[0] <= t < self.end]
        return {
            "type": "date",
            "hoverformat": "%Y-%m-%d %H:%M UTC",
            "range": [iso(self.starts[0]), iso(self.end)],
            "tickmode": "array",
            "tickvals": [iso(t) for t, _ in ticks],
            "ticktext": [f"{day:%a}<br>{day.day} {day:%b}" for _, day in ticks],
            "ticklabelposition": "outside right",
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": GREY,
            "tickangle": 0,
            "gridcolor": GRID,
            "linecolor": GREY,
            "zeroline": False,
            "fixedrange": True,
        } | changes


def power_scale(highest_kw: float) -> tuple[float, str]:
    """Return kW per shown unit of power and the unit's name: one for a whole page, so that figures lie side by side."""
    return (1000.0, "MW") if highest_kw >= 1000.0 else (1.0, "kW")


def chart_text(text: str) -> str:
    """Return text that Plotly shows as it stands: its labels know some HTML tags and entities."""
    return html.escape(text, quote=True)


def shorten(text: str, most: int = 18) -> str:
    """Return the text, cut to `most` characters with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"


def steps(values: npt.ArrayLike, digits: int = 3) -> list[float | None]:
    """Return slot values as the ends of steps: the last value is repeated at the horizon's end, length T + 1.

    What is not a number leaves a gap.
    """
    rounded = np.round(np.asarray(values, dtype=np.float64), digits)
    return [float(v) if np.isfinite(v) else None for v in (*rounded, rounded[-1])]


def step_line(time: TimeAxis, values: npt.ArrayLike, name: str, color: str, **changes: Any) -> Trace:
    """Return a stepped line over the horizon.

    Args:
        time: The slots.
        values: One value per slot, shape (T,).
        name: Name in the legend.
        color: Its colour.
        changes: Further or other attributes of the trace.
    """
    line = {"shape": "hv", "color": color, "width": 1.6} | changes.pop("line", {})
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": time.edges,
        "y": steps(values),
        "line": line,
        "hovertemplate": "%{y:,.4~g}",
    } | changes


def told_time(time: TimeAxis, axis: str) -> Trace:
    """Return an unseen line that tells each slot's start in site time as the first line of a hover box.

    Args:
        time: The slots.
        axis: Value axis on which it lies, at zero.
    """
    return {
        "type": "scatter",
        "mode": "lines",
        "x": time.edges,
        "y": [0] * len(time.edges),
        "yaxis": axis,
        "text": time.told,
        "line": {"width": 0, "color": "rgba(0,0,0,0)"},
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def stacked_area(time: TimeAxis, values: npt.ArrayLike, name: str, color: str, group: str, **changes: Any) -> Trace:
    """Return a stepped area stacked on those before it in the same group; arguments as for `step_line`."""
    return step_line(
        time,
        values,
        name,
        color,
        stackgroup=group,
        fillcolor=color,
        line={"width": 0.6, "color": "#ffffff"},
        **changes,
    )


def value_axis(title: str, domain: Sequence[float], **changes: Any) -> dict[str, Any]:
    """Return the layout of a value axis.

    Args:
        title: Quantity and unit.
        domain: Lower and upper edge as shares of the figure's height.
        changes: Further or other attributes.
    """
    return {
        "title": {"text": title, "standoff": 6, "font": {"size": 12}},
        "domain": list(domain),
        "gridcolor": GRID,
        "linecolor": GREY,
        "zerolinecolor": GREY,
        "fixedrange": True,
        "automargin": True,
        "nticks": 5,
    } | changes


def layout(height_px: int, label: str, **changes: Any) -> dict[str, Any]:
    """Return the layout shared by all figures.

    Args:
        height_px: Height of the figure, px.
        label: What the figure shows, read to those who do not see it.
        changes: Further or other attributes.
    """
    return {
        "height": height_px,
        "meta": {"label": label},
        "autosize": True,
        "font": {"family": FONT, "size": 12, "color": INK},
        "margin": {"l": 56, "r": 12, "t": 8, "b": 40},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "hovermode": "x unified",
        "hoversubplots": "axis",
        "hoverlabel": {"font": {"size": 12}, "namelength": 24},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.12, "yanchor": "top", "traceorder": "normal"},
        "dragmode": False,
        "bargap": 0.25,
    } | changes
