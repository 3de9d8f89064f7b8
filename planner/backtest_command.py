"""The command `gridpace backtest`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.command import FILE
from planner.errors import ConfigError
from planner.json_output import json_errors
from planner.terminal import clean_stdout, note, stage

if TYPE_CHECKING:
    from planner.backtest_pool import Done

DAY = click.DateTime(["%Y-%m-%d"])
_PAST = timedelta(days=4 * 366)  # what lies further back tells nothing about the grid of today


@click.command("backtest", short_help="Score week-ahead forecasts of a zone on past days.")
@click.argument("zone")
@click.option("--from", "first", type=DAY, required=True, help="Day of the first forecast, UTC.")
@click.option("--to", "last", type=DAY, required=True, help="Day of the last forecast, UTC.")
@click.option("--sources", type=FILE, required=True, help='TOML file with [sources.NAME] tables of provider "csv".')
@click.option("--signal", "signals", multiple=True, help="Signal to score; all in the files by default.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes to use.")
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster to use instead.")
@click.option("--out", type=FILE, help="Folder to write into. [default: out/backtest-<zone>]")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON object and nothing else.")
def backtest_command(
    zone: str,
    first: datetime,
    last: datetime,
    sources: Path,
    signals: tuple[str, ...],
    jobs: int,
    dask: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Score week-ahead forecasts of a zone on past days.

    Every day a forecast is made of the week ahead, from what was known then, by the seasonal naive, the robust blend
    and, with the extra `forecast`, the boosted trees. Writes backtest.json and backtest.html.
    """
    with json_errors(as_json), clean_stdout():
        if last < first:
            raise ConfigError(f"--to {last:%Y-%m-%d} lies before --from {first:%Y-%m-%d}", fix="swap the two days")
        from planner.backtest_pool import in_processes, on_dask
        from planner.export.backtest import backtest_html, backtest_json, backtest_table
        from planner.export.files import write_files
        from planner.folders import folder_name
        from planner.forecast.backtest import HORIZON_H, backtest
        from planner.forecast_history import chosen_signals, read_past

        start, end = (day.replace(tzinfo=UTC) for day in (first, last))
        with stage("reading the files"):
            past = read_past(sources, zone, start - _PAST, end + timedelta(hours=HORIZON_H))
            wanted = chosen_signals(past, signals)
        with stage("forecasting"), _progress() as done:
            run = in_processes(jobs, done) if dask is None else on_dask(dask, done)
            found = backtest(past.history, wanted, start, end, run)
        content = backtest_json(zone, past, found)
        folder = out or Path("out") / f"backtest-{folder_name(zone)}"
        files = {folder / "backtest.json": content, folder / "backtest.html": backtest_html(zone, past, found)}
        with stage("writing"):
            write_files(files)
    if as_json:
        click.echo(content.decode(), nl=False)
        return
    for line in backtest_table(zone, past, found):
        click.echo(line)
    for file in files:
        note(str(file))


@contextmanager
def _progress() -> Iterator[Done]:
    """Show how many tasks are done: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _n, _of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("forecasts", total=None)
        yield lambda n, of: bar.update(line, completed=n, total=of)
