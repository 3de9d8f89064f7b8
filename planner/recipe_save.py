"""A recipe made of a site's run and of what was measured on it."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from planner.config import load_site
from planner.config.faults import FaultList
from planner.config.files import read_user_text
from planner.config.model import RunTable
from planner.config.recipe_file import SCHEMA, Gives, MeasuredOn, Recipe, RecipeInput, RecipeStage
from planner.config.recipes import read_recipes
from planner.config.sweep_files import sweep_of_document
from planner.errors import ConfigError
from planner.nearest import nearest
from planner.recipe_measured import measured_by_sweep, measured_by_telemetry
from planner.timegrid import iso, to_utc, zone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.config import Site
    from planner.config.recipe_file import Measured


@dataclass(frozen=True)
class Sources:
    """What a recipe is made from.

    Args:
        site: The site file.
        run: Name of the run.
        telemetry: The run's telemetry, file or folder, or None.
        sweep: A sweep of power limits measured on the run, or None for the one that the run itself names, if any.
        gpu: GPU type, or None where the run's pools are of one type.
        parameters: Parameters of the model, or None for those of the run's goodput.
        driver: Version of the GPU driver, or None for that of its pools.
    """

    site: Path
    run: str
    telemetry: Path | None = None
    sweep: Path | None = None
    gpu: str | None = None
    parameters: float | None = None
    driver: str | None = None


@dataclass(frozen=True)
class Saved:
    """A recipe as it is to be written.

    Args:
        recipe: The recipe.
        told: Sentences about what it does not keep.
    """

    recipe: Recipe
    told: tuple[str, ...]


def make_recipe(name: str, sources: Sources, *, saved_at: datetime, note: str = "") -> Saved:
    """Return the recipe of a run and of what was measured on it.

    Args:
        name: Name of the recipe.
        sources: What it is made from.
        saved_at: When it is saved, UTC.
        note: For people.

    Raises:
        ConfigError: The site, the run, the sweep or the telemetry are not sound, or nothing was measured.
    """
    site = load_site(sources.site)
    table = _run_table(sources)
    if all(run.name != table.name for run in site.runs):
        raise ConfigError(
            f"run {table.name!r} is planned as legs, each with its own configuration; a recipe is one",
            fix="make each stage a run that waits for the one before (after), and save those",
        )
    if table.sizes:
        raise ConfigError(
            f"run {table.name!r} may have several counts of GPUs; a recipe is of one",
            fix="save it from a site file that names the one that was measured",
        )
    inputs = [RecipeInput(what="site file", name=sources.site.name, sha256=_sha256(sources.site))]
    told: list[str] = []
    measured: list[Measured] = []
    begins: datetime | None = None
    if sources.telemetry is not None:
        found = measured_by_telemetry(sources.telemetry, sources.run)
        measured.append(found.measured)
        begins = found.begins
        inputs += [
            RecipeInput(what="telemetry", name=file.name, sha256=_sha256(file))
            for file in _telemetry_files(sources.telemetry)
        ]
        if found.refused:
            told.append(f"{found.refused} lines of the telemetry are no records.")
    sweep_file = sources.sweep or (None if table.sweep is None else sources.site.parent / table.sweep)
    sweep = None if sweep_file is None else _sweep(sweep_file)
    if sweep is not None and sweep_file is not None:
        inputs.append(RecipeInput(what="sweep", name=sweep_file.name, sha256=_sha256(sweep_file)))
        by_sweep = measured_by_sweep(sweep)
        if by_sweep is not None:
            measured.append(by_sweep)
    if not measured:
        raise ConfigError(
            f"nothing was measured of run {sources.run!r} that gives tokens per joule",
            why="a recipe keeps what was measured, so that a configuration is promoted and not folklore",
            fix="add --telemetry of the run, or --sweep of a sweep that counts tokens",
        )
    gpu = _gpu(site, sources, sweep)
    stages, why_not = _stages(site, table, begins)
    if why_not:
        told.append(why_not)
    own = table.goodput
    drivers = {pool.get("driver") for pool in _pools(sources, table)}
    return Saved(
        _checked(
            name,
            {
                "saved_at": iso(saved_at),
                "note": note,
                "measured_on": MeasuredOn(
                    run=sources.run,
                    gpu=gpu,
                    gpus=table.gpus,
                    parameters=sources.parameters or (None if own is None else own.parameters),
                    driver=sources.driver or (drivers.pop() if len(drivers) == 1 else None),
                ),
                "gives": _gives(site, table, gpu, sweep, stages),
                "measured": measured,
                "inputs": inputs,
                "sweep": sweep,
            },
        ),
        tuple(told),
    )


def _checked(name: str, values: dict[str, Any]) -> Recipe:
    try:
        return Recipe.model_validate({"schema": SCHEMA, "name": name, **values})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise ConfigError(
            f"recipe {name[:60]!r} cannot be saved: {'.'.join(map(str, fault['loc']))}: {fault['msg']}",
            fix="give it a name of letters, digits, dots, hyphens and underscores",
        ) from None


def _document(sources: Sources) -> dict[str, Any]:
    raw = tomllib.loads(read_user_text(sources.site, "site file"))
    return read_recipes(raw, sources.site.parent, FaultList(str(sources.site), {})).raw


def _run_table(sources: Sources) -> RunTable:
    entries = {entry["name"]: entry for entry in _document(sources).get("run", [])}
    if sources.run not in entries:
        near = nearest(sources.run, entries)
        raise ConfigError(
            f"{sources.site.name} has no [[run]] {sources.run!r}; recipes are saved of [[run]] tables",
            fix=f"did you mean {near!r}?" if near else f"known are: {', '.join(entries) or 'none'}",
        )
    return RunTable.model_validate(entries[sources.run])


def _pools(sources: Sources, table: RunTable) -> list[dict[str, Any]]:
    document, names = _document(sources), table.pools
    if names is None:
        return list(document["pool"])
    parts = {name for span in document.get("span", ()) if span["name"] in names for name in span["pools"]}
    return [pool for pool in document["pool"] if pool["name"] in parts.union(names)]


def _sweep(path: Path) -> dict[str, Any]:
    """Return a sweep as its file has it, after it was found sound."""
    if path.suffix.lower() == ".csv":
        raise ConfigError(
            f"sweep {path.name} is a CSV; recipes keep sweeps of the form gridpace.sweep/1",
            fix="measure it by gridpace-sweep",
        )
    try:
        document = json.loads(read_user_text(path, "sweep file"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"sweep {path.name} is no JSON: {error}", fix="measure it by gridpace-sweep") from None
    sweep_of_document(document, path.name)
    found: dict[str, Any] = document
    return found


def _gpu(site: Site, sources: Sources, sweep: dict[str, Any] | None) -> str:
    run = site.run(sources.run)
    types = {pool.gpu.name for pool in site.pools if pool.name in {option.pool for option in run.options}}
    named = sources.gpu or (None if sweep is None else sweep["gpu"]) or (types.pop() if len(types) == 1 else None)
    if named is None:
        raise ConfigError(
            f"run {sources.run!r} may use pools of several GPU types: {', '.join(sorted(types))}",
            fix="say by --gpu which one it was measured on",
        )
    if sweep is not None and sweep["gpu"] != named:
        raise ConfigError(
            f"the sweep was measured on {sweep['gpu']}, the recipe is of {named}", fix="give a sweep of the same type"
        )
    return str(named)


def _gives(
    site: Site, table: RunTable, gpu: str, sweep: dict[str, Any] | None, stages: list[RecipeStage] | None
) -> Gives:
    rates = table.tokens_per_gpu_s
    rate = rates.get(gpu) if isinstance(rates, dict) else rates
    if sweep is not None:
        top = max(sweep["points"], key=lambda point: float(point["gpu_power_limit_w"]))
        rate = fmean(top["tokens_per_gpu_s"]) if "tokens_per_gpu_s" in top else rate
    if rate is None:
        raise ConfigError(
            f"run {table.name!r} has no tokens_per_gpu_s for {gpu}", fix="give it, or a sweep that counts tokens"
        )
    run = site.run(table.name)
    return Gives(
        tokens_per_gpu_s=float(rate),
        power_limits_w=table.power_limits_w,
        checkpoint_s=run.checkpoint_s,
        reload_s=run.reload_s,
        checkpoint_every_s=None if run.goodput is None else run.goodput.interval_s,
        stages=stages,
    )


def _stages(site: Site, table: RunTable, begins: datetime | None) -> tuple[list[RecipeStage] | None, str]:
    """Return the plan of stages without its dates, or why none is kept."""
    tz = zone(site.place.timezone)
    start = begins if table.earliest_start is None else to_utc(table.earliest_start, tz)
    if start is None:
        return None, "Its stages are not kept: neither earliest_start nor telemetry says when the run began."
    stages = []
    for stage in site.run(table.name).stages:
        within_h = (stage.deadline - start).total_seconds() / 3600.0
        if within_h <= 0:
            return None, f"Its stages are not kept: stage {stage.name!r} was due before the run began."
        stages.append(RecipeStage(name=stage.name, tokens=stage.tokens, within_h=within_h))
        start = stage.deadline
    return stages, ""


def _telemetry_files(path: Path) -> Iterable[Path]:
    return sorted(path.glob("*.jsonl")) if path.is_dir() else [path]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
