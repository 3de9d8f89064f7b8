"""The command `gridpace explain`."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.command import AS_JSON, FILE, OFFLINE, SITE_OPTION
from planner.errors import ConfigError
from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout, stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.optimize.explain import Asked, Explanation
    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar


@click.command("explain", short_help="Explain a plan: what more would be worth, why then, what would mend it.")
@click.argument("calendar", type=FILE)
@click.argument("about", required=False, metavar="[RUN|BLOCK|HOUR]")
@SITE_OPTION
@click.option(
    "--mends/--no-mends",
    default=True,
    show_default=True,
    help="Look for what would keep missed promises; each is planned with again.",
)
@click.option(
    "--time-limit", metavar="S", type=float, help="Longest planning time of each mend, s. [default: the site file's]"
)
@click.option("--jobs", type=click.IntRange(1, 64), help="Processes to use. [default: one per processor]")
@AS_JSON
@OFFLINE
def explain_command(
    calendar: Path,
    about: str | None,
    site: Path,
    mends: bool,
    time_limit: float | None,
    jobs: int | None,
    as_json: bool,
    offline: bool,
) -> None:
    """Explain a published plan, or what it does with one run, one block or in one hour.

    Says what one more MW, degree, MWh of battery, day of deadline or 1,000 GPUs would be worth in money and in kg, what
    the best other hours of each run would have cost, and what would keep the promises that the plan misses. HOUR is an
    instant such as 2024-05-14T18:00, in site time where it has no offset.
    """
    with json_errors(as_json), clean_stdout():
        from planner.config import load_site
        from planner.export.explain_view import document, lines
        from planner.folders import read_published
        from planner.inputs import week_of

        with stage("reading the calendar and its inputs"):
            header, runs, home = read_published(calendar)
            week = week_of(header, site, home, offline=offline)
            asked = asked_about(week, about, load_site(site).legs)
        with stage("explaining"):
            found = explained(week, header, runs, site, asked=asked, mends=mends, time_limit_s=time_limit, jobs=jobs)
    if as_json:
        print_json(document(found, week))
    else:
        for line in lines(found, week):
            click.echo(line)


def explained(
    week: Week,
    header: Calendar,
    runs: Sequence[RunCalendar],
    site: Path,
    *,
    asked: Asked | None = None,
    mends: bool = True,
    time_limit_s: float | None = None,
    jobs: int | None = None,
) -> Explanation:
    """Explain a published calendar as its site file plans.

    Args:
        week: The inputs that it was made from.
        header: Its header.
        runs: The windows of every run.
        site: Site file, whose gap target and time limit hold for what is planned again.
        asked: What is to be explained, or None for all.
        mends: Whether to look for what keeps missed promises.
        time_limit_s: Another time limit of what is planned again.
        jobs: Processes to use; one per processor where None.
    """
    from planner.backtest_pool import in_processes
    from planner.config import load_site
    from planner.optimize.explain import Asked, explain
    from planner.optimize.explain_parts import part_of
    from planner.site_options import site_options

    options = site_options(load_site(site), time_limit_s=time_limit_s)
    return explain(
        week,
        header,
        runs,
        asked=asked or Asked(),
        options=options if mends else None,
        carry=in_processes(part_of, jobs or os.cpu_count() or 1, lambda _n, _of: None),
    )


def asked_about(week: Week, about: str | None, legs: Mapping[str, tuple[str, ...]]) -> Asked:
    """Return what a word on the command line asks about.

    Args:
        week: The week.
        about: Name of a run or block, an instant, or None for all.
        legs: Run -> names of its legs, for runs that are planned in several.

    Raises:
        ConfigError: It is none of them, or an instant outside the week.
    """
    from planner.optimize.explain import Asked
    from planner.timegrid import iso, to_utc

    if about is None:
        return Asked()
    runs = [run.name for run in week.runs]
    if about in runs:
        return Asked("run", about)
    planned = {name: tuple(leg for leg in of_run if leg in runs) for name, of_run in legs.items()}
    if planned.get(about):
        return Asked("run", about, legs=planned[about])
    if any(block.name == about for block in week.blocks):
        return Asked("block", about)
    try:
        moment = to_utc(datetime.fromisoformat(about), week.tz)
    except ValueError:
        in_legs = [name for name, of_run in planned.items() if of_run]
        names = ", ".join(repr(name) for name in (*in_legs, *runs, *(b.name for b in week.blocks)))
        raise ConfigError(
            f"{about[:60]!r} is no run, no block and no instant of this week",
            fix=f"name one of {names}, or an instant such as {iso(week.grid.start)}",
        ) from None
    if not week.grid.start <= moment < week.grid.end:
        raise ConfigError(
            f"{about} lies outside the week planned, {iso(week.grid.start)} to {iso(week.grid.end)}",
            fix="name an instant within it",
        )
    return Asked("hour", slot=int(week.grid.position(moment)))
