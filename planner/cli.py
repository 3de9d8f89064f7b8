"""The command line: thin commands; what is heavy is imported inside them, so that --help stays light.

Results go to standard output, progress and notes to standard error. Exit codes: 0 done, 1 internal or disk, 2 usage or
config, 3 infeasible or broken promises, 4 data unavailable, 5 not permitted, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from planner.accounts_command import accounts_command
from planner.backtest_command import backtest_command
from planner.calibrate_command import calibrate_command
from planner.command import BROKEN_PROMISES, FILE, instant
from planner.errors import GridpaceError
from planner.explain_command import explain_command
from planner.forecast_command import forecast_command
from planner.frontier_command import frontier_command
from planner.init_command import init_command
from planner.json_output import json_errors, print_json
from planner.kubernetes_command import kubernetes_command
from planner.recipe_command import recipe_group
from planner.replay_command import replay_command
from planner.respond_command import respond_command
from planner.serve_command import serve_command, token_command
from planner.slurm_command import slurm_command
from planner.sources_command import sources_group
from planner.terminal import clean_stdout, note, open_streams, stage

INTERRUPTED = 130

SITE_OPTION = click.option("--site", type=FILE, required=True, help="Site file that the calendar was made from.")
ACTUAL = click.option(
    "--actual", is_flag=True, help="Replay it on the series as they were too, and show that beside the plan."
)
OFFLINE = click.option("--offline", is_flag=True, help="Keep off the network; serve series from the cache alone.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="gridpace", prog_name="gridpace")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
def cli() -> None:
    """Plan when, where and how hard AI training runs, so that a week fits the grid, the site and its cooling."""


@cli.command("plan", short_help="Plan a week and publish its run calendar.")
@click.argument("site", type=FILE)
@click.option("--week", metavar="YYYY-Www", help="ISO week, such as 2024-W20; the site file's, or the coming one.")
@click.option("--out", type=FILE, help="Folder to write into. [default: out/<site>/<ISO week>]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--issued-at", metavar="TIME", help="Instant at which the plan counts as made, with offset. [default: now]"
)
@click.option("--time-limit", metavar="S", type=float, help="Longest planning time, s. [default: the site file's]")
@click.option("--gap", metavar="SHARE", type=float, help="Certified gap to stop at. [default: the site file's]")
@OFFLINE
def plan_command(
    site: Path,
    week: str | None,
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
        with stage("reading the site and its series"):
            from planner.inputs import read_week

            made_from, gathered = read_week(
                site, week=week, issued_at=instant("--issued-at", issued_at), offline=offline
            )
        from planner.carbon_budget import budget_missed
        from planner.folders import folder_name
        from planner.gang_facts import failure_lines, hold_line, point_notes
        from planner.optimize import PlanOptions
        from planner.pipeline import plan_or_mends, write_outcome
        from planner.summary import closing_lines, ended_early
        from planner.timegrid import week_name

        options = PlanOptions(
            gap_target=made_from.plan.gap_target if gap is None else gap,
            time_limit_s=made_from.plan.time_limit_s if time_limit is None else time_limit,
            method=made_from.plan.method,
        )
        for label in (*gathered.labels, *point_notes(gathered)):
            note(f"note: {label}")
        outcome, found = plan_or_mends(gathered, options, stage)
        name = week_name(gathered.grid.start, gathered.tz)
        folder = out or Path("out") / folder_name(gathered.site) / name
        with stage("writing"):
            told = write_outcome(folder, outcome, found)
        for short in outcome.calendar.shortfalls:
            note(f"not kept: {short.sentence}")
        for sentence in budget_missed(outcome.calendar):
            note(f"not kept: {sentence}")
        for violation in outcome.evaluation.violations:
            note(f"broken: {violation.sentence}")
        if not outcome.evaluation.clean:
            note("note: the calendar in force stays as it was; this one is published beside it and not followed.")
        if found.status != "optimal":
            note(f"note: {ended_early(found, options.time_limit_s)}")
    if as_json:
        print_json(told)
    else:
        for line in (*closing_lines(outcome, told["files"]), *failure_lines(outcome), hold_line(outcome)):
            click.echo(line)
    if not outcome.evaluation.clean:
        raise click.exceptions.Exit(BROKEN_PROMISES)


@cli.command("report", short_help="Make the report of a published calendar again.")
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


@cli.group("export")
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


@cli.command("thermal", short_help="Report what a week does to the cooling, for facility staff.")
@click.argument("site", type=FILE)
@click.option("--week", metavar="YYYY-Www", help="ISO week, such as 2024-W20; the site file's, or the coming one.")
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


cli.add_command(calibrate_command)
cli.add_command(accounts_command)
cli.add_command(respond_command)
cli.add_command(forecast_command)
cli.add_command(explain_command)
cli.add_command(frontier_command)
cli.add_command(backtest_command)
cli.add_command(replay_command)
cli.add_command(sources_group)
cli.add_command(serve_command)
cli.add_command(token_command)
cli.add_command(recipe_group)
cli.add_command(init_command)
export_group.add_command(slurm_command)
export_group.add_command(kubernetes_command)


@cli.command("check", short_help="Have the independent judge replay a calendar.")
@click.argument("calendar", type=FILE)
@SITE_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
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


@cli.command("doctor")
def doctor_command() -> None:
    """Look at what gridpace needs of this machine."""
    from planner.doctor import findings

    found = findings(Path("out"))
    for finding in found:
        sign = "ok" if finding.good else "FAULT" if finding.needed else "note"
        click.echo(f"{sign:<6}{finding.name:<15}{finding.told}")
    if not all(finding.good for finding in found if finding.needed):
        raise click.exceptions.Exit(1)


@cli.command("demo", short_help="Plan a made-up week and follow it with simulated training.")
@click.option("--out", type=FILE, default=Path("out/demo"), show_default=True, help="Folder to write into.")
def demo_command(out: Path) -> None:
    """Plan a made-up week, follow it with simulated training, and lay one beside the other."""
    from rich.console import Console

    from planner.demo import FOLLOWED_H, demo, demo_table

    with clean_stdout():
        done = demo(out, stage)
    for label in done.outcome.labels:
        note(f"note: {label}")
    click.echo(f"The first {FOLLOWED_H:.0f} h of the week, as planned and as the simulated training reports them:")
    Console().print(demo_table(done))
    for name in ("report", "calendar", "ledger"):
        click.echo(f"{name:<9}{done.files[name]}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    open_streams()
    code = run(sys.argv[1:] if arguments is None else arguments)
    if threading.active_count() > 1:
        # A solver that was left to itself, or interrupted, would abort the interpreter's orderly end.
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: As typed after `gridpace`.

    Returns:
        The exit code.
    """
    try:
        code = cli.main(args=list(arguments), prog_name="gridpace", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        note("interrupted")
        return INTERRUPTED
    except GridpaceError as error:
        _tell(error, arguments)
        return error.exit_code
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            note(f"error: {error.filename or 'standard output'}: {error.strerror or error}")
            _trace(arguments)
        # The output's reader has left or its disk is full; the interpreter must not try to flush to it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort: one line instead of a traceback
        note(f"error: internal: {type(error).__name__}: {error} (gridpace --debug ... shows where)")
        _trace(arguments)
        return 1
    return code if isinstance(code, int) else 0


def _tell(error: GridpaceError, arguments: Sequence[str]) -> None:
    note(f"error: {error}")
    for conflict in getattr(error, "conflicts", ()):
        note(f"clashes: {conflict}")
    _trace(arguments)


def _trace(arguments: Sequence[str]) -> None:
    if "--debug" in arguments:
        traceback.print_exc()


def _write_or_print(out: Path, content: bytes) -> None:
    from planner.export.files import write_files

    if str(out) == "-":
        sys.stdout.buffer.write(content)
        return
    write_files({out: content})
    click.echo(out)


if __name__ == "__main__":
    main()
