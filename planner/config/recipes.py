"""Recipes that [[run]] tables name: what each run takes, what its own keys keep, and where its inputs differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from planner.config.recipe_file import Recipe, read_recipe
from planner.errors import ConfigError
from planner.timegrid import to_utc, zone

if TYPE_CHECKING:
    from planner.config.draft import Draft, Placed
    from planner.config.faults import FaultList
    from planner.config.model import RunTable
    from planner.config.sweeps import Sweeps

CARRIED = ("tokens_per_gpu_s", "power_limits_w", "checkpoint_s", "reload_s")
"""Keys of a [[run]] that a recipe gives as they are."""
INTERVAL = "checkpoint_every_s"
"""Goes into a run's goodput."""


@dataclass(frozen=True)
class Recipes:
    """The recipes of a site file.

    Args:
        raw: The file's values, with what the recipes give in each run's table.
        of_run: Place in the list of [[run]] tables -> its recipe.
        told: Sentences about what was taken and what the run's own keys keep.
    """

    raw: dict[str, Any]
    of_run: Mapping[int, Recipe]
    told: tuple[str, ...]


def read_recipes(raw: dict[str, Any], folder: Path, faults: FaultList) -> Recipes:
    """Return a site file's values with what each run takes from the recipe that it names.

    Args:
        raw: The file's values as they were parsed.
        folder: Folder of the site file, which recipes' paths start from.
        faults: Gets what is wrong with a recipe or its use.
    """
    entries = raw.get("run")
    if not isinstance(entries, list):
        return Recipes(raw, {}, ())
    found: dict[int, Recipe] = {}
    told: list[str] = []
    runs: list[Any] = list(entries)
    for i, entry in enumerate(entries):
        named = entry.get("recipe") if isinstance(entry, dict) else None
        if not isinstance(named, str):
            continue  # a value of another kind is told by the table's own check
        try:
            recipe = read_recipe(folder / named)
        except ConfigError as error:
            faults.add(("run", i, "recipe"), error.what, error.fix)
            continue
        found[i] = recipe
        given = _given(recipe, entry, raw, faults, i)
        runs[i] = {**{k: v for k, v in given.items() if k != INTERVAL}, **entry, **_goodput(entry, given)}
        told.append(_sentence(recipe, entry, given))
    return Recipes(raw | {"run": runs}, found, tuple(told))


def apply_sweeps(recipes: Recipes, draft: Draft, sweeps: Sweeps) -> Sweeps:
    """Return the sweeps of a site file with those that recipes keep, for runs that name none of their own.

    A recipe's operating points hold in pools of the GPU type that it was measured on; elsewhere the type's own stand.

    Args:
        recipes: The recipes.
        draft: The tables that could be read.
        sweeps: The sweeps that tables name.
    """
    kept = dict(sweeps.of_run)
    for recipe, placed in _runs(recipes, draft):
        measured = recipe.measured_sweep()
        if measured is not None and placed.table.sweep is None and recipe.measured_on.gpu in _gpu_types(placed, draft):
            kept[placed.table.name] = replace(measured, gpu=recipe.measured_on.gpu)
    return replace(sweeps, of_run=kept)


def differences(recipes: Recipes, draft: Draft) -> tuple[str, ...]:
    """Return one sentence for each input of a run that differs from what its recipe was measured on.

    Args:
        recipes: The recipes.
        draft: The tables that could be read.
    """
    return tuple(text for recipe, placed in _runs(recipes, draft) for text in _differences(recipe, placed, draft))


def _runs(recipes: Recipes, draft: Draft) -> list[tuple[Recipe, Placed[RunTable]]]:
    at = {placed.path: placed for placed in draft.runs}
    return [(recipe, at["run", i]) for i, recipe in recipes.of_run.items() if ("run", i) in at]


def _gpu_types(placed: Placed[RunTable], draft: Draft) -> set[str]:
    return {pool.table.gpu for pool in draft.pools_named(placed.table.pools)}


def _drivers(placed: Placed[RunTable], draft: Draft) -> set[str | None]:
    return {pool.table.driver for pool in draft.pools_named(placed.table.pools)}


def _differences(recipe: Recipe, placed: Placed[RunTable], draft: Draft) -> list[str]:
    table, on = placed.table, recipe.measured_on
    start = f"Run {table.name!r} uses recipe {recipe.name!r}, which was measured on"
    told: list[str] = []
    other = sorted(_gpu_types(placed, draft) - {on.gpu})
    if other:
        told.append(f"{start} {on.gpu}; its pools have {', '.join(other)}.")
    if table.gpus != on.gpus:
        told.append(f"{start} {on.gpus} GPUs; it has {table.gpus}.")
    if on.parameters is not None:
        own = None if table.goodput is None else table.goodput.parameters
        if own is None:
            told.append(f"{start} a model of {on.parameters:.4g} parameters; the run does not say how many it has.")
        elif own != on.parameters:
            told.append(f"{start} a model of {on.parameters:.4g} parameters; its own has {own:.4g}.")
    if on.driver is not None:
        drivers = _drivers(placed, draft)
        named = sorted(name for name in drivers if name is not None and name != on.driver)
        if named:
            told.append(f"{start} driver {on.driver}; its pools have {', '.join(named)}.")
        if None in drivers:
            told.append(f"{start} driver {on.driver}; not all of its pools say which they have.")
    if "simulated" in recipe.best.energy_sources:
        told.append(f"{start} simulated GPUs: its {recipe.efficiency_text} are no measurement of real ones.")
    return told


def _given(recipe: Recipe, entry: dict[str, Any], raw: dict[str, Any], faults: FaultList, i: int) -> dict[str, Any]:
    """Return what a recipe gives to a run, by key of [[run]]; `checkpoint_every_s` goes into its goodput."""
    gives = recipe.gives
    given = {key: value for key in CARRIED if (value := getattr(gives, key)) is not None}
    if gives.checkpoint_every_s is not None and _fails(entry, raw):
        given[INTERVAL] = gives.checkpoint_every_s
    if gives.stages is None:
        return given
    start = entry.get("earliest_start")
    if isinstance(start, datetime):
        given["stages"] = _stages(recipe, start, raw)
    elif "stages" not in entry:
        faults.add(
            ("run", i, "recipe"),
            f"recipe {recipe.name!r} gives stages that count from the run's start, and the run has no earliest_start",
            "add earliest_start = ..., or stages of its own",
        )
    return given


def _stages(recipe: Recipe, start: datetime, raw: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a plan of stages with its deadlines, which lie so many hours after one another on any clock."""
    tz = _zone(raw)
    due = to_utc(start, tz)
    stages = []
    for stage in recipe.gives.stages or ():
        due += timedelta(hours=stage.within_h)
        stages.append({"name": stage.name, "tokens": stage.tokens, "deadline": due})
    return stages


def _zone(raw: dict[str, Any]) -> ZoneInfo:
    """Return the site's time zone; UTC stands in for one that is not known, which is told elsewhere."""
    site = raw.get("site")
    try:
        return zone(str(site["timezone"])) if isinstance(site, dict) and "timezone" in site else zone("UTC")
    except ConfigError:
        return zone("UTC")


def _fails(entry: dict[str, Any], raw: dict[str, Any]) -> bool:
    """Return whether failures of a run are reckoned with, without which an interval of checkpoints means nothing."""
    tables = (entry.get("goodput"), raw.get("goodput"))
    return any(isinstance(table, dict) and "failures_per_gpu_day" in table for table in tables)


def _goodput(entry: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    own = entry.get("goodput", {})
    if INTERVAL not in given or not isinstance(own, dict):
        return {}
    return {"goodput": {INTERVAL: given[INTERVAL], **own}}


def _sentence(recipe: Recipe, entry: dict[str, Any], given: dict[str, Any]) -> str:
    own = entry | (entry["goodput"] if isinstance(entry.get("goodput"), dict) else {})
    kept = [key for key, value in given.items() if key in own and own[key] != value]
    points = recipe.sweep is not None
    if points and "sweep" in entry:
        kept.append("sweep")
    taken = [key for key in given if key not in own] + (["operating points"] if points and "sweep" not in entry else [])
    wins = f" Its own {', '.join(kept)} {_verb(kept)} over the recipe's." if kept else ""
    return (
        f"Run {entry.get('name', '?')!r} takes {', '.join(taken) or 'nothing'} of recipe {recipe.name!r} "
        f"({recipe.efficiency_text}, measured by {recipe.best.source} on {recipe.measured_on.gpus} "
        f"{recipe.measured_on.gpu}).{wins}"
    )


def _verb(kept: list[str]) -> str:
    return "wins" if len(kept) == 1 else "win"
