"""The page's templates and files."""

from __future__ import annotations

import hashlib
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any

import jinja2
from fastapi.responses import HTMLResponse
from plotly.offline import get_plotlyjs

# Plotly writes style attributes; programs come from this server alone.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
KINDS = {"live.css": "text/css; charset=utf-8", "live.js": "text/javascript", "plotly.js": "text/javascript"}
"""Files that the page loads, which hold nothing of the site."""


def rendered(template: str, status: HTTPStatus = HTTPStatus.OK, **given: Any) -> HTMLResponse:
    """Return a page.

    Args:
        template: File name of its template.
        status: HTTP status.
        given: What the template lays out.
    """
    text = _environment().get_template(template).render(stamp=_stamp(), **given)
    headers = {"content-security-policy": POLICY, "cache-control": "no-store"}
    return HTMLResponse(text, status, headers)


@cache
def static_file(name: str) -> bytes:
    """Return a file of `KINDS`."""
    if name == "plotly.js":
        return str(get_plotlyjs()).encode()
    return (files("planner.service.live") / "static" / name).read_bytes()


@cache
def _stamp() -> str:
    """Return a text that changes with the files, so that browsers may keep them for good."""
    digest = hashlib.sha256()
    for name in KINDS:
        digest.update(static_file(name))
    return digest.hexdigest()[:16]


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("planner.service.live"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
