"""What a draft comes to, in sentences: said on the page for those who decide about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from planner.export import wording

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMPARED = (("carbon", "carbon_pct"), ("cost", "cost_pct"), ("energy", "energy_pct"))


def draft_summary(content: bytes) -> tuple[str, ...]:
    """Return what a draft comes to, in sentences.

    Args:
        content: Its summary as `planner.summary.summary` made it, as JSON.
    """
    told = json.loads(content)
    figures = (
        f"Carbon {wording.carbon(told['carbon_kg'])}, cost {wording.money(told['cost'], told['currency'])}, energy "
        f"{wording.energy(told['energy_kwh'])}; the highest import is {wording.power(told['peak_kw'])}."
    )
    short = tuple(one["sentence"] for one in told["shortfalls"])
    deadlines = f"{told['deadlines_kept']} of {told['deadlines']} deadlines of the week are kept."
    return (figures, *_saved(told["saved"]), deadlines, *(f"It does not keep: {one}" for one in short))


def _saved(saved: Mapping[str, object]) -> tuple[str, ...]:
    against = str(saved["against"])
    parts = [
        f"{name} {wording.compared(share, against)}"
        for name, key in _COMPARED
        if isinstance(share := saved.get(key), (int, float))
    ]
    return (f"Compared: {'; '.join(parts)}.",) if parts else ()
