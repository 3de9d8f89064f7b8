"""An engine of DeepSpeed, or one of its shape.

from trainer_hooks.adapters.deepspeed import EngineFollower

follower = EngineFollower(engine, "checkpoints", seq_length=4096)
follower.load()
for batch in follower.governor.watch(loader):
    engine.backward(engine(batch))
    engine.step()
    if follower.after_step():
        break
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainer_hooks.adapters.torch_ranks import torch_governor

if TYPE_CHECKING:
    from pathlib import Path

    from trainer_hooks.governor import Governor

_KEPT = "gridpace_tokens"


class EngineFollower:
    """Follows the run calendar at an engine's accumulation boundaries.

    Of the engine it uses `global_steps`, `global_samples`, `dp_world_size`, `save_checkpoint` and `load_checkpoint`.

    Args:
        engine: The engine, initialised.
        folder: Where checkpoints go.
        seq_length: Tokens of a sample; 0 on ranks whose tokens another rank counts (tensor or pipeline parallel).
        governor: Governor to follow; one from the environment if None.
    """

    def __init__(self, engine: Any, folder: str | Path, *, seq_length: int, governor: Governor | None = None) -> None:
        self.governor = governor or torch_governor()
        self._engine = engine
        self._folder = str(folder)
        self._seq_length = seq_length
        self._tokens = 0
        self._steps, self._samples = engine.global_steps, engine.global_samples

    def load(self) -> dict[str, Any] | None:
        """Load the newest checkpoint, if there is one, on all ranks.

        Returns:
            The client state that was saved with it, with our entry; None if there was none.
        """
        path, client_state = self._engine.load_checkpoint(self._folder)
        if path is None:
            return None
        state: dict[str, Any] = dict(client_state or {})
        self._steps, self._samples = self._engine.global_steps, self._engine.global_samples
        self._tokens = int(state.get(_KEPT, 0))
        self.governor.resume_at(self._tokens, step=self._steps)
        return state

    def after_step(self, client_state: dict[str, Any] | None = None) -> bool:
        """Call after every `engine.step()`; within an accumulation nothing is done.

        Args:
            client_state: What else a checkpoint is to hold.

        Returns:
            Whether the loop should end now, its work saved.
        """
        engine = self._engine
        if engine.global_steps == self._steps:
            return self.governor.should_exit
        samples, self._samples = engine.global_samples - self._samples, engine.global_samples
        self._steps = engine.global_steps
        tokens = samples * self._seq_length // engine.dp_world_size
        self._tokens += tokens

        def save() -> None:
            engine.save_checkpoint(self._folder, client_state={**(client_state or {}), _KEPT: self._tokens})

        return self.governor.step(tokens, save)
