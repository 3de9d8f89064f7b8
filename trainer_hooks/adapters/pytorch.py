"""A plain PyTorch loop, alone or under DDP or FSDP.

from trainer_hooks.adapters.pytorch import follow

for batch in follow(loader, save=save_checkpoint):
    train_step(batch)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainer_hooks.adapters.batches import batch_tokens
from trainer_hooks.adapters.torch_ranks import torch_governor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from trainer_hooks.governor import Governor


def follow(
    batches: Iterable[Any],
    *,
    save: Callable[[], object],
    governor: Governor | None = None,
    tokens_of: Callable[[Any], int] = batch_tokens,
    accumulate: int = 1,
    loaded_step: int = 0,
    loaded_tokens: int = 0,
) -> Iterator[Any]:
    """Hand batches on and end early where the calendar says so, the work saved.

    The body of the loop trains one batch; when it asks for the next one, the step is over. The wait for it is timed.

    Args:
        batches: A data loader.
        save: Writes a checkpoint; under DDP and FSDP it is called on all ranks after the same step.
        governor: Governor to follow; one from the environment if None, made after the process group.
        tokens_of: Tokens of a batch on this rank.
        accumulate: Batches of one optimiser step.
        loaded_step: Optimiser steps in the state that was loaded; 0 at the very start.
        loaded_tokens: Tokens of this rank in it.

    Yields:
        The batches.
    """
    followed = governor or torch_governor()
    if loaded_step:
        followed.resume_at(loaded_tokens, step=loaded_step)
    tokens = 0
    for number, batch in enumerate(followed.watch(batches), 1):
        yield batch
        tokens += tokens_of(batch)
        if number % accumulate == 0:
            if followed.step(tokens, save):
                return
            tokens = 0
