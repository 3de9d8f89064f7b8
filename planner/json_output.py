"""One JSON object on standard output, of a result or of a failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object that any terminal can show."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False))


@contextmanager
def json_errors(as_json: bool) -> Iterator[None]:
    """Where one JSON object is promised, a failure prints one too, so that a script can always read it."""
    try:
        yield
    except Exception as error:
        if as_json:
            print_json(
                {
                    "error": {
                        "kind": type(error).__name__,
                        "what": getattr(error, "what", f"internal: {error}"),
                        "why": getattr(error, "why", ""),
                        "fix": getattr(error, "fix", ""),
                        "conflicts": list(getattr(error, "conflicts", ())),
                        "exit_code": getattr(error, "exit_code", 1),
                    }
                }
            )
        raise
