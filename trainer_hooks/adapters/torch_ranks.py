"""What a Governor needs of PyTorch's ranks: the highest number of all of them, and a device with nothing to do."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trainer_hooks.governor import Governor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def torch_governor(environ: Mapping[str, str] | None = None, **options: Any) -> Governor:
    """Make a Governor for a PyTorch training; all ranks call it, after the process group is made.

    Args:
        environ: See `Governor.from_env`.
        **options: See `Governor.from_env`.

    Returns:
        The Governor.
    """
    return Governor.from_env(environ, all_reduce=highest_of_ranks(), drain=drain, **options)


def highest_of_ranks() -> Callable[[int], int] | None:
    """Return what tells all ranks the highest number that any of them gives; None for a training of one rank.

    The numbers travel between hosts (gloo), so that neither the GPU nor a timer of NCCL has to do with them.
    """
    torch = importlib.import_module("torch")
    ranks = torch.distributed
    if not (ranks.is_available() and ranks.is_initialized()) or ranks.get_world_size() == 1:
        return None
    group = None if ranks.get_backend() == "gloo" else ranks.new_group(backend="gloo")

    def highest(number: int) -> int:
        told = torch.tensor([number], dtype=torch.int64)
        ranks.all_reduce(told, op=ranks.ReduceOp.MAX, group=group)
        return int(told.item())

    return highest


def drain() -> None:
    """Wait until the GPU of this rank has done all it was given."""
    torch = importlib.import_module("torch")
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
