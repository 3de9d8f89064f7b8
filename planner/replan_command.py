"""The command `gridpace replan`."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.command import AS_JSON, BROKEN_PROMISES, FILE, GAP, OFFLINE, TIME_LIMIT, instant
from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout, note, stage

if TYPE_CHECKING:
    from planner.going_on import GoneOn
    from trainer_hooks.contract import RunCalendar


@click.command("replan", short_help="Plan the rest of the week anew, going on from the calendar in force.")
@click.argument("site", type=FILE)
@click.option("--out", type=FILE, help="Folder of the week. [default: out/<site>/<ISO week of the instant>]")
@click.option(
    "--at", metavar="TIME", help="Instant of decision, with offset; nothing before it changes. [default: now]"
)
@TIME_LIMIT
@GAP
@AS_JSON
@OFFLINE
def replan_command(
    site: Path,
    out: Path | None,
    at: str | None,
    time_limit: float | None,
    gap: float | None,
    as_json: bool,
    offline: bool,
) -> None:
    """Plan the rest of the week anew, going on from the calendar in force.

    What has passed stays as it was announced; so do starts, stops and pools of the next `frozen_h` hours of
    [plan.rolling]; after them a change costs `change_cost_per_gpu_h`. Runs are taken to be as far as the telemetry in
    the week's ledger says. Exits with 3 where the judge finds a promise broken that the plan does not name itself.
    """
    with json_errors(as_json), clean_stdout():
        now = (instant("--at", at) or datetime.now(UTC)).replace(microsecond=0)
        gone_on, folder = _gone_on(site, out, now, time_limit, gap, offline=offline)
        from planner.pipeline import write_outcome
        from planner.summary import closing_lines, fault_lines

        outcome = gone_on.outcome
        with stage("writing"):
            told = write_outcome(folder, outcome, gone_on.found)
        told |= {"changed_gpu_h": gone_on.changed_gpu_h, "ahead_tokens": dict(gone_on.ahead)}
        for run, tokens in gone_on.ahead.items():
            if tokens:
                note(
                    f"note: run {run!r} is {abs(tokens):.4g} tokens {'ahead of' if tokens > 0 else 'behind'} its plan."
                )
        if gone_on.note:
            note(f"note: {gone_on.note}")
        for line in fault_lines(outcome):
            note(line)
    if as_json:
        print_json(told)
    else:
        click.echo(f"{gone_on.changed_gpu_h:,.0f} GPU-hours turned on, off or over against what was announced")
        for line in closing_lines(outcome, told["files"]):
            click.echo(line)
    if not outcome.evaluation.clean:
        raise click.exceptions.Exit(BROKEN_PROMISES)


def _gone_on(
    site_file: Path, out: Path | None, now: datetime, time_limit: float | None, gap: float | None, *, offline: bool
) -> tuple[GoneOn, Path]:
    from planner.config.uncertainty_table import RollingTable
    from planner.gather import gather
    from planner.going_on import go_on
    from planner.inputs import in_force_of, week_of
    from planner.rolling.behind import ahead_tokens
    from planner.site_options import site_options
    from planner.sources.cache import ResponseCache, default_folder
    from planner.timegrid import horizon_name, zone

    with stage("reading the calendar in force, its series and today's"):
        made_from, header, runs, home = in_force_of(site_file, out, now)
        before = week_of(header, site_file, home, offline=offline)
        name = horizon_name(header.valid_from, header.valid_until, zone(header.timezone))
        cache = ResponseCache(default_folder())
        known = partial(gather, made_from, week=name, now=now, issued_at=now, cache=cache)
        fresh = known(offline=offline)
        ahead = ahead_tokens(runs, _reported(home, runs, now), now)
    for label in fresh.labels:
        note(f"note: {label}")
    how = made_from.plan.rolling or RollingTable()
    options = site_options(made_from, gap, time_limit)
    with stage("planning from the calendar in force, and having that judged"):
        found = go_on(
            before,
            header,
            runs,
            fresh,
            lambda kept: known(offline=True, kept=kept),
            frozen_h=how.frozen_h,
            change_cost_per_gpu_h=how.change_cost_per_gpu_h,
            fresh_share=how.fresh_share,
            ahead=ahead,
            options=options,
        )
    return found, home


def _reported(home: Path, runs: tuple[RunCalendar, ...], now: datetime) -> dict[str, dict[int, float]]:
    from planner.folders import LEDGER
    from planner.ledger import Ledger
    from planner.ledger.reported import reported_tokens

    if not (home / LEDGER).is_file() or not runs:
        return {}
    with Ledger(home / LEDGER) as ledger:
        ledger.roll_up()
        with ledger.reading() as session:
            return reported_tokens(session, runs[0].valid_from, now)
