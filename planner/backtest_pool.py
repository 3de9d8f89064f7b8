"""Where the tasks of a backtest are carried out: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from typing import TypeVar

from planner.errors import ConfigError, DataUnavailable

_PATIENCE_S = 10.0
Job = TypeVar("Job")
Result = TypeVar("Result")
Done = Callable[[int, int], None]
"""Told how many of how many tasks are done."""


def in_processes(work: Callable[[Job], Result], jobs: int, done: Done) -> Callable[[Sequence[Job]], Iterator[Result]]:
    """Return what carries tasks out in `jobs` processes, in order.

    Args:
        work: Carries one task out: a function of a module, so that other processes find it.
        jobs: Count of processes; with 1, tasks run in this one.
        done: Told after each task.
    """

    def run(tasks: Sequence[Job]) -> Iterator[Result]:
        if jobs == 1:
            yield from _counted(map(work, tasks), len(tasks), done)
            return
        # A fork would copy locks that threads of numerical libraries hold.
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield from _counted(pool.map(work, tasks), len(tasks), done)

    return run


def on_dask(work: Callable[[Job], Result], address: str, done: Done) -> Callable[[Sequence[Job]], Iterator[Result]]:
    """Return what carries tasks out on a Dask cluster whose workers have gridpace installed, in order.

    Args:
        work: Carries one task out, as for `in_processes`.
        address: Of its scheduler, such as "tcp://10.0.0.5:8786".
        done: Told after each task.

    Raises:
        ConfigError: dask.distributed is not installed.
    """
    try:
        client_of = import_module("distributed").Client
    except ImportError as error:
        raise ConfigError("--dask needs dask.distributed", fix='install it: pip install "distributed"') from error

    def run(tasks: Sequence[Job]) -> Iterator[Result]:
        try:
            client = client_of(address, timeout=_PATIENCE_S)
        except (OSError, ValueError) as error:
            raise DataUnavailable(
                f"there is no Dask scheduler at {address}", why=str(error), fix="start one, or leave out --dask"
            ) from error
        with client:
            yield from _counted((future.result() for future in client.map(work, tasks)), len(tasks), done)

    return run


def _counted(results: Iterator[Result], n: int, done: Done) -> Iterator[Result]:
    for i, result in enumerate(results):
        done(i + 1, n)
        yield result
