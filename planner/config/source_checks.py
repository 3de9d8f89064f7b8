"""Whether the providers that a site file names can give what the plan needs."""

from __future__ import annotations

from pathlib import Path

from planner.config.draft import Draft
from planner.config.providers import providers


def check_sources(draft: Draft, folder: Path) -> tuple[str, ...]:
    """Note providers that do not know their options or the site's zone; return what is allowed but looks wrong."""
    needed = {"site": ("zone", "currency"), "sources": (), "carbon": ("basis",), "tariff": ("energy_per_kwh",)}
    if not all(name in draft.single and draft.single[name].sound(*keys) for name, keys in needed.items()):
        return ()
    sources = draft.single["sources"]
    place, basis = draft.single["site"].table, draft.single["carbon"].table.basis
    flat = draft.single["tariff"].table.energy_per_kwh is not None
    blocks = (placed.table for placed in draft.blocks if placed.table.site in {None, place.name})
    owners = [*blocks, *(placed.table for placed in draft.ppas)]
    sunny, windy = (any(getattr(owner, key) is not None for owner in owners) for key in ("solar", "wind"))
    groups = providers(sources.table, place, basis, folder, price_wanted=not flat, sun_wanted=sunny, wind_wanted=windy)
    for provider in groups.values():
        for path, what, fix in provider.faults():
            draft.faults.add(path, what, fix)
    return tuple(warning for provider in groups.values() for warning in provider.warnings())
