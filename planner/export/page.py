"""What all pages share: the template's environment, Plotly's bundle, and figures that are safe inside a page."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup
from plotly.offline import get_plotlyjs

if TYPE_CHECKING:
    from planner.export.charts.frame import Figure


def page(template: str, **given: Any) -> bytes:
    """Return a page that needs neither network nor server, UTF-8.

    Args:
        template: File name of its template.
        given: What the template lays out; `labels` are the sentences that stand above all else.
    """
    text = (
        _environment()
        .get_template(template)
        .render(
            plotly=Markup(get_plotlyjs()),  # noqa: S704 - Plotly's own bundle, as its package ships it
            **given,
        )
    )
    return text.encode()


def embedded(figure: Figure) -> dict[str, Any]:
    """Return a figure's label and height, and its JSON made safe inside a script element."""
    text = json.dumps(figure, separators=(",", ":"), allow_nan=False, default=_plain)
    for sign, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(sign, escaped)
    return {
        "label": figure["layout"]["meta"]["label"],
        "height_px": figure["layout"]["height"],
        "json": Markup(text),  # noqa: S704 - no sign that could end the element is left
    }


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("planner.export"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a figure")
