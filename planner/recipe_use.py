"""A recipe named in a site file's [[run]] table, without any other change to the file."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from planner.config import site_from_text
from planner.config.faults import shown_path
from planner.config.files import read_user_text
from planner.config.lines import line_numbers
from planner.config.recipe_file import read_recipe
from planner.config.site import Site
from planner.errors import ConfigError

_HEADER = re.compile(r"\s*\[\[\s*run\s*\]\]\s*(#.*)?")
_OWN = re.compile(r"\s*recipe\s*=")
_TEXT = re.compile(r"[^\x00-\x1f\x7f\"\\]+")


def with_recipe(site: Path, run: str, recipe: Path) -> tuple[str, Site]:
    """Return the text of a site file in which a run names a recipe, and the site that it describes.

    Args:
        site: The site file.
        run: Name of its [[run]] table.
        recipe: The recipe's file.

    Raises:
        ConfigError: The recipe is none, the file has no such table, or with the recipe it has faults.
    """
    read_recipe(recipe)
    text = read_user_text(site, "site file")
    site_from_text(text, site)
    lines = text.split("\n")
    at = _place(text, lines, run, site)
    try:
        named = Path(os.path.relpath(recipe.resolve(), site.resolve().parent)).as_posix()
    except ValueError:  # another drive, where there are drives
        named = recipe.resolve().as_posix()
    if not _TEXT.fullmatch(named):
        raise ConfigError(f"recipe {named!r} has a name that a site file cannot hold", fix="rename the file")
    end = "\r" if lines[at].endswith("\r") else ""
    told = f'recipe = "{named}"{end}'
    own = line_numbers(text).get(("run", _index(text, lines, at), "recipe"))
    if own is None:
        lines.insert(at + 1, told)
    elif _OWN.match(lines[own - 1]):
        lines[own - 1] = told
    else:
        raise ConfigError(
            f"{site.name}:{own}: the recipe of run {run!r} does not stand on a line of its own",
            fix=f"write recipe = {named!r} there",
        )
    changed = "\n".join(lines)
    return changed, site_from_text(changed, site)


def _headers(lines: list[str], text: str) -> dict[int, int]:
    """Return the place in the list of [[run]] tables -> the index of its header's line."""
    places = {path[1]: line for path, line in line_numbers(text).items() if len(path) == 2 and path[0] == "run"}
    return {int(i): line - 1 for i, line in places.items() if _HEADER.fullmatch(lines[line - 1])}


def _place(text: str, lines: list[str], run: str, site: Path) -> int:
    """Return the index of the header's line of a run's table."""
    headers = _headers(lines, text)
    # the tables as they are written: a run with legs is one of them, and several of the site's runs
    tables = [entry["name"] for entry in tomllib.loads(text).get("run", ())]
    at = tables.index(run) if run in tables else -1
    if at not in headers:
        written = [tables[i] for i in sorted(headers)]
        raise ConfigError(
            f"{shown_path(site)} has no table [[run]] of name {run!r}",
            why="a recipe is named in a table of its own, not in a CSV or a list in brackets",
            fix=f"known are: {', '.join(written) or 'none'}",
        )
    return headers[at]


def _index(text: str, lines: list[str], at: int) -> int:
    return next(i for i, line in _headers(lines, text).items() if line == at)
