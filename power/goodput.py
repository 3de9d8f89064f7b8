"""Useful work of a gang that fails now and then: checkpoint intervals, what is lost, and what a pause costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY_S = 86_400.0
SHORTEST_INTERVAL_S = 60.0
"""No run saves more often than this, however cheap a checkpoint is."""

_ROUNDS = 200
_STILL = 1e-9


@dataclass(frozen=True)
class Goodput:
    """How one gang fails, saves and comes back.

    Failures come at random and independent of each other, at the same rate whenever the gang holds its GPUs. Each
    throws the run back to its last checkpoint and takes `restart_s`, in which it may fail again.

    Args:
        failures_per_s: Failures of the whole gang, 1/s.
        interval_s: Training between two checkpoints, s, or None for no checkpoints but those before a stop.
        save_s: Time that each of these checkpoints stops the training, s.
        restart_s: Time from a failure to the next useful token, s.
    """

    failures_per_s: float
    interval_s: float | None
    save_s: float
    restart_s: float

    @property
    def cycle_s(self) -> float:
        """Time from one checkpoint to the next, s; without checkpoints, infinite."""
        return math.inf if self.interval_s is None else self.interval_s + self.save_s

    @property
    def factor_share(self) -> float:
        """Useful tokens in the long run over those of a gang that never fails and never saves (`goodput_share`)."""
        if self.interval_s is None:
            return 1.0
        return goodput_share(self.failures_per_s, self.interval_s, self.save_s, self.restart_s)


def gang_failures_per_s(gpus: int, failures_per_gpu_day: float) -> float:
    """Return the failures of a whole gang per second: any of its GPUs stops all of them.

    Args:
        gpus: Gang size.
        failures_per_gpu_day: Failures per GPU and day, 1/day.

    Source: Llama 3 (2024): 419 unplanned interruptions of 16,384 GPUs in 54 days are 4.7e-4 per GPU and day.
    """
    return gpus * failures_per_gpu_day / DAY_S


def daly_interval_s(save_s: float, mean_between_s: float) -> float:
    """Return Daly's higher-order checkpoint interval, training time between two saves.

    Args:
        save_s: Time to save a checkpoint, s.
        mean_between_s: Mean time between failures, s.

    Source: Daly (2006), equation 37, exponential failures; for save times of at least twice the time between failures
    the interval is the time between failures.
    """
    if save_s >= 2.0 * mean_between_s:
        return max(SHORTEST_INTERVAL_S, mean_between_s)
    half = save_s / (2.0 * mean_between_s)
    interval_s = math.sqrt(2.0 * save_s * mean_between_s) * (1.0 + math.sqrt(half) / 3.0 + half / 9.0) - save_s
    return max(SHORTEST_INTERVAL_S, interval_s)


def goodput_share(failures_per_s: float, interval_s: float, save_s: float, restart_s: float) -> float:
    """Return useful training time over all time that a gang holds its GPUs, in the long run.

    A cycle of `interval_s` training and `save_s` saving counts only once it is whole; until then each failure costs the
    time since the last checkpoint and a restart, which fails at the same rate. The mean time of a cycle is
    `(exp(f (interval + save)) - 1) exp(f restart) / f`.

    Args:
        failures_per_s: Failures of the gang, 1/s.
        interval_s: Training between two checkpoints, s, above zero.
        save_s: Time to save a checkpoint, s.
        restart_s: Time from a failure to the next useful token, s.

    Returns:
        A number above 0 and at most 1.

    Source: Daly (2006), equation 20: the exact mean for exponential failures.
    """
    cycle_s = interval_s + save_s
    if failures_per_s <= 0.0:
        return interval_s / cycle_s
    return failures_per_s * interval_s * math.exp(-failures_per_s * restart_s) / math.expm1(failures_per_s * cycle_s)


@dataclass(frozen=True)
class Writer:
    """A run that saves checkpoints into a store which other runs use too.

    Args:
        checkpoint_bytes: Size of one checkpoint, bytes.
        failures_per_s: Failures of its gang, 1/s.
        interval_s: Training between two checkpoints, s, or None for Daly's.
    """

    checkpoint_bytes: float
    failures_per_s: float
    interval_s: float | None


def interval_or_daly_s(interval_s: float | None, save_s: float, failures_per_s: float) -> float | None:
    """Return the interval asked for, else Daly's; None where neither is given nor anything fails."""
    if interval_s is not None:
        return interval_s
    return daly_interval_s(save_s, 1.0 / failures_per_s) if failures_per_s > 0.0 else None


def shared_save_s(writers: Sequence[Writer], storage_gb_per_s: float) -> tuple[float, ...]:
    """Return how long each run's checkpoint takes where all save into one store at times of their own.

    A save of `s` seconds with the store to itself takes `s / (1 - u)`, where `u` is the share of time in which the
    other runs keep the store busy: the mean of a store that serves its writers at equal speed. Saves at the same
    instant, such as those of runs that pause together, take longer than this mean.

    Args:
        writers: The runs.
        storage_gb_per_s: Bandwidth of the store, GB/s (1e9 bytes).

    Returns:
        Seconds per checkpoint of each run, in order.

    Raises:
        ValueError: The runs together ask for more than the store can write.

    Source: Kleinrock (1967), processor sharing.
    """
    alone_s = [writer.checkpoint_bytes / (storage_gb_per_s * 1e9) for writer in writers]
    save_s = list(alone_s)
    for _ in range(_ROUNDS):
        busy = []
        for writer, own_s, took_s in zip(writers, alone_s, save_s, strict=True):
            every_s = interval_or_daly_s(writer.interval_s, took_s, writer.failures_per_s)
            busy.append(0.0 if every_s is None else own_s / (every_s + took_s))
        others = [sum(busy) - own for own in busy]
        if max(others, default=0.0) >= 1.0:
            raise ValueError(
                f"checkpoints of {len(writers)} runs keep a store of {storage_gb_per_s:g} GB/s busy for "
                f"{100.0 * sum(busy):.0f} % of the time"
            )
        found_s = [own_s / (1.0 - share) for own_s, share in zip(alone_s, others, strict=True)]
        moved = max((abs(a - b) for a, b in zip(found_s, save_s, strict=True)), default=0.0)
        save_s = [0.5 * (a + b) for a, b in zip(found_s, save_s, strict=True)]
        if moved <= _STILL * max(save_s, default=1.0):
            break
    return tuple(save_s)


def hold_break_even_s(
    train_w_per_gpu: float, held_w_per_gpu: float, idle_w_per_gpu: float, save_s: float, reload_s: float
) -> float | None:
    """Return the length of a pause up to which keeping the GPUs costs less energy than giving them back.

    Giving them back costs a save and a reload, in which the gang draws training power and makes no tokens; holding
    costs the held power above the idle one for as long as the pause lasts.

    Args:
        train_w_per_gpu: IT power in training, W.
        held_w_per_gpu: IT power with the process alive at a step boundary, W.
        idle_w_per_gpu: IT power without a job, W; 0 where idle GPUs are powered down.
        save_s: Time to save before the stop, s.
        reload_s: Time from the start to the first useful token, s.

    Returns:
        Seconds, or None where holding costs no more than idling: it is then never the dearer way.
    """
    if held_w_per_gpu <= idle_w_per_gpu:
        return None
    return (train_w_per_gpu - idle_w_per_gpu) * (save_s + reload_s) / (held_w_per_gpu - idle_w_per_gpu)
