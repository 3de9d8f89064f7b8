"""The command `gridpace check`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import ACTUAL, AS_JSON, BROKEN_PROMISES, FILE, OFFLINE, SITE_OPTION
from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout


@click.command("check", short_help="Have the independent judge replay a calendar.")
@click.argument("calendar", type=FILE)
@SITE_OPTION
@AS_JSON
@ACTUAL
@OFFLINE
def check_command(calendar: Path, site: Path, as_json: bool, actual: bool, offline: bool) -> None:
    """Have the independent judge replay a calendar, and print its verdict.

    Exits with 3 where a promise is broken, with --actual also where a limit is on the series as they were. Work that
    the calendar itself names as not kept breaks none.
    """
    with json_errors(as_json), clean_stdout():
        from planner.evaluate import evaluate
        from planner.folders import read_published
        from planner.inputs import hindsight_of, week_of
        from planner.verdict import verdict, verdict_lines

        header, runs, home = read_published(calendar)
        week = week_of(header, site, home, offline=offline)
        found = evaluate(header, runs, week)
        hindsight = hindsight_of(week, header, runs, found, site, offline=offline) if actual else None
    if as_json:
        print_json(verdict(header, found, hindsight))
    else:
        for line in verdict_lines(header, found, hindsight, week.prices.currency):
            click.echo(line)
    if not found.clean or (hindsight is not None and hindsight.broken):
        raise click.exceptions.Exit(BROKEN_PROMISES)
