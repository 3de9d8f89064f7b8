"""The command line: thin commands, one module each; what is heavy is imported inside them, so that --help stays light.

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

import click

from planner.accounts_command import accounts_command
from planner.backtest_command import backtest_command
from planner.calibrate_command import calibrate_command
from planner.check_command import check_command
from planner.demo_command import demo_command
from planner.doctor_command import doctor_command
from planner.errors import GridpaceError
from planner.explain_command import explain_command
from planner.export_command import export_group
from planner.forecast_command import forecast_command
from planner.frontier_command import frontier_command
from planner.init_command import init_command
from planner.plan_command import plan_command
from planner.recipe_command import recipe_group
from planner.replan_command import replan_command
from planner.replay_command import replay_command
from planner.report_command import report_command
from planner.respond_command import respond_command
from planner.serve_command import serve_command, token_command
from planner.sources_command import sources_group
from planner.terminal import note, open_streams
from planner.thermal_command import thermal_command

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="gridpace", prog_name="gridpace")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
def cli() -> None:
    """Plan when, where and how hard AI training runs, so that a week fits the grid, the site and its cooling."""


for _command in (
    plan_command,
    check_command,
    report_command,
    explain_command,
    accounts_command,
    respond_command,
    thermal_command,
    calibrate_command,
    forecast_command,
    backtest_command,
    replan_command,
    replay_command,
    frontier_command,
    recipe_group,
    export_group,
    sources_group,
    serve_command,
    token_command,
    init_command,
    doctor_command,
    demo_command,
):
    cli.add_command(_command)


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


if __name__ == "__main__":
    main()
