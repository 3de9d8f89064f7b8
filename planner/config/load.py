"""A site file read, checked as a whole and resolved; every fault is told at once."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.config import build, build_geography, build_moves, build_objective, build_power, build_supply, model
from planner.config.accounts import read_accounting
from planner.config.build_goodput import saves_s
from planner.config.catalogue import gpu_catalogue
from planner.config.checks import check
from planner.config.draft import Draft, read_tables
from planner.config.farm_outputs import read_outputs
from planner.config.faults import FaultList, shown_path
from planner.config.files import read_user_text
from planner.config.legs import legs_of, with_legs
from planner.config.lines import line_numbers
from planner.config.recipes import apply_sweeps, differences, read_recipes
from planner.config.runs_csv import read_runs
from planner.config.site import Site
from planner.config.sweeps import read_sweeps
from planner.errors import ConfigError
from planner.timegrid import zone
from planner.week import Prices

if TYPE_CHECKING:
    from power.gpu import GpuType

_AT_LINE = re.compile(r" ?\(at (?:line (\d+), column (\d+)|end of document)\)")


def load_site(path: Path | str) -> Site:
    """Return the site that a site file describes.

    Args:
        path: The file; other files that it names lie relative to its folder.

    Raises:
        ConfigError: The file cannot be read or is no TOML.
        SiteFaults: It has faults; all of them are listed with line and fix.
    """
    file = Path(path)
    return site_from_text(read_user_text(file, "site file"), file)


def site_from_text(text: str, file: Path) -> Site:
    """Return the site that the text of a site file describes.

    Args:
        text: TOML.
        file: Where it stands, or would stand: names it in errors and anchors relative paths.

    Raises:
        ConfigError: The text is no TOML.
        SiteFaults: It has faults; all of them are listed with line and fix.
    """
    name = shown_path(file)
    raw = _parse(text, name)
    faults = FaultList(name, line_numbers(text))
    recipes = read_recipes(raw, file.parent, faults)
    draft = read_tables(recipes.raw, faults)
    row_faults = _read_csv(draft, file)
    with_legs(draft)
    known = gpu_catalogue()
    draft.sweeps = apply_sweeps(recipes, draft, read_sweeps(draft, known, file.parent))
    differ = differences(recipes, draft)
    warnings = check(draft, known, file.parent) + draft.sweeps.told + recipes.told + differ
    accounting, hour_faults = read_accounting(draft, file.parent)
    draft.outputs, output_faults = read_outputs(draft, file.parent)
    others = (row_faults, hour_faults, *output_faults)
    faults.raise_if_any(fault for other in others if other is not None for fault in other.found)
    return replace(_site(draft, name, warnings, known), accounting=accounting)


def _parse(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _AT_LINE.search(str(error))
        line = place[1] if place and place[1] else str(text.count("\n") + 1)
        raise ConfigError(
            f"{name}:{line}: no sound TOML: {_AT_LINE.sub('', str(error))}",
            why=_shown_line(text, int(line)),
            fix="texts stand in quotes, lists in [ ], each key once; see https://toml.io",
        ) from None
    except RecursionError:
        raise ConfigError(f"{name}: lists or tables are nested too deeply to be read", fix="flatten them") from None


def _shown_line(text: str, line: int) -> str:
    lines = text.split("\n")
    shown = lines[line - 1].strip()[:120] if 0 < line <= len(lines) else ""
    return f"the line reads: {shown}" if shown else "the file ends there"


def _read_csv(draft: Draft, file: Path) -> FaultList | None:
    named = draft.raw.get("runs_csv")
    if named is None:
        return None
    if not isinstance(named, str):
        draft.faults.add(("runs_csv",), f"is {named!r}; a text is wanted", 'write runs_csv = "runs.csv"')
        return None
    path = file.parent / named
    faults = FaultList(shown_path(path), {})
    try:
        draft.runs += read_runs(read_user_text(path, "file of runs"), faults)
    except ConfigError as error:
        draft.faults.add(("runs_csv",), error.what, error.fix)
    return faults


def _site(draft: Draft, name: str, warnings: tuple[str, ...], known: dict[str, GpuType]) -> Site:
    place: model.SiteTable = draft.single["site"].table
    horizon: model.HorizonTable = draft.single["horizon"].table
    prices: model.PricesTable = draft.single["prices"].table
    tariff: model.TariffTable = draft.single["tariff"].table
    tz = zone(place.timezone)
    around = build_supply.place_of(place, draft.single["carbon"].table, tz)
    others = tuple(build_geography.other_place(placed.table, place) for placed in draft.other_sites)
    around_others = build_geography.places_of(others, draft.single["carbon"].table, tz)
    links = [placed.table for placed in draft.links]
    site_of_block = {placed.table.name: placed.table.site or place.name for placed in draft.blocks}
    gpus = known | {key: build.gpu_type(key, own.table) for key, own in draft.gpus.items()}
    pools = tuple(build.pool(placed.table, gpus, tz) for placed in draft.pools)
    by_name = {pool.name: pool for pool in pools}
    by_name |= {placed.table.name: build.span(placed.table, by_name) for placed in draft.spans}
    saving: model.GoodputTable = draft.single["goodput"].table
    last_stage = {placed.table.name: placed.table.stages[-1].name for placed in draft.runs}
    saves = saves_s([placed.table for placed in draft.runs], saving)
    return Site(
        file=name,
        place=place,
        horizon=horizon,
        plan=draft.single["plan"].table,
        history_days=draft.single["forecast"].table.history_days,
        carbon=draft.single["carbon"].table,
        objective=build_objective.objective(draft.single["objective"].table),
        sources=draft.single["sources"].table,
        flat_price_per_kwh=tariff.energy_per_kwh,
        tariff=build_power.tariff(tariff),
        ppas=tuple(
            build_supply.ppa(placed.table, around, draft.outputs.get(placed.table.name)) for placed in draft.ppas
        ),
        contracts=tuple(build_power.contract(placed.table, place.zone, tz) for placed in draft.contracts),
        prices=Prices(place.currency, prices.carbon_per_t, prices.water_per_m3, prices.lateness_per_gpu_h),
        others=others,
        blocks=tuple(
            build.block(
                table,
                around_others.get(site_of_block[table.name], around),
                site_of_block[table.name] if site_of_block[table.name] in around_others else "",
            )
            for table in (placed.table for placed in draft.blocks)
        ),
        pools=tuple(by_name.values()),
        runs=tuple(
            build_moves.with_migration(
                build_geography.with_data(
                    build_moves.with_sizes(
                        build.run(run, seen, horizon, tz, saving, saves[run.name], last_stage), run, seen
                    ),
                    run.data,
                    by_name,
                    site_of_block,
                    links,
                ),
                run.migration,
                by_name,
                site_of_block,
                links,
            )
            for run, seen in ((p.table, draft.sweeps.seen_by(p.table.name, by_name)) for p in draft.runs)
        ),
        warnings=warnings,
        demand_response=build.demand_response(draft.single["demand_response"].table),
        service=draft.single["service"].table,
        flexibility={placed.table.name: build.run_flexibility(placed.table) for placed in draft.runs},
        legs=legs_of(draft),
    )
