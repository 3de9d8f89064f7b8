"""The commands `gridpace recipe save`, `use`, `list` and `show`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE
from planner.errors import ConfigError
from planner.json_output import json_errors, print_json
from planner.terminal import note

RECIPES = click.option(
    "--recipes",
    "folder",
    type=FILE,
    default=Path("recipes"),
    show_default=True,
    help="Folder of the recipes.",
)
SITE = click.option("--site", type=FILE, required=True, help="Site file of the run.")
RUN = click.option("--run", required=True, help="Name of its [[run]] table.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


@click.group("recipe", short_help="Keep a configuration that proved itself, and use it again.")
def recipe_group() -> None:
    """Keep a configuration that proved itself, with what was measured on it, and use it again."""


@recipe_group.command("save")
@click.argument("name")
@SITE
@RUN
@click.option("--telemetry", type=FILE, help="Telemetry of the run: a file, or a folder of files.")
@click.option("--sweep", type=FILE, help="Sweep of power limits measured on it. [default: the one the run names]")
@click.option("--gpu", help="GPU type it was measured on. [default: that of the sweep or of the run's pools]")
@click.option("--parameters", type=float, help="Parameters of the model. [default: those of the run's goodput]")
@click.option("--driver", help="Version of the GPU driver. [default: that of the run's pools]")
@click.option("--note", "about", default="", help="A remark, for people.")
@click.option("--replace", "replacing", is_flag=True, help="Replace the recipe of that name.")
@RECIPES
@JSON
def save_command(
    name: str,
    site: Path,
    run: str,
    telemetry: Path | None,
    sweep: Path | None,
    gpu: str | None,
    parameters: float | None,
    driver: str | None,
    about: str,
    replacing: bool,
    folder: Path,
    as_json: bool,
) -> None:
    """Save the configuration of a run under a NAME, with what telemetry or a sweep measured of it."""
    with json_errors(as_json):
        from datetime import UTC, datetime

        from planner.config.recipe_file import recipe_bytes
        from planner.export.files import write_files
        from planner.recipe_save import Sources, make_recipe
        from planner.recipe_view import recipe_lines

        sources = Sources(site, run, telemetry, sweep, gpu, parameters, driver)
        saved = make_recipe(name, sources, saved_at=datetime.now(UTC).replace(microsecond=0), note=about)
        file = folder / f"{saved.recipe.name}.json"
        if file.exists() and not replacing:
            raise ConfigError(f"recipe {file} is there already", fix="give it another name, or add --replace")
        for sentence in saved.told:
            note(f"note: {sentence}")
        write_files({file: recipe_bytes(saved.recipe)})
    if as_json:
        print_json(saved.recipe.model_dump(mode="json", by_alias=True, exclude_none=True) | {"file": str(file)})
        return
    for line in recipe_lines(saved.recipe):
        click.echo(line)
    click.echo(f"file        {file}")


@recipe_group.command("use")
@click.argument("name")
@SITE
@RUN
@RECIPES
def use_command(name: str, site: Path, run: str, folder: Path) -> None:
    """Name a recipe in a site file's [[run]] table; nothing else in the file changes.

    Keys that the run has itself win over the recipe's, and each is told; take one out of the file to have the recipe's.
    """
    from planner.export.files import write_files
    from planner.recipe_use import with_recipe

    text, described = with_recipe(site, run, _file(folder, name))
    write_files({site: text.encode()})
    for warning in described.warnings:
        note(f"note: {warning}")
    click.echo(site)


@recipe_group.command("list")
@RECIPES
@JSON
def list_command(folder: Path, as_json: bool) -> None:
    """List the recipes of a folder, the most tokens per joule first."""
    with json_errors(as_json):
        from planner.config.recipe_file import recipes_in
        from planner.recipe_view import list_lines

        recipes, others = recipes_in(folder)
        found = list(recipes.values())
        for what in others:
            note(f"note: left out: {what}")
    if as_json:
        print_json({"recipes": [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in found]})
        return
    for line in list_lines(found):
        click.echo(line)
    if not found:
        note(f"note: {folder} holds no recipe")


@recipe_group.command("show")
@click.argument("name")
@RECIPES
@JSON
def show_command(name: str, folder: Path, as_json: bool) -> None:
    """Show a recipe in full: what it gives, what was measured, and on which inputs."""
    with json_errors(as_json):
        from planner.config.recipe_file import read_recipe
        from planner.recipe_view import recipe_lines

        recipe = read_recipe(_file(folder, name))
    if as_json:
        print_json(recipe.model_dump(mode="json", by_alias=True, exclude_none=True))
        return
    for line in recipe_lines(recipe):
        click.echo(line)


def _file(folder: Path, name: str) -> Path:
    from planner.config.recipe_file import recipes_in
    from planner.nearest import nearest

    file = folder / f"{name}.json"
    if file.is_file():
        return file
    known = sorted(recipes_in(folder)[0])
    near = nearest(name, known)
    fix = f"did you mean {near!r}?" if near else f"known are: {', '.join(known)}" if known else "save one first"
    raise ConfigError(f"{folder} holds no recipe {name!r}", fix=fix)
