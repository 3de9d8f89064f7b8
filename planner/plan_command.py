"""The command `gridpace plan`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import AS_JSON, BROKEN_PROMISES, FILE, GAP, OFFLINE, TIME_LIMIT, WEEK, instant, one_horizon
from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout, note, stage


@click.command("plan", short_help="Plan a week and publish its run calendar.")
@click.argument("site", type=FILE)
@WEEK
@click.option("--month", metavar="YYYY-MM", help="Plan this month instead, such as 2024-05, window by window.")
@click.option("--out", type=FILE, help="Folder to write into. [default: out/<site>/<ISO week or month>]")
@AS_JSON
@click.option(
    "--issued-at", metavar="TIME", help="Instant at which the plan counts as made, with offset. [default: now]"
)
@TIME_LIMIT
@GAP
@OFFLINE
def plan_command(
    site: Path,
    week: str | None,
    month: str | None,
    out: Path | None,
    as_json: bool,
    issued_at: str | None,
    time_limit: float | None,
    gap: float | None,
    offline: bool,
) -> None:
    """Plan a week of the site and publish its run calendar.

    Exits with 3 where the judge finds a promise broken that the plan does not name itself.
    """
    with json_errors(as_json), clean_stdout():
        horizon = one_horizon(week, month)
        with stage("reading the site and its series"):
            from planner.inputs import read_week

            made_from, gathered = read_week(
                site, week=horizon, issued_at=instant("--issued-at", issued_at), offline=offline
            )
        from planner.folders import folder_name
        from planner.gang_facts import failure_lines, hold_line, point_notes
        from planner.pipeline import plan_or_mends, write_outcome
        from planner.site_options import site_options
        from planner.summary import closing_lines, ended_early, fault_lines
        from planner.timegrid import horizon_name

        options = site_options(made_from, gap, time_limit)
        for label in (*gathered.labels, *point_notes(gathered)):
            note(f"note: {label}")
        outcome, found = plan_or_mends(gathered, options, stage)
        name = horizon_name(gathered.grid.start, gathered.grid.end, gathered.tz)
        folder = out or Path("out") / folder_name(gathered.site) / name
        with stage("writing"):
            told = write_outcome(folder, outcome, found)
        for line in fault_lines(outcome):
            note(line)
        if found.status != "optimal":
            note(f"note: {ended_early(found, options.time_limit_s)}")
    if as_json:
        print_json(told)
    else:
        for line in (*closing_lines(outcome, told["files"]), *failure_lines(outcome), hold_line(outcome)):
            click.echo(line)
    if not outcome.evaluation.clean:
        raise click.exceptions.Exit(BROKEN_PROMISES)
