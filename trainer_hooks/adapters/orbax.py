"""A JAX loop that saves through Orbax.

from trainer_hooks.adapters.orbax import OrbaxFollower

follower = OrbaxFollower(manager)
if first:
    follower.governor.resume_at(tokens_before, step=first)
for step in range(first, last):
    state = train_step(state, batch)
    if follower.step(step, state, tokens=batch.size):
        break
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trainer_hooks.governor import Governor

if TYPE_CHECKING:
    from collections.abc import Callable


class OrbaxFollower:
    """Follows the run calendar after each step, and saves through a checkpoint manager.

    JAX's own notice of a preemption, on which all processes agree, counts as a request to save and end.

    Args:
        manager: An `orbax.checkpoint.CheckpointManager`.
        governor: Governor to follow; one from the environment if None.
        save_arguments: Makes the manager's `args` of a state; `StandardSave` if None.
    """

    def __init__(
        self, manager: Any, governor: Governor | None = None, save_arguments: Callable[[Any], Any] | None = None
    ) -> None:
        self.governor = governor or Governor.from_env(all_reduce=highest_of_processes())
        self._manager = manager
        self._save_arguments = save_arguments or importlib.import_module("orbax.checkpoint").args.StandardSave

    def step(self, step: int, state: Any, tokens: int = 0) -> bool:
        """Call after every training step.

        Args:
            step: Number of the step just trained.
            state: State after it.
            tokens: Tokens that this process trained in it.

        Returns:
            Whether the loop should end now, its work saved.
        """
        if self._manager.reached_preemption(step):
            self.governor.request_stop()
        return self.governor.step(tokens, lambda: self._save(step, state))

    def _save(self, step: int, state: Any) -> None:
        if self._manager.latest_step() != step:
            self._manager.save(step, args=self._save_arguments(state), force=True)
        self._manager.wait_until_finished()  # a pause follows: the checkpoint has to be on the disk first


def highest_of_processes() -> Callable[[int], int] | None:
    """Return what tells all processes the highest number that any of them gives; None for a single process."""
    if importlib.import_module("jax").process_count() == 1:
        return None
    gather = importlib.import_module("jax.experimental.multihost_utils").process_allgather
    array = importlib.import_module("numpy").array
    return lambda number: int(gather(array([number])).max())
