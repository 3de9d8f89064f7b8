"""Composer's Trainer.

from trainer_hooks.adapters.composer import follow

trainer = Trainer(...)
follow(trainer, "checkpoints/gridpace.pt")
trainer.fit()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trainer_hooks.adapters.torch_ranks import torch_governor

if TYPE_CHECKING:
    from trainer_hooks.governor import Governor


class _Follower:
    """The callback."""

    def __init__(self, trainer: Any, path: str, governor: Governor, counts: bool) -> None:
        self._trainer = trainer
        self._path = path
        self._governor = governor
        self._counts = counts
        self._tokens = 0

    def fit_start(self, state: Any, _logger: Any) -> None:
        """Say what the loaded checkpoint holds."""
        self._tokens = self._seen(state)
        if int(state.timestamp.batch):
            self._governor.resume_at(self._tokens, step=int(state.timestamp.batch))

    def batch_end(self, state: Any, _logger: Any) -> None:
        """Do what the calendar asks for."""
        before, self._tokens = self._tokens, self._seen(state)
        if self._governor.step(self._tokens - before, lambda: self._trainer.save_checkpoint(self._path)):
            state.stop_training()

    def fit_end(self, _state: Any, _logger: Any) -> None:
        """Give the limits back."""
        self._governor.close()

    def _seen(self, state: Any) -> int:
        """Count the tokens of all ranks, as Composer's timestamp does, on the first."""
        return int(state.timestamp.token) if self._counts else 0


def follow(trainer: Any, path: str, governor: Governor | None = None) -> Governor:
    """Let a Trainer follow its run calendar.

    Args:
        trainer: A `composer.Trainer`, made and not yet started.
        path: Where its checkpoint goes.
        governor: Governor to follow; one from the environment if None.

    Returns:
        The Governor.
    """
    followed = governor or torch_governor()
    composer = importlib.import_module("composer")
    counts = importlib.import_module("composer.utils").dist.get_global_rank() == 0
    callback = type("GridpaceCallback", (_Follower, composer.Callback), {})(trainer, path, followed, counts)
    trainer.state.callbacks.append(callback)
    return followed
