"""The command `gridpace backtest`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from planner.command import DASK, FILE, JOBS, PAST_OFFLINE, ZONE_BASIS
from planner.errors import ConfigError
from planner.json_output import json_errors
from planner.terminal import clean_stdout, note, stage

if TYPE_CHECKING:
    from planner.backtest_issued import AsIssued
    from planner.backtest_pool import Done
    from planner.config import Site
    from planner.forecast.backtest import Backtest
    from planner.forecast_history import Past
    from planner.sources.cache import ResponseCache

Job = TypeVar("Job")
Result = TypeVar("Result")

DAY = click.DateTime(["%Y-%m-%d"])
_WEEK_DAYS = 7
PAST = timedelta(days=4 * 366)  # what lies further back tells nothing about the grid of today


@click.command("backtest", short_help="Score week-ahead forecasts of a zone on past days.")
@click.argument("zone")
@click.option("--from", "first", type=DAY, required=True, help="Day of the first forecast, UTC.")
@click.option("--to", "last", type=DAY, required=True, help="Day of the last forecast, UTC.")
@click.option(
    "--sources",
    type=FILE,
    help='TOML file with [sources.NAME] tables of provider "csv". [default: the zone\'s providers]',
)
@click.option("--signal", "signals", multiple=True, help="Signal to score; all that are known by default.")
@ZONE_BASIS
@click.option("--plan", "site_file", type=FILE, metavar="SITE", help="Site file whose week to plan on the forecasts.")
@click.option(
    "--plan-every", "every_days", type=click.IntRange(1, 366), help="Days between planned weeks. [default: 7]"
)
@JOBS
@DASK
@click.option("--out", type=FILE, help="Folder to write into. [default: out/backtest-<zone>]")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON object and nothing else.")
@PAST_OFFLINE
def backtest_command(
    zone: str,
    first: datetime,
    last: datetime,
    sources: Path | None,
    signals: tuple[str, ...],
    basis: str | None,
    site_file: Path | None,
    every_days: int | None,
    jobs: int,
    dask: str | None,
    out: Path | None,
    as_json: bool,
    offline: bool,
) -> None:
    """Score week-ahead forecasts of a zone on past days.

    Every day a forecast is made of the week ahead, from what was known then, by the seasonal naive, the robust blend
    and, with the extra `forecast`, the boosted trees. Forecasts that providers issued, as far as they are kept, are
    scored beside them. Writes backtest.json and backtest.html.

    With --plan, weeks of a site are planned on the forecasts and on what came, and judged on what came: how much of the
    saving of perfect foresight do plans on forecasts keep?
    """
    with json_errors(as_json), clean_stdout():
        if last < first:
            raise ConfigError(f"--to {last:%Y-%m-%d} lies before --from {first:%Y-%m-%d}", fix="swap the two days")
        if every_days is not None and site_file is None:
            raise ConfigError("--plan-every asks for weeks of no site", fix="name one with --plan, or leave it out")
        from planner.export.backtest import backtest_html, backtest_json, backtest_table
        from planner.export.files import write_files
        from planner.folders import folder_name
        from planner.forecast.backtest import HORIZON_H, backtest
        from planner.forecast.issued import issue
        from planner.forecast_history import chosen_signals, read_past
        from planner.sources.cache import ResponseCache, default_folder

        start, end = (day.replace(tzinfo=UTC) for day in (first, last))
        cache = None
        if sources is None:
            cache = ResponseCache(default_folder())
            with stage("asking the sources"):
                past = of_zone(zone, cache, start, end, basis or "direct", offline=offline)
            for label in past.told:
                note(f"note: {label}")
        else:
            check_files(basis, offline=offline)
            with stage("reading the files"):
                past = read_past(sources, zone, start - PAST, end + timedelta(hours=HORIZON_H))
        wanted = chosen_signals(past, signals)
        site = None if site_file is None else _checked(site_file, past, wanted)
        with stage("forecasting"), progress("forecasts") as done:
            found = backtest(past.history, wanted, start, end, carrier(issue, jobs, dask, done))
        plans = None
        if site is not None:
            from planner.backtest_plans import plan_both, planned

            basis = past.series["carbon"].basis
            with stage("planning on the forecasts"), progress("plans") as done:
                run = carrier(plan_both, jobs, dask, done)
                plans = planned(site, past.history, basis, found, every_days or _WEEK_DAYS, run)
        issued = _as_issued(cache, past, found)
        content = backtest_json(zone, past, found, plans, issued)
        folder = out or Path("out") / f"backtest-{folder_name(zone)}"
        page = backtest_html(zone, past, found, plans, issued)
        files = {folder / "backtest.json": content, folder / "backtest.html": page}
        with stage("writing"):
            write_files(files)
    if as_json:
        click.echo(content.decode(), nl=False)
        return
    for line in backtest_table(zone, past, found, plans, issued):
        click.echo(line)
    for file in files:
        note(str(file))


def of_zone(zone: str, cache: ResponseCache, first: datetime, last: datetime, basis: str, *, offline: bool) -> Past:
    """Return the past as the zone's own providers know it."""
    from planner.backtest_past import past_of_zone
    from planner.sources.registry import utc_now
    from planner.zone_feeds import HISTORY_DAYS, Opener, feeds_of_zone

    opener = Opener(cache, offline, utc_now)
    feeds = feeds_of_zone(zone, opener, place=None, basis=basis, history_days=HISTORY_DAYS)
    return past_of_zone(feeds, utc_now(), first, last)


def check_files(basis: str | None, *, offline: bool) -> None:
    """Refuse what means nothing where files are read."""
    for option in [name for name, given in (("--basis", basis is not None), ("--offline", offline)) if given]:
        raise ConfigError(
            f"{option} is for the zone's own providers, and --sources names files",
            fix=f"leave {option} out, or --sources",
        )


def _as_issued(cache: ResponseCache | None, past: Past, found: Backtest) -> Sequence[AsIssued]:
    """Return how providers did whose forecasts are kept."""
    if cache is None:
        return ()
    from planner.backtest_issued import score_issued
    from planner.sources.issued import IssuedForecasts

    return score_issued(IssuedForecasts(cache.folder), past, found)


def _checked(site_file: Path, past: Past, signals: Sequence[str]) -> Site:
    """Return the site of a file, fit to be planned on a past."""
    from planner.backtest_plans import check_site
    from planner.config import load_site

    site = load_site(site_file)
    check_site(site, past, signals)
    return site


def carrier(
    work: Callable[[Job], Result], jobs: int, dask: str | None, done: Done
) -> Callable[[Sequence[Job]], Iterator[Result]]:
    """Return what carries tasks out where the user asks for it."""
    from planner.backtest_pool import in_processes, on_dask

    return in_processes(work, jobs, done) if dask is None else on_dask(work, dask, done)


@contextmanager
def progress(what: str) -> Iterator[Done]:
    """Show how many tasks are done: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _n, _of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task(what, total=None)
        yield lambda n, of: bar.update(line, completed=n, total=of)
