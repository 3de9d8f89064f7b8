"""The command `gridpace report`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import ACTUAL, FILE, OFFLINE, SITE_OPTION
from planner.terminal import note, stage


@click.command("report", short_help="Make the report of a published calendar again.")
@click.argument("calendar", type=FILE)
@SITE_OPTION
@click.option("--telemetry", type=FILE, help="Telemetry file or folder: take it in, and show it beside the plan.")
@ACTUAL
@click.option("--explain", is_flag=True, help="Explain the plan in it too, as `gridpace explain` does.")
@OFFLINE
def report_command(
    calendar: Path, site: Path, telemetry: Path | None, actual: bool, explain: bool, offline: bool
) -> None:
    """Make the HTML report of a published calendar again.

    CALENDAR is an output folder of `gridpace plan`, or a calendar's own folder.
    """
    from dataclasses import replace

    from planner.export.files import write_files
    from planner.export.report import report_html
    from planner.folders import LEDGER, REPORT, read_published
    from planner.inputs import hindsight_of, week_of
    from planner.pipeline import judged, with_entered_carbon, with_telemetry

    header, runs, home = read_published(calendar)
    week = week_of(header, site, home, offline=offline)
    with stage("judging"):
        outcome = with_entered_carbon(judged(week, header, runs), home / LEDGER)
        if actual:
            outcome = replace(
                outcome, hindsight=hindsight_of(week, header, runs, outcome.evaluation, site, offline=offline)
            )
    if explain:
        from planner.explain_command import explained

        with stage("explaining"):
            outcome = replace(outcome, explanation=explained(week, header, runs, site))
    if telemetry is not None:
        outcome, intake = with_telemetry(outcome, home / LEDGER, telemetry)
        note(f"telemetry: {intake.added} new records, {intake.repeated} known, {len(intake.faults)} lines refused")
        for fault in intake.faults:
            note(f"note: {fault}")
    with stage("writing"):
        write_files({home / REPORT: report_html(outcome)})
    click.echo(home / REPORT)
