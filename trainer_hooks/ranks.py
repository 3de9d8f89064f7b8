"""Which process of a training this one is, by what its launcher says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Each is set by its launcher in every rank: torchrun, mpirun, srun.
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
_LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")


def global_rank(environ: Mapping[str, str]) -> int | None:
    """Return the rank among all processes of the training, or None where no launcher says one."""
    return _first(environ, _RANKS)


def local_rank(environ: Mapping[str, str]) -> int | None:
    """Return the rank among the training's processes on this node, or None where no launcher says one."""
    return _first(environ, _LOCAL_RANKS)


def _first(environ: Mapping[str, str], names: Iterable[str]) -> int | None:
    # A rank is at most some millions; more digits are no rank.
    found = (environ.get(name, "") for name in names)
    return next((int(text) for text in found if text.isascii() and text.isdecimal() and len(text) < 10), None)
