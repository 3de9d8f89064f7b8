"""Timers that end a training which seems to hang, and how long it may hold under them.

A timer of kind `collective` runs while a collective is outstanding. A job that has drained (every rank has stopped
after the same step, and its device has nothing left to do) has none, so such timers do not bound its hold. A timer of
kind `presence` wants a sign of life from the training loop itself and bounds every hold. `grace` bounds no hold: it is
the time from the signal that ends the job to the one that kills it, in which a checkpoint must be written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trainer_hooks.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

# A hold ends this share of the smallest timer after it began: the rest is for the step that follows it.
USED_SHARE = 0.8


@dataclass(frozen=True)
class Watchdog:
    """One timer.

    Attributes:
        name: Whose it is, and the setting it comes from.
        limit_s: When it strikes, s.
        kind: See the module.
    """

    name: str
    limit_s: float
    kind: Literal["collective", "presence", "grace"]


def watchdogs(environ: Mapping[str, str], modules: Container[str], ranks: int) -> tuple[Watchdog, ...]:
    """Find the timers that a training runs under.

    Defaults are those of PyTorch 2 (process group and NCCL heartbeat), torchtitan, torchft and nvidia-resiliency-ext;
    a timer that a program sets in its own code cannot be seen here: GRIDPACE_WATCHDOG_S names it.

    Args:
        environ: Environment of the process.
        modules: Names of loaded modules.
        ranks: Ranks of the job.

    Returns:
        The timers, none of which is infinite.

    Raises:
        SettingError: GRIDPACE_WATCHDOG_S is no positive number.
    """
    found = []
    if "GRIDPACE_WATCHDOG_S" in environ:
        found.append(Watchdog("GRIDPACE_WATCHDOG_S", _own_s(environ["GRIDPACE_WATCHDOG_S"]), "presence"))
    if ranks > 1:
        found.append(
            Watchdog("DEEPSPEED_TIMEOUT", 60.0 * _positive(environ, "DEEPSPEED_TIMEOUT", 10.0), "collective")
            if "DEEPSPEED_TIMEOUT" in environ
            else Watchdog("process group of torch.distributed, default", 600.0, "collective")
        )
        if environ.get("TORCH_NCCL_ENABLE_MONITORING", "1") != "0":
            found.append(_from(environ, "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", 480.0, "collective"))
    if "torchtitan" in modules:
        found.append(Watchdog("torchtitan, comm.train_timeout_seconds, default", 100.0, "collective"))
    if "torchft" in modules:
        found.append(_from(environ, "TORCHFT_TIMEOUT_SEC", 15.0, "presence"))
    if "nvidia_resiliency_ext.inprocess" in modules:
        found.append(Watchdog("nvidia-resiliency-ext, hard_timeout, default", 90.0, "presence"))
    if "nvidia_resiliency_ext.fault_tolerance" in modules:
        found.append(Watchdog("nvidia-resiliency-ext, rank_heartbeat_timeout, default", 2700.0, "presence"))
    if "KUBERNETES_SERVICE_HOST" in environ:
        found.append(Watchdog("Kubernetes, terminationGracePeriodSeconds, default", 30.0, "grace"))
    if "SLURM_JOB_ID" in environ:
        found.append(Watchdog("Slurm, KillWait, default", 30.0, "grace"))
    return tuple(found)


def hold_cap_s(timers: Iterable[Watchdog], *, drained: bool) -> float:
    """Return how long a job may hold at a stretch, s; infinite without a timer that bounds it.

    Args:
        timers: The timers it runs under.
        drained: Whether nothing is outstanding on any rank, so that timers of collectives do not run.
    """
    bounding = {"presence"} if drained else {"presence", "collective"}
    return min((USED_SHARE * timer.limit_s for timer in timers if timer.kind in bounding), default=math.inf)


def grace_s(timers: Iterable[Watchdog]) -> float:
    """Return the shortest time from the signal that ends the job to the one that kills it, s."""
    return min((timer.limit_s for timer in timers if timer.kind == "grace"), default=math.inf)


def _from(environ: Mapping[str, str], name: str, default_s: float, kind: Literal["collective", "presence"]) -> Watchdog:
    return Watchdog(name, _positive(environ, name, default_s), kind)


def _positive(environ: Mapping[str, str], name: str, default: float) -> float:
    # a program that cannot read its own variable takes its default, and is not ours to refuse
    try:
        value = float(environ.get(name, ""))
    except ValueError:
        return default
    return value if 0.0 < value < math.inf else default


def _own_s(text: str) -> float:
    try:
        limit_s = float(text)
    except ValueError:
        limit_s = math.nan
    if not 0.0 < limit_s < math.inf:
        raise SettingError("GRIDPACE_WATCHDOG_S", f"{text!r} is not a positive number of seconds.", "Set one.")
    return limit_s
