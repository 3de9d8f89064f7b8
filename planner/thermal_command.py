"""The command `gridpace thermal`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE, OFFLINE, WEEK, instant
from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout, note, stage


@click.command("thermal", short_help="Report what a week does to the cooling, for facility staff.")
@click.argument("site", type=FILE)
@WEEK
@click.option("--out", type=FILE, help="Folder of the week. [default: out/<site>/<ISO week>]")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object and nothing else.")
@click.option(
    "--issued-at", metavar="TIME", help="Instant at which the report counts as made, with offset. [default: now]"
)
@click.option(
    "--telemetry", metavar="[BLOCK=]FILE", multiple=True, help="Readings of a block's meters and sensors; repeatable."
)
@click.option("--columns", type=FILE, help="TOML file that declares the tables' columns and units.")
@OFFLINE
def thermal_command(
    site: Path,
    week: str | None,
    out: Path | None,
    as_json: bool,
    issued_at: str | None,
    telemetry: tuple[str, ...],
    columns: Path | None,
    offline: bool,
) -> None:
    """Report a week's temperatures, derated hours, reserve, water and seconds to a limit, for facility staff.

    Takes the IT power of the calendar in force in the week's folder, and full rated power where there is none. With
    readings, the report says too what was measured: trends, energy balance, the model and the plan against the meters.
    """
    with json_errors(as_json), clean_stdout():
        with stage("reading the site and its weather"):
            from planner.thermal_inputs import read_outlook

            outlook, folder = read_outlook(
                site,
                week=week,
                out=out,
                issued_at=instant("--issued-at", issued_at),
                offline=offline,
                telemetry=telemetry,
                columns=columns,
            )
        from planner.export.files import write_files
        from planner.export.thermal_json import thermal_document, thermal_json
        from planner.export.thermal_report import thermal_html
        from planner.export.thermal_view import closing_lines

        for label in outlook.labels:
            note(f"note: {label}")
        document = thermal_document(outlook)
        page, data = folder / "thermal.html", folder / "thermal.json"
        with stage("writing"):
            write_files({page: thermal_html(outlook), data: thermal_json(document)})
    if as_json:
        print_json(document | {"files": {"report": str(page), "data": str(data)}})
    else:
        for line in closing_lines(outlook, (page, data)):
            click.echo(line)
