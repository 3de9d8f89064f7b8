"""The page that says what the service can be asked, made from its own description without a program in the browser."""

from __future__ import annotations

from html import escape
from typing import Any

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}"
    "code{font-size:.95em;background:#f0f0f0;padding:.1em .3em;overflow-wrap:anywhere}"
    "section{border-top:1px solid #767676;padding:.5rem 0}h2{font-size:1.1rem;margin:.5rem 0}"
)


def operations_page(document: dict[str, Any]) -> str:
    """Return the page.

    Args:
        document: The service's description by OpenAPI.
    """
    parts = [
        _operation(path, method, one) for path, methods in document["paths"].items() for method, one in methods.items()
    ]
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><h1>{title}</h1>'
        f'<p>{escape(document["info"]["summary"])} For programs: <a href="openapi.json">openapi.json</a>.</p>'
        f"{''.join(parts)}</body></html>"
    )


def _operation(path: str, method: str, one: dict[str, Any]) -> str:
    answers = ", ".join(f"{code} {told.get('description', '')}" for code, told in one["responses"].items())
    bodies = ", ".join(one.get("requestBody", {}).get("content", {}))
    takes = f"<p>Takes <code>{escape(bodies)}</code>.</p>" if bodies else ""
    return (
        f"<section><h2>{escape(one['summary'])}</h2><p><code>{method.upper()} {escape(path)}</code></p>"
        f"<p>{escape(one.get('description', ''))}</p>{takes}<p>Answers: {escape(answers)}.</p></section>"
    )
