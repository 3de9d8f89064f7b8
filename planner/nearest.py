"""The known word that a misspelt one probably means."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LEAST_LIKENESS = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most like `word`, capitals aside, or None where none is near."""
    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=_LEAST_LIKENESS)
    return by_lower[near[0]] if near else None
