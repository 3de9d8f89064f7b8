"""Environment variables into the arguments of a Governor."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer_hooks.agent_environ import agent_client, leased
from trainer_hooks.agent_feed import AgentFeed
from trainer_hooks.agreement.choice import choose_agreement, world_size
from trainer_hooks.breakeven import IDLE_W_PER_GPU, RELOAD_S, SAVE_S, PauseCosts
from trainer_hooks.devices import process_gpus
from trainer_hooks.errors import HookError, ScopeError, SettingError
from trainer_hooks.feed import CalendarFeed
from trainer_hooks.gpu import NvmlSession
from trainer_hooks.metering import metering_from
from trainer_hooks.ranks import global_rank
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.telemetry import TelemetryWriter, new_writer
from trainer_hooks.watchdogs import watchdogs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer_hooks.agreement.collective import AllReduce
    from trainer_hooks.clock import Clock
    from trainer_hooks.gpu import Gpu

RUNS_FREE = "training runs free; nothing is limited, paused or metered"


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
    client = agent_client(environ)
    if not path and (client is None or not run):
        missing = "GRIDPACE_CALENDAR is not set" if client is None else "GRIDPACE_RUN names no run to ask the agent for"
        return {"run": run}, f"no calendar ({missing}): {RUNS_FREE}."
    gpus: tuple[Gpu, ...] = ()
    notice = ""
    try:
        gpus = environment_gpus(environ, clock)
    except ScopeError as error:
        notice = f"{error} Pauses are followed; nothing is limited or metered."
    if not gpus and not notice:
        return {"run": run}, f"no GPU is visible to this process: {RUNS_FREE}."
    on_off = _choice(environ, "GRIDPACE_ON_OFF", ("exit", "wait"))
    on_hold = _choice(environ, "GRIDPACE_ON_HOLD", ("hold", "auto"))
    telemetry = environ.get("GRIDPACE_TELEMETRY", "")
    return {
        "feed": CalendarFeed(Path(path), run) if path or client is None else AgentFeed(client, run),
        "run": run,
        "gpus": gpus,
        "telemetry": TelemetryWriter(Path(telemetry), run, new_writer(), global_rank(environ)) if telemetry else None,
        "metering": metering_from(environ),
        "on_off": on_off,
        "on_hold": on_hold,
        **_costs(environ, len(gpus)),
    }, notice


def rank_arguments(
    environ: Mapping[str, str], all_reduce: AllReduce | None, every: int, *, strict: bool
) -> tuple[dict[str, Any], str]:
    """Read what belongs to one of several ranks.

    Args:
        environ: Environment variables.
        all_reduce: See `Governor`; None where the training gives none.
        every: See `Governor`.
        strict: Raise faults.

    Returns:
        Keyword arguments of a Governor, and a sentence to be said once, or "".

    Raises:
        HookError: With `strict`, a setting cannot be used.
    """
    ranks = world_size(environ)
    arguments: dict[str, Any] = {}
    try:
        arguments["timers"] = watchdogs(environ, sys.modules, ranks)
        if ranks > 1 and (environ.get("GRIDPACE_CALENDAR") or environ.get("GRIDPACE_AGENT")):
            arguments["agreement"] = choose_agreement(environ, all_reduce, every)
    except HookError as error:
        if strict:
            raise
        return {**arguments, "may_pause": ranks == 1}, str(error)
    return arguments, ""


def _costs(environ: Mapping[str, str], gpus: int) -> dict[str, Any]:
    idle_w = _amount(environ, "GRIDPACE_IDLE_W", IDLE_W_PER_GPU)
    save_s, reload_s = _amount(environ, "GRIDPACE_SAVE_S", SAVE_S), _amount(environ, "GRIDPACE_RELOAD_S", RELOAD_S)
    costs = PauseCosts(idle_w * gpus, save_s=save_s, reload_s=reload_s)
    return {"costs": costs, "save_lead_s": save_s if "GRIDPACE_SAVE_S" in environ else 0.0}


def _amount(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name)
    try:
        amount = default if text is None else float(text)
    except ValueError:
        amount = math.nan
    if not 0.0 <= amount < math.inf:
        raise SettingError(name, f"{text!r} is not a number, 0 or above.", "Set one, or unset it.")
    return amount


def _choice(environ: Mapping[str, str], name: str, choices: tuple[str, str]) -> str:
    chosen = environ.get(name, choices[0])
    if chosen not in choices:
        raise SettingError(name, f"{chosen!r} is neither {choices[0]!r} nor {choices[1]!r}.", "Set one of the two.")
    return chosen


def environment_gpus(environ: Mapping[str, str], clock: Clock) -> tuple[Gpu, ...]:
    """Find the GPUs of this process, or the simulated ones that GRIDPACE_SIMULATE asks for.

    Where the node has an agent (GRIDPACE_AGENT), their limits are leased from it.

    Args:
        environ: Environment variables.
        clock: Time that simulated GPUs live by.

    Returns:
        The GPUs; empty where CUDA would see none.

    Raises:
        HookError: A setting or the GPUs cannot be used.
    """
    twins = environ.get("GRIDPACE_SIMULATE", "0")
    if not twins.isdecimal():
        raise SettingError("GRIDPACE_SIMULATE", f"{twins!r} is not a number of GPUs.", "Set it to 1, or to 0.")
    if int(twins):
        return tuple(
            SimulatedGpu(monotonic=clock.monotonic, uuid=f"GPU-simulated-{number}") for number in range(int(twins))
        )
    return leased(process_gpus(environ, NvmlSession()), agent_client(environ))
