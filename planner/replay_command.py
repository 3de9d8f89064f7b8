"""The command `gridpace replay`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.backtest_command import DAY, PAST, carrier, check_files, of_zone, progress
from planner.command import DASK, FILE, JOBS, PAST_OFFLINE, ZONE_BASIS
from planner.errors import ConfigError
from planner.json_output import json_errors
from planner.terminal import clean_stdout, note, stage

if TYPE_CHECKING:
    from planner.config import Site
    from planner.forecast_history import Past
    from planner.replay.outcome import Replay
    from planner.replay.replay import How

_LAST_DAY = timedelta(days=6)
SCENARIOS = 6
"""Weighted paths where the site file asks for none: a replay shows what they would be worth."""
W_MAX_QUANTILE = 0.95
"""Likewise of the weather in which limits must hold."""


@click.command("replay", short_help="Replay past weeks: what rolling plans on forecasts would have come to.")
@click.argument("site_file", metavar="SITE", type=FILE)
@click.option("--from", "first", type=DAY, required=True, help="First day of the first week, UTC.")
@click.option("--to", "last", type=DAY, required=True, help="Latest first day of a week, UTC.")
@click.option("--zone", help="Grid zone of the past. [default: the site's]")
@click.option(
    "--sources", type=FILE, help='TOML file with [sources.NAME] tables of provider "csv". [default: the zone\'s]'
)
@click.option(
    "--by",
    "weight",
    type=click.Choice(("carbon", "money")),
    default="carbon",
    show_default=True,
    help="What plans make small, beside lateness.",
)
@click.option(
    "--every",
    "every_days",
    type=click.IntRange(1, 366),
    default=7,
    show_default=True,
    help="Days between two weeks' starts.",
)
@click.option(
    "--replan-every",
    "replan_days",
    type=click.IntRange(1, 6),
    default=1,
    show_default=True,
    help="Days between two plans of a week.",
)
@ZONE_BASIS
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31),
    default=0,
    show_default=True,
    help="Of the errors laid on the weather, and of the draw of paths.",
)
@JOBS
@DASK
@click.option("--out", type=FILE, help="Folder to write into. [default: out/replay-<site>-<zone>]")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON object and nothing else.")
@PAST_OFFLINE
def replay_command(
    site_file: Path,
    first: datetime,
    last: datetime,
    zone: str | None,
    sources: Path | None,
    weight: str,
    every_days: int,
    replan_days: int,
    basis: str | None,
    seed: int,
    jobs: int,
    dask: str | None,
    out: Path | None,
    as_json: bool,
    offline: bool,
) -> None:
    """Replay past weeks of a site.

    Every day a forecast is made from what was known then. The week of SITE, moved to each start, is planned with
    perfect foresight; on the forecast of its first hour, carried out as it stands; day by day, each plan going on from
    the one in force; and day by day on weighted paths of each forecast. All are judged on what came, beside the same
    work without a plan. Writes replay.json and replay.html.
    """  # fmt: skip
    with json_errors(as_json), clean_stdout():
        if last < first:
            raise ConfigError(f"--to {last:%Y-%m-%d} lies before --from {first:%Y-%m-%d}", fix="swap the two days")
        from planner.config import load_site
        from planner.export.files import write_files
        from planner.export.replay import replay_html, replay_json, replay_table
        from planner.folders import folder_name

        site = load_site(site_file)
        place = zone or site.place.zone
        start, end = (day.replace(tzinfo=UTC) for day in (first, last))
        past = _past(sources, place, start, end, basis, offline=offline)
        how = _how(site, past, place, weight, every_days, replan_days)
        found = _replayed(site, past, how, (start, end), seed, jobs, dask)
        content = replay_json(found)
        folder = out or Path("out") / f"replay-{folder_name(site.name)}-{folder_name(place)}"
        files = {folder / "replay.json": content, folder / "replay.html": replay_html(found, past.told)}
        with stage("writing"):
            write_files(files)
    if as_json:
        click.echo(content.decode(), nl=False)
        return
    for line in replay_table(found):
        click.echo(line)
    for file in files:
        note(str(file))


def _past(sources: Path | None, zone: str, start: datetime, end: datetime, basis: str | None, *, offline: bool) -> Past:
    from planner.forecast.backtest import HORIZON_H
    from planner.forecast_history import read_past
    from planner.sources.cache import ResponseCache, default_folder

    until = end + _LAST_DAY
    if sources is not None:
        check_files(basis, offline=offline)
        with stage("reading the files"):
            return read_past(sources, zone, start - PAST, until + timedelta(hours=HORIZON_H))
    with stage("asking the sources"):
        past = of_zone(zone, ResponseCache(default_folder()), start, until, basis or "direct", offline=offline)
    for label in past.told:
        note(f"note: {label}")
    return past


def _how(site: Site, past: Past, zone: str, weight: str, every_days: int, replan_days: int) -> How:
    """Return how weeks are replayed, with the site fit to be planned on the past."""
    from planner.backtest_plans import check_site
    from planner.config.uncertainty_table import RollingTable, UncertaintyTable
    from planner.replay.replay import How, signals_of
    from planner.replay.roll import Manner
    from planner.stochastic.of_bands import Asked

    wanted = signals_of(weight)
    check_site(site, past, [signal for signal in wanted if signal in past.series], "gridpace replay")
    if site.plan.method == "scale":
        raise ConfigError(
            'method = "scale" plans a week from its start; a replay goes on from plans in force',
            fix='take method = "gangs" or "auto" in [plan]',
        )
    missing = [signal for signal in wanted if signal not in past.history.signals]
    if missing or (weight == "money" and site.flat_price_per_kwh is not None):
        raise ConfigError(
            f"--by money asks for prices that move, and {'the price is flat' if not missing else 'there are none'}",
            fix="name a source of prices, or replay --by carbon",
        )
    table, rolling = site.plan.uncertainty or UncertaintyTable(), site.plan.rolling or RollingTable()
    asked = Asked(
        table.scenarios or SCENARIOS,
        table.cvar_alpha,
        table.cvar_weight,
        W_MAX_QUANTILE if table.w_max_quantile is None else table.w_max_quantile,
    )
    manner = Manner(rolling.frozen_h, rolling.change_cost_per_gpu_h, rolling.fresh_share)
    return How(zone, past.series["carbon"].basis, weight, every_days, replan_days, asked, manner)


def _replayed(
    site: Site,
    past: Past,
    how: How,
    span: tuple[datetime, datetime],
    seed: int,
    jobs: int,
    dask: str | None,
) -> Replay:
    from planner.backtest_weeks import weather_of
    from planner.forecast.issued import issue
    from planner.replay.issue import issue_daily
    from planner.replay.replay import replayed, signals_of, starts_of
    from planner.replay.task import replay_week

    starts = starts_of(*span, how.every_days)
    with stage("forecasting"), progress("forecasts") as done:
        daily = issue_daily(
            past.history,
            signals_of(how.weight),
            weather_of(site),
            (starts[0], starts[-1] + _LAST_DAY),
            carrier(issue, jobs, dask, done),
            seed,
        )
    with stage("planning the weeks"), progress("weeks") as done:
        return replayed(site, past.history, daily, starts, how, carrier(replay_week, jobs, dask, done))
