"""Recipes for people: one line each, or one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.config.recipe_file import Measured, Recipe


def list_lines(recipes: Iterable[Recipe]) -> list[str]:
    """Return one line for each recipe, the most tokens per joule first."""
    ranked = sorted(recipes, key=lambda recipe: (-recipe.best.tokens_per_joule, recipe.name))
    rows = [
        (
            recipe.name,
            recipe.efficiency_text,
            f"{recipe.measured_on.gpus} {recipe.measured_on.gpu}",
            f"{recipe.best.source}, {recipe.saved_at}",
        )
        for recipe in ranked
    ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    return ["  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]) for row in rows]


def recipe_lines(recipe: Recipe) -> list[str]:
    """Return a recipe in full."""
    on, gives = recipe.measured_on, recipe.gives
    model = "a model that is not told" if on.parameters is None else f"a model of {on.parameters:.4g} parameters"
    lines = [
        f"recipe      {recipe.name}, saved {recipe.saved_at}",
        *([f"note        {recipe.note}"] if recipe.note else []),
        f"measured on {on.gpus} {on.gpu}, run {on.run!r}, {model}, driver {on.driver or 'not told'}",
    ]
    for measured in recipe.measured:
        lines += _measured_lines(measured)
    limits = "all" if gives.power_limits_w is None else ", ".join(f"{limit:g}" for limit in gives.power_limits_w)
    every = "not told" if gives.checkpoint_every_s is None else f"every {gives.checkpoint_every_s:,.0f} s"
    lines += [
        f"gives       {gives.tokens_per_gpu_s:g} tokens/s and GPU at full power, power limits {limits} (W)",
        f"            checkpoints {every}, saved in {gives.checkpoint_s:g} s, reload in {gives.reload_s:g} s",
        *([] if recipe.sweep is None else [f"            operating points at {len(recipe.sweep['points'])} limits"]),
        *(
            f"            stage {stage.name!r}: {stage.tokens:.4g} tokens within {stage.within_h:g} h"
            for stage in gives.stages or ()
        ),
    ]
    lines += [f"input       {one.what} {one.name}, SHA-256 {one.sha256}" for one in recipe.inputs]
    return lines


def _measured_lines(measured: Measured) -> list[str]:
    known = measured.tokens_per_joule_error
    error = "" if known is None else f" +- {known:.2g}"
    whole = ""
    if measured.energy_kwh is not None and measured.useful_tokens is not None:
        whole = f": {measured.useful_tokens:.4g} useful tokens, {measured.energy_kwh:,.4g} kWh"
    by = f" by {', '.join(measured.energy_sources)}" if measured.source == "telemetry" else " at its best limit"
    lines = [f"{measured.source:<12}{measured.tokens_per_joule:.4g}{error} tokens/J{by}{whole}"]
    for one in measured.at_limits:
        hours = "" if one.hours is None else f" over {one.hours:,.4g} board-hours"
        lines.append(f"            at {one.gpu_power_limit_w:g} W: {one.tokens_per_joule:.4g} tokens/J{hours}")
    return lines
