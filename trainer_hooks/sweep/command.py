"""The command `gridpace-sweep`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from trainer_hooks.clock import Clock
from trainer_hooks.errors import HookError, SweepError
from trainer_hooks.launch.job import CANNOT_RUN, NOT_FOUND, Job, adopt_orphans
from trainer_hooks.quantities import count, seconds, share
from trainer_hooks.settings import environment_gpus
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.stdio import fill_standard_streams, tell
from trainer_hooks.sweep.steps import STEP_LINE, StepFile, StepLines
from trainer_hooks.sweep.sweep import Sweep, draw_w

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer_hooks.sweep.steps import Teller

_FAILED, _USAGE = 1, 2
_STEP_FILE = "GRIDPACE_STEP_FILE"
_GRACE_S = 30.0
_TAKEN = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_DESCRIPTION = """\
Measure what a power limit means for a training: start it, step the limit of its GPUs through its own steps,
and write the operating points that the planner reads. The limits found are given back whatever happens.

The training tells its steps by lines that it prints (see --step-line) or, with --step-file, by keeping its
number of steps, and of tokens if it likes, in the file that GRIDPACE_STEP_FILE names: `120 983040`."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 if the file was written, 1 if not, 2 for what was asked wrongly.

    Args:
        arguments: Arguments; those of the process if None.
    """
    fill_standard_streams()
    parser = _parser()
    options = parser.parse_args(arguments)
    argv = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not argv:
        parser.error("name the command to run after --")
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    try:
        sys.exit(_swept(argv, options))
    except SweepError as error:
        tell(f"gridpace-sweep: {error}\n")
        sys.exit(_FAILED)
    except HookError as error:
        tell(f"gridpace-sweep: {error}\n")
        sys.exit(_USAGE)


def _swept(argv: Sequence[str], options: argparse.Namespace) -> int:
    clock = Clock()
    gpus = environment_gpus(os.environ, clock)
    idle_w = draw_w(gpus, options.idle, clock) if gpus and options.idle > 0 else None
    for twin in gpus:
        if isinstance(twin, SimulatedGpu):
            twin.set_busy(True)  # it has no work of its own; that of the command is meant
    sweep = Sweep(
        gpus,
        options.limits,
        gpu=options.gpu,
        workload=options.workload,
        warmup_steps=options.warmup_steps,
        settle_s=options.settle,
        window_s=options.window,
        repeats=options.repeats,
        noise_share=options.noise,
        idle_w=idle_w,
        seed=options.seed,
        clock=clock,
    )
    told: list[int] = []
    for number in _TAKEN:
        signal.signal(number, lambda received, _frame: told.append(received))
    # A process that hands the terminal on would be stopped by this signal.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    adopt_orphans()
    with sweep, tempfile.TemporaryDirectory(prefix="gridpace-sweep-") as folder:
        step_file = Path(folder) / "steps"
        # Lines that a buffer holds back would tell steps late and many at once.
        environ = {**os.environ, "PYTHONUNBUFFERED": "1", _STEP_FILE: str(step_file)}
        try:
            job = Job(argv, environ, mask, None if options.step_file else subprocess.PIPE)
        except OSError as error:
            tell(f"gridpace-sweep: {argv[0]}: {error.strerror}\n")
            return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN
        try:
            teller = (
                StepLines(job.output, options.step_line, options.tokens_per_step)
                if job.output is not None
                else StepFile(step_file, options.tokens_per_step)
            )
            _follow(job, sweep, teller, told)
            if told:
                return 128 + told[0]
            sweep.write(options.out)
            tell(f"gridpace-sweep: {options.out} written.\n")
            return _go_on(job, teller, told) if options.go_on else 0
        finally:
            job.end(_GRACE_S, clock)


def _follow(job: Job, sweep: Sweep, teller: Teller, told: Sequence[int]) -> None:
    """Hand the job's steps to the sweep until it is done, the job has ended, or we are told to end."""
    while not told and job.poll() is None:
        found = teller.look()
        if found.steps and sweep.step(found.tokens, found.steps):
            break


def _go_on(job: Job, teller: Teller, told: list[int]) -> int:
    """Let the job run on; signals are handed to it."""
    while (code := job.poll()) is None:
        while told:
            job.send(told.pop())
        teller.look()
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gridpace-sweep", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the file of operating points, JSON")
    parser.add_argument("--gpu", default="", help="GPU type as the site file names it (default: product name)")
    parser.add_argument("--workload", default="", help="what is trained")
    parser.add_argument(
        "--limits", type=_limits, default=(), metavar="W,W,...", help="limits, W per GPU (default: six over the range)"
    )
    parser.add_argument("--step-line", default=STEP_LINE, metavar="REGEX", help=f"default: {STEP_LINE}")
    parser.add_argument("--step-file", action="store_true", help="steps are told by the file GRIDPACE_STEP_FILE")
    parser.add_argument(
        "--tokens-per-step", type=count, default=0, metavar="N", help="tokens of a step of the job, where it tells none"
    )
    parser.add_argument("--warmup-steps", type=count, default=20, metavar="N", help="default: 20")
    parser.add_argument("--settle", type=seconds, default=2.0, metavar="S", help="after each limit, s (default: 2)")
    parser.add_argument("--window", type=seconds, default=10.0, metavar="S", help="of a reading, s (default: 10)")
    parser.add_argument("--repeats", type=count, default=3, metavar="N", help="readings at a limit (default: 3)")
    parser.add_argument(
        "--noise", type=share, default=0.03, metavar="SHARE", help="largest standard error of the mean (default: 0.03)"
    )
    parser.add_argument(
        "--idle", type=seconds, default=5.0, metavar="S", help="measure idle GPUs before the start, s; 0 does not"
    )
    parser.add_argument("--seed", type=count, default=0, help="of the order of limits (default: 0)")
    parser.add_argument(
        "--go-on", action="store_true", help="leave the command running afterwards, its limits restored"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command and its arguments")
    return parser


def _limits(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of watts such as 300,500,700") from None
