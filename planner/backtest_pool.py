"""Where the tasks of a backtest are carried out: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING

from planner.errors import ConfigError, DataUnavailable
from planner.forecast.issued import Task, issue

if TYPE_CHECKING:
    from planner.forecast.backtest import Paths, Run

_PATIENCE_S = 10.0
Done = Callable[[int, int], None]
"""Told how many of how many tasks are done."""


def in_processes(jobs: int, done: Done) -> Run:
    """Return what carries tasks out in `jobs` processes.

    Args:
        jobs: Count of processes; with 1, tasks run in this one.
        done: Told after each task.
    """

    def run(tasks: Sequence[Task]) -> Iterator[Paths]:
        if jobs == 1:
            yield from _counted(map(issue, tasks), len(tasks), done)
            return
        # A fork would copy locks that threads of numerical libraries hold.
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield from _counted(pool.map(issue, tasks), len(tasks), done)

    return run


def on_dask(address: str, done: Done) -> Run:
    """Return what carries tasks out on a Dask cluster whose workers have gridpace installed.

    Args:
        address: Of its scheduler, such as "tcp://10.0.0.5:8786".
        done: Told after each task.

    Raises:
        ConfigError: dask.distributed is not installed.
    """
    try:
        client_of = import_module("distributed").Client
    except ImportError as error:
        raise ConfigError("--dask needs dask.distributed", fix='install it: pip install "distributed"') from error

    def run(tasks: Sequence[Task]) -> Iterator[Paths]:
        try:
            client = client_of(address, timeout=_PATIENCE_S)
        except (OSError, ValueError) as error:
            raise DataUnavailable(
                f"there is no Dask scheduler at {address}", why=str(error), fix="start one, or leave out --dask"
            ) from error
        with client:
            yield from _counted((future.result() for future in client.map(issue, tasks)), len(tasks), done)

    return run


def _counted(results: Iterator[Paths], n: int, done: Done) -> Iterator[Paths]:
    for i, paths in enumerate(results):
        done(i + 1, n)
        yield paths
