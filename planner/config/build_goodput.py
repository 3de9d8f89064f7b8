"""From what a site file says of failures and checkpoints to the goodput of each gang."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from power.goodput import Goodput, Writer, gang_failures_per_s, interval_or_daly_s, shared_save_s

if TYPE_CHECKING:
    from planner.config import model

SAVE_DEFAULT = "checkpoint_s"


def failures_per_gpu_day(table: model.RunTable, site: model.GoodputTable) -> float | None:
    """Return a run's failures per GPU and day, or None where nothing is said of them."""
    own = table.goodput
    return site.failures_per_gpu_day if own is None or own.failures_per_gpu_day is None else own.failures_per_gpu_day


def checkpoint_bytes(table: model.RunTable, site: model.GoodputTable) -> float | None:
    """Return the size of a run's checkpoint, bytes, or None where the file does not say it."""
    own = table.goodput
    if own is None:
        return None
    return own.checkpoint_bytes if own.parameters is None else own.parameters * site.bytes_per_parameter


def deadline_confidence(table: model.RunTable, site: model.GoodputTable) -> float | None:
    """Return the chance at which a run's deadlines are to be kept, or None where none is asked for."""
    own = table.goodput
    return site.deadline_confidence if own is None or own.deadline_confidence is None else own.deadline_confidence


def saves_s(runs: Sequence[model.RunTable], site: model.GoodputTable) -> dict[str, float]:
    """Return how long each run's checkpoint takes: as the shared store writes it, else as the run says.

    Args:
        runs: All runs of the site.
        site: What holds for all.

    Returns:
        Run -> seconds.

    Raises:
        ValueError: The runs together ask for more than the store can write.
    """
    took_s = {run.name: run.checkpoint_s for run in runs}
    if site.storage_gb_per_s is None:
        return took_s
    writers: dict[str, Writer] = {}
    for run in runs:
        size, failures = checkpoint_bytes(run, site), failures_per_gpu_day(run, site)
        if size is not None and failures is not None:
            writers[run.name] = Writer(size, gang_failures_per_s(_most_gpus(run), failures), _interval_s(run, site))
    shared_s = shared_save_s(list(writers.values()), site.storage_gb_per_s)
    return took_s | dict(zip(writers, shared_s, strict=True))


def goodput(run: model.RunTable, site: model.GoodputTable, save_s: float) -> Goodput | None:
    """Return how a run's gang fails and saves, or None where nothing is said of failures; at its largest size.

    Args:
        run: The run.
        site: What holds for all.
        save_s: How long its checkpoint takes, s.
    """
    failures = failures_per_gpu_day(run, site)
    if failures is None:
        return None
    failures_per_s = gang_failures_per_s(_most_gpus(run), failures)
    own = run.goodput
    return Goodput(
        failures_per_s=failures_per_s,
        interval_s=interval_or_daly_s(_interval_s(run, site), save_s, failures_per_s),
        save_s=save_s,
        restart_s=site.restart_s if own is None or own.restart_s is None else own.restart_s,
    )


def stop_save_s(run: model.RunTable, site: model.GoodputTable, save_s: float) -> float:
    """Return how long a run saves before a stop: what it says itself, else as long as its other checkpoints take.

    Args:
        run: The run.
        site: What holds for all.
        save_s: How long a checkpoint takes, s.
    """
    if SAVE_DEFAULT in run.model_fields_set or failures_per_gpu_day(run, site) is None:
        return run.checkpoint_s
    return save_s


def _most_gpus(run: model.RunTable) -> int:
    return max(run.gpus, *(size.gpus for size in run.sizes)) if run.sizes else run.gpus


def _interval_s(run: model.RunTable, site: model.GoodputTable) -> float | None:
    own = run.goodput
    return site.checkpoint_every_s if own is None or own.checkpoint_every_s is None else own.checkpoint_every_s
