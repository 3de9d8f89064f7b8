"""The command `gridpace frontier`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from planner.command import AS_JSON, DASK, FILE, GAP, JOBS, OFFLINE, WEEK, instant
from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout, note, stage


@click.command("frontier", short_help="Show what plans of a week trade: carbon, cost, lateness, water.")
@click.argument("site", type=FILE)
@click.option(
    "--objectives",
    default="carbon,cost,lateness,water",
    show_default=True,
    help="What plans are compared by, two or more, by commas.",
)
@click.option("--points", type=click.IntRange(3, 200), default=12, show_default=True, help="Plans wanted on the front.")
@WEEK
@JOBS
@DASK
@click.option(
    "--issued-at", metavar="TIME", help="Instant at which the plans count as made, with offset. [default: now]"
)
@click.option("--time-limit", metavar="S", type=float, help="Longest time for each plan, s. [default: the site file's]")
@GAP
@AS_JSON
@click.option("--output", type=FILE, metavar="FILE.html", help="Write the front as a page too.")
@OFFLINE
def frontier_command(
    site: Path,
    objectives: str,
    points: int,
    week: str | None,
    jobs: int,
    dask: str | None,
    issued_at: str | None,
    time_limit: float | None,
    gap: float | None,
    as_json: bool,
    output: Path | None,
    offline: bool,
) -> None:
    """Show what plans of a week trade: those of which none is better by every objective.

    Each is planned, replayed by the judge, and told with what it is worth against working without a plan: grams, money,
    and promises of power, heat and deadlines. Nothing is published.
    """
    with json_errors(as_json), clean_stdout():
        with stage("reading the site and its series"):
            from planner.inputs import read_week

            made_from, gathered = read_week(
                site, week=week, issued_at=instant("--issued-at", issued_at), offline=offline
            )
        from planner.backtest_command import carrier, progress
        from planner.export.files import write_files
        from planner.export.frontier_view import document, frontier_html, lines
        from planner.frontier.sweep import frontier
        from planner.frontier.task import point_of
        from planner.site_options import site_options

        options = site_options(made_from, gap, time_limit)
        from planner.stochastic.of_bands import on_forecast

        gathered = on_forecast(gathered)  # a level holds on one path: a front is made on the forecast
        # what the plans know, and nothing that only pages of a week show, goes to the processes
        known = replace(gathered, bands=())
        asked = [name.strip() for name in objectives.split(",") if name.strip()]
        with stage("planning and judging"), progress("plans") as done:
            found = frontier(known, asked, points, options, carrier(point_of, jobs, dask, done))
        if output is not None:
            with stage("writing"):
                write_files({output: frontier_html(found, gathered)})
    if as_json:
        print_json(document(found, gathered))
    else:
        for line in lines(found, gathered):
            click.echo(line)
    if output is not None:
        note(str(output))
