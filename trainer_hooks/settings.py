"""Environment variables into the arguments of a Governor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer_hooks.devices import process_gpus
from trainer_hooks.errors import SettingError
from trainer_hooks.feed import CalendarFeed
from trainer_hooks.gpu import NvmlSession
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.telemetry import TelemetryWriter, new_writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer_hooks.clock import Clock
    from trainer_hooks.gpu import Gpu

RUNS_FREE = "training runs free; nothing is limited, paused or metered"
# Each is set by its launcher in every rank: torchrun, mpirun, srun.
_WORLD_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")


def governor_arguments(environ: Mapping[str, str], clock: Clock) -> tuple[dict[str, Any], str]:
    """Read the settings of a Governor.

    Args:
        environ: Environment variables.
        clock: Time that simulated GPUs live by.

    Returns:
        Keyword arguments, and a sentence to be said once, or "". Without calendar or GPU the arguments make a no-op.

    Raises:
        HookError: A setting or the GPUs cannot be used.
    """
    path, run = environ.get("GRIDPACE_CALENDAR", ""), environ.get("GRIDPACE_RUN", "")
    if not path:
        return {"run": run}, f"no calendar (GRIDPACE_CALENDAR is not set): {RUNS_FREE}."
    gpus = _gpus(environ, clock)
    if not gpus:
        return {"run": run}, f"no GPU is visible to this process: {RUNS_FREE}."
    on_off = environ.get("GRIDPACE_ON_OFF", "exit")
    if on_off not in {"exit", "wait"}:
        raise SettingError("GRIDPACE_ON_OFF", f"{on_off!r} is neither 'exit' nor 'wait'.", "Set one of the two.")
    telemetry = environ.get("GRIDPACE_TELEMETRY", "")
    return {
        "feed": CalendarFeed(Path(path), run),
        "run": run,
        "gpus": gpus,
        "telemetry": TelemetryWriter(Path(telemetry), run, new_writer()) if telemetry else None,
        "on_off": on_off,
        "may_pause": all(environ.get(name, "1") == "1" for name in _WORLD_SIZES),
    }, ""


def _gpus(environ: Mapping[str, str], clock: Clock) -> tuple[Gpu, ...]:
    twins = environ.get("GRIDPACE_SIMULATE", "0")
    if not twins.isdecimal():
        raise SettingError("GRIDPACE_SIMULATE", f"{twins!r} is not a number of GPUs.", "Set it to 1, or to 0.")
    if int(twins):
        return tuple(
            SimulatedGpu(monotonic=clock.monotonic, uuid=f"GPU-simulated-{number}") for number in range(int(twins))
        )
    return process_gpus(environ, NvmlSession())
