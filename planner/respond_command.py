"""The command `gridpace respond`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.command import AS_JSON, BROKEN_PROMISES, FILE, OFFLINE, instant
from planner.errors import ConfigError
from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout, note, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.respond.outcome import Response
    from planner.week import Week
    from power.events import GridEvent
    from trainer_hooks.contract import RunCalendar

RESPONSES = "responses"


@click.command("respond", short_help="Answer a grid event: what gives way, what is delivered, what it costs.")
@click.argument("events", type=FILE, nargs=-1, required=True)
@click.option("--site", type=FILE, required=True, help="Site file that the calendar in force was made from.")
@click.option("--out", type=FILE, help="Folder of the week. [default: out/<site>/<ISO week of the instant>]")
@click.option(
    "--at", metavar="TIME", help="Instant of decision, with offset; nothing before it changes. [default: now]"
)
@click.option("--meter", type=FILE, help="CSV file time,import_kw of past days, for the 10-of-10 baseline.")
@click.option("--publish", is_flag=True, help="Put the answer in force if the judge finds it clean; renew the report.")
@AS_JSON
@OFFLINE
def respond_command(
    events: tuple[Path, ...],
    site: Path,
    out: Path | None,
    at: str | None,
    meter: Path | None,
    publish: bool,
    as_json: bool,
    offline: bool,
) -> None:
    """Answer OpenADR 3.1 events with the calendar in force.

    EVENTS are files with an event or a list of them. Writes the answer's calendar as a draft beside the one in force.
    Exits with 3 where the limits cannot be kept, or where the judge finds the answer's calendar broken.
    """
    from planner.export.response import response_document, response_lines

    with json_errors(as_json), clean_stdout():
        now = (instant("--at", at) or datetime.now(UTC)).replace(microsecond=0)
        response, runs, folder = _answered(events, site, out, now, meter, offline=offline)
        for label in response.notes:
            note(f"note: {label}")
        in_force = publish and response.changes and response.found.clean
        files = _files(folder, response)
        document = response_document(response, {k: str(v) for k, v in files.items()}, in_force=in_force)
        if response.changes:
            with stage("writing"):
                _write(folder, response, runs, files, document, in_force=in_force)
        for violation in response.found.violations:
            note(f"broken: {violation.sentence}")
    if as_json:
        print_json(document)
    else:
        for line in response_lines(response, {k: str(v) for k, v in files.items()}, in_force=in_force):
            click.echo(line)
    if not response.found.clean:
        raise click.exceptions.Exit(BROKEN_PROMISES)


def _answered(
    events: tuple[Path, ...], site: Path, out: Path | None, now: datetime, meter: Path | None, *, offline: bool
) -> tuple[Response, list[RunCalendar], Path]:
    from planner.geography import one_site_only
    from planner.inputs import in_force_of, week_of
    from planner.respond.respond import respond
    from planner.sources.openadr import read_events

    with stage("reading the events and the calendar in force"):
        asked = [event for path in events for event in read_events(path, now)]
        made_from, header, runs, home = in_force_of(site, out, now)
        one_site_only("gridpace respond", made_from.name, [other.name for other in made_from.others])
        week = week_of(header, site, home, offline=offline)
        strange = {run.run for run in runs} ^ {run.name for run in week.runs}
        if strange:
            names = ", ".join(repr(name) for name in sorted(strange))
            raise ConfigError(
                f"the calendar in {home} and the site file {site} have not the same runs: {names} is in one of them",
                fix="name the site file as it was when the calendar was made, or plan again and answer with that",
            )
        measured = None if meter is None else _measured(week, meter, asked, now)
    with stage("answering, and having the answer judged"):
        response, changed = respond(
            week,
            header,
            runs,
            asked,
            now=now,
            agreed=made_from.demand_response,
            flexibility=made_from.flexibility,
            measured=measured,
        )
    return response, changed, home


def _measured(
    week: Week, meter: Path, events: Sequence[GridEvent], now: datetime
) -> tuple[npt.NDArray[Any], str] | None:
    from planner.respond.measured import measured_baseline
    from planner.sources.meter_file import by_day, read_meter

    start = min(max(now, ask.start) for event in events for ask in event.asks)
    days = by_day(read_meter(meter), week.tz, week.grid.slot_minutes)
    found = measured_baseline(week, days, start)
    if found is None:
        note(f"note: {meter} does not hold ten like days and the hours before the event; the plan is the baseline.")
    return found


def _files(folder: Path, response: Response) -> dict[str, Path]:
    from trainer_hooks.publish import CALENDARS

    if not response.changes:
        return {}
    name = response.after.calendar_id
    return {"calendar": folder / CALENDARS / name, "response": folder / RESPONSES / f"{name}.json"}


def _write(
    folder: Path,
    response: Response,
    runs: list[RunCalendar],
    files: Mapping[str, Path],
    document: dict[str, Any],
    *,
    in_force: bool,
) -> None:
    from planner.evaluate import carbon_per_it_kwh
    from planner.export.files import staged_files
    from planner.folders import LEDGER
    from planner.kept_series import series_file, series_json
    from planner.ledger import Ledger
    from planner.pipeline import judged, shown
    from planner.publish import publish
    from trainer_hooks.publish import CALENDARS

    week = response.answer.question.week
    outcome = judged(week, response.after, runs) if in_force else None
    contents = {
        files["response"]: json.dumps(document, indent=2, allow_nan=False).encode() + b"\n",
        series_file(folder, response.after.calendar_id): series_json(week),
    }
    if outcome is not None:
        contents |= shown(folder, outcome)
    with staged_files(contents):
        if outcome is not None:
            kg_per_kwh = carbon_per_it_kwh(week, week.signals, outcome.evaluation.blocks)
            with Ledger(folder / LEDGER) as ledger:
                ledger.record_plan(response.after, runs, kg_per_kwh.tolist(), outcome.carbon)
                publish(folder / CALENDARS, response.after, runs)
        else:
            publish(folder / CALENDARS, response.after, runs, in_force=False)
