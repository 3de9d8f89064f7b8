"""The commands of `gridpace export`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from planner.command import FILE, OFFLINE, SITE_OPTION
from planner.kubernetes_command import kubernetes_command
from planner.slurm_command import slurm_command


@click.group("export")
def export_group() -> None:
    """Write a published calendar for other programs."""


@export_group.command("ics")
@click.argument("calendar", type=FILE)
@click.option("--out", type=FILE, default=Path("calendar.ics"), show_default=True, help="File; - prints it.")
def ics_command(calendar: Path, out: Path) -> None:
    """Write the spells of all runs as an iCalendar file."""
    from planner.export.ics import calendar_ics
    from planner.folders import read_published

    header, runs, _ = read_published(calendar)
    _write_or_print(out, calendar_ics(header, runs))


@export_group.command("csv")
@click.argument("calendar", type=FILE)
@click.option(
    "--table",
    type=click.Choice(("windows", "slots")),
    default="windows",
    show_default=True,
    help="One row per window of a run, or per block and slot.",
)
@click.option("--out", type=FILE, help="File; - prints it. [default: plan.csv, for slots blocks.csv]")
def csv_command(calendar: Path, table: str, out: Path | None) -> None:
    """Write the plan as a table."""
    from planner.export.csv_files import slots_csv, windows_csv
    from planner.folders import read_published

    header, runs, _ = read_published(calendar)
    if table == "windows":
        _write_or_print(out or Path("plan.csv"), windows_csv(header, runs))
    else:
        _write_or_print(out or Path("blocks.csv"), slots_csv(header))


@export_group.command("dsx")
@click.argument("calendar", type=FILE)
@SITE_OPTION
@click.option("--integration", default="gridpace", show_default=True, help="Its name at the building system.")
@click.option(
    "--tag",
    "tags",
    metavar="BLOCK=PATH",
    multiple=True,
    help="Tag path of a block's setpoint request at the building system; once per block. [default: <site>/<block>]",
)
@click.option("--out", type=FILE, default=Path("dsx.json"), show_default=True, help="File; - prints it.")
@OFFLINE
def dsx_command(calendar: Path, site: Path, integration: str, tags: tuple[str, ...], out: Path, offline: bool) -> None:
    """Write setpoint requests and capacity limits per slot, named as in NVIDIA DSX Exchange.

    A setpoint is a request: the building system keeps authority.
    """
    from planner.export.dsx import dsx_json, read_tags
    from planner.folders import read_published
    from planner.inputs import week_of

    header, _, home = read_published(calendar)
    week = week_of(header, site, home, offline=offline)
    content = dsx_json(week, header, integration=integration, tags=read_tags(tags, [b.name for b in week.blocks]))
    _write_or_print(out, content)


def _write_or_print(out: Path, content: bytes) -> None:
    from planner.export.files import write_files

    if str(out) == "-":
        sys.stdout.buffer.write(content)
        return
    write_files({out: content})
    click.echo(out)


export_group.add_command(slurm_command)
export_group.add_command(kubernetes_command)
