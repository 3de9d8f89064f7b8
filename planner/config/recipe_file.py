"""Files of recipes: a configuration that proved itself in a measured run, with what it was measured on.

A recipe is `gridpace.recipe/1`; its JSON schema stands in `data/schema/recipe.schema.json`. Unknown keys are refused,
as in a site file: a recipe that is edited by hand is read as strictly as it was written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.config.fields import Gpus, Hours, Name, Rate, Seconds, Table, Tokens, WattsPerGpu
from planner.config.files import read_user_text
from planner.config.gang_tables import Interval
from planner.config.sweep_files import MeasuredSweep, first_fault, sweep_of_document
from planner.errors import ConfigError

SCHEMA = "gridpace.recipe/1"

Parameters = Annotated[float, Field(gt=0, le=1e15)]
Positive = Annotated[float, Field(gt=0, le=1e30)]


class MeasuredOn(Table):
    """What the configuration was measured on."""

    run: Name = Field(description="name of the run")
    gpu: Name = Field(description="GPU type, as the site file names it")
    gpus: Gpus = Field(description="gang size")
    parameters: Parameters | None = Field(default=None, description="parameters of the model; none where not told")
    driver: Name | None = Field(default=None, description="version of the GPU driver; none where not told")


class RecipeStage(Table):
    """A stage of the plan of stages, without the dates of the run it was taken from."""

    name: Name = Field(description="name of the stage")
    tokens: Tokens = Field(description="tokens of this stage")
    within_h: Hours = Field(description="time from the deadline before it, or from the run's start, to its deadline, h")


class Gives(Table):
    """What a run takes from the recipe where it has no such key of its own."""

    tokens_per_gpu_s: Rate = Field(description="useful tokens per second and GPU at full power")
    power_limits_w: list[WattsPerGpu] | None = Field(
        default=None, min_length=1, description="GPU power limits it may use, W; all where left out"
    )
    checkpoint_s: Seconds = Field(description="time to save before a stop, s")
    reload_s: Seconds = Field(description="time from start to the first token, s")
    checkpoint_every_s: Interval | None = Field(default=None, description="training between two checkpoints, s")
    stages: list[RecipeStage] | None = Field(default=None, min_length=1, description="plan of stages")


class AtLimit(Table):
    """What was measured at one power limit."""

    gpu_power_limit_w: WattsPerGpu = Field(description="limit, W per GPU")
    tokens_per_joule: Positive = Field(description="tokens per joule of the boards")
    hours: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        default=None, description="board-hours measured; none for a sweep, which has readings"
    )


class Measured(Table):
    """One measurement of the configuration."""

    source: Literal["telemetry", "sweep"] = Field(description="telemetry of the run, or a sweep of power limits")
    tokens_per_joule: Positive = Field(
        description="useful tokens per joule of the boards; of a sweep, that at its best limit"
    )
    tokens_per_joule_error: Annotated[float, Field(ge=0, le=1e30)] | None = Field(
        default=None, description="half-width of its uncertainty; none where the source says none"
    )
    energy_sources: list[Name] = Field(description="where the joules come from")
    useful_tokens: Positive | None = Field(default=None, description="useful tokens counted; none for a sweep")
    energy_kwh: Positive | None = Field(default=None, description="energy of the boards, kWh; none for a sweep")
    at_limits: list[AtLimit] = Field(description="the same by power limit, by rising limit")


class RecipeInput(Table):
    """A file that the recipe was made from."""

    what: Literal["site file", "telemetry", "sweep"] = Field(description="what it is")
    name: Name = Field(description="its name, without folders")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of its bytes")


class Recipe(Table):
    """A configuration that proved itself."""

    schema_: Literal["gridpace.recipe/1"] = Field(alias="schema", description="form of the file")
    name: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = Field(description="name of the recipe")
    saved_at: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", description="when it was saved, UTC")
    note: Annotated[str, Field(max_length=2000)] = Field(default="", description="for people")
    measured_on: MeasuredOn = Field(description="what it was measured on")
    gives: Gives = Field(description="what a run takes from it")
    measured: list[Measured] = Field(min_length=1, description="what was measured, the run's own telemetry first")
    inputs: list[RecipeInput] = Field(min_length=1, description="files that it was made from")
    sweep: dict[str, Any] | None = Field(
        default=None, description="sweep of power limits of the form gridpace.sweep/1, whose operating points it keeps"
    )

    @property
    def best(self) -> Measured:
        """The measurement that the recipe is known by."""
        return self.measured[0]

    @property
    def efficiency_text(self) -> str:
        """Its tokens per joule for people, with the uncertainty where it is known."""
        known = self.best.tokens_per_joule_error
        error = "" if known is None else f" +- {known:.2g}"
        return f"{self.best.tokens_per_joule:.4g}{error} tokens/J"

    def measured_sweep(self) -> MeasuredSweep | None:
        """Return the sweep that it keeps, or None.

        Raises:
            ConfigError: The sweep is of another form, or is refused.
        """
        return None if self.sweep is None else sweep_of_document(self.sweep, f"of recipe {self.name}")


def read_recipe(path: Path) -> Recipe:
    """Return the recipe that a file holds.

    Args:
        path: The file.

    Raises:
        ConfigError: It cannot be read, is no recipe, or its sweep gives no operating points.
    """
    text = read_user_text(path, "recipe")
    try:
        found = Recipe.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"recipe {path.name} is no file of the form {SCHEMA}: {first_fault(error)}",
            fix="write it by `gridpace recipe save`, and leave it as it is",
        ) from None
    found.measured_sweep()
    return found


def recipes_in(folder: Path) -> tuple[dict[str, Recipe], tuple[str, ...]]:
    """Return the recipes of a folder by the names of their files, and a sentence for every other JSON file in it."""
    found, others = {}, []
    for file in sorted(folder.glob("*.json")):
        try:
            found[file.stem] = read_recipe(file)
        except ConfigError as error:
            others.append(error.what)
    return found, tuple(others)


def recipe_bytes(recipe: Recipe) -> bytes:
    """Return a recipe as it stands in a file."""
    document = recipe.model_dump(by_alias=True, exclude_none=True)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def recipe_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a recipe."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Recipe.model_json_schema(by_alias=True)}
