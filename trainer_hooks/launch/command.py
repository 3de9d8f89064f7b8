"""The command `gridpace-run`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from trainer_hooks.clock import Clock
from trainer_hooks.errors import HookError
from trainer_hooks.launch.job import adopt_orphans
from trainer_hooks.launch.session import BLOCKED, Ending, Manner, Session
from trainer_hooks.quantities import seconds
from trainer_hooks.settings import governor_arguments
from trainer_hooks.stdio import fill_standard_streams, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

_USAGE = 2
# The job is steered from outside; a Governor that found a calendar inside it, here or at the node's agent, would do
# everything twice.
_OURS = ("GRIDPACE_CALENDAR", "GRIDPACE_RUN", "GRIDPACE_AGENT", "GRIDPACE_TELEMETRY", "GRIDPACE_METRICS")

_DESCRIPTION = """\
Run a training that cannot be changed under a run calendar: power limits on its GPUs, a signal to save
before a pause, SIGTERM and then SIGKILL when the GPUs are given back. The exit code is the command's,
128 + n if signal n ended it; 75 if the calendar never let it start."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the job's code.

    Args:
        arguments: Arguments; those of the process if None.
    """
    fill_standard_streams()
    options = _parser().parse_args(arguments)
    argv = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not argv:
        _parser().error("name the command to run after --")
    logging.basicConfig(format="%(message)s")
    environ = _environ(options)
    clock = Clock()
    # Before any thread begins: one that does not block them would be ended by signals meant for the job.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    try:
        found, notice = governor_arguments(environ, clock)
    except HookError as error:
        tell(f"gridpace-run: {error}\n")
        sys.exit(_USAGE)
    if notice:
        logging.getLogger("trainer_hooks").warning("gridpace: %s", notice)
    adopt_orphans()
    session = Session(
        argv,
        {name: value for name, value in environ.items() if name not in _OURS},
        mask,
        Manner(options.save_signal, options.lead, options.grace, options.restart, options.at_hold),
        feed=found.get("feed"),
        run=found["run"],
        gpus=found.get("gpus", ()),
        telemetry=found.get("telemetry"),
        metering=found.get("metering"),
        clock=clock,
    )
    ending = session.run()
    if not options.quiet:
        tell(_told(ending))
    sys.exit(ending.code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gridpace-run", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calendar", help="published calendars, or a run's file; else GRIDPACE_CALENDAR")
    parser.add_argument("--run", help="name of the run; else GRIDPACE_RUN")
    parser.add_argument("--telemetry", help="folder or .jsonl file for records; else GRIDPACE_TELEMETRY")
    parser.add_argument(
        "--save-signal",
        type=_signal,
        default=signal.SIGUSR1,
        metavar="NAME",
        help="tells the job to write a checkpoint, to those of its processes that have a handler for it; "
        "'none' sends nothing (default: SIGUSR1)",
    )
    parser.add_argument(
        "--lead", type=seconds, default=120.0, metavar="S", help="how long before a pause that is, s (default: 120)"
    )
    parser.add_argument(
        "--grace", type=seconds, default=30.0, metavar="S", help="from SIGTERM to SIGKILL, s (default: 30)"
    )
    parser.add_argument("--restart", action="store_true", help="start the command again at the next run window")
    parser.add_argument(
        "--at-hold",
        choices=("floor", "stop"),
        default="floor",
        help="at a hold window: the lowest limit the boards take (floor, default), or end the job (stop)",
    )
    parser.add_argument("--quiet", action="store_true", help="no report at the end")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command and its arguments")
    return parser


def _environ(options: argparse.Namespace) -> dict[str, str]:
    given = {
        "GRIDPACE_CALENDAR": options.calendar,
        "GRIDPACE_RUN": options.run,
        "GRIDPACE_TELEMETRY": options.telemetry,
    }
    return {**os.environ, **{name: value for name, value in given.items() if value is not None}}


def _signal(name: str) -> signal.Signals | None:
    if name.lower() == "none":
        return None
    known = {number.name: number for number in signal.Signals}
    full = name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"
    if full not in known or known[full] in {signal.SIGKILL, signal.SIGSTOP}:
        raise argparse.ArgumentTypeError(f"{name!r} is no signal that a job can take, such as SIGUSR1")
    return known[full]


def _told(ending: Ending) -> str:
    report = ending.report
    states = ", ".join(f"{state} {seconds:.1f} s" for state, seconds in report.seconds.items())
    adherence = "not known" if report.adherence is None else f"{report.adherence:.1%} of the time as planned"
    return "\n".join(
        (
            f"run        {report.run or '(unnamed)'}, calendar {report.calendar_id or 'none'}",
            f"job        started {ending.starts} times, exit code {ending.code}",
            f"energy     {report.energy.energy_j:,.1f} +- {report.energy.error_j:,.1f} J ({report.energy.source})",
            f"scope      {report.scope}",
            f"adherence  {adherence}",
            f"states     {states or 'none'}\n",
        )
    )
