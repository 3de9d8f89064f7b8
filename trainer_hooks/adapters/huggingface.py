"""The Trainer of Hugging Face transformers.

from trainer_hooks.adapters.huggingface import follow

trainer = Trainer(...)
follow(trainer)
trainer.train(resume_from_checkpoint=True)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from trainer_hooks.adapters.batches import batch_tokens
from trainer_hooks.adapters.torch_ranks import torch_governor

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.governor import Governor

_KEPT = "gridpace"


class _Follower:
    """The callback; it saves through the Trainer, on all ranks, before a pause begins."""

    def __init__(self, trainer: Any, governor: Governor, tokens_of: Callable[[Any], int]) -> None:
        self._trainer = trainer
        self._governor = governor
        self._tokens_of = tokens_of
        self._tokens = self._position_tokens = 0
        self._saved_step = -1
        self._train_batch = trainer.training_step
        # Counted here and not by `num_input_tokens_seen`, which is off by default and asks all ranks at every step.
        trainer.training_step = self._counted
        self._take_batches = trainer.get_batch_samples
        trainer.get_batch_samples = self._watched

    def _counted(self, model: Any, inputs: Any, *rest: Any, **named: Any) -> Any:
        self._tokens += self._tokens_of(inputs)
        return self._train_batch(model, inputs, *rest, **named)

    def _watched(self, batches: Any, *rest: Any, **named: Any) -> Any:
        """Time the wait for the batches of one step."""
        return self._take_batches(self._governor.watch(batches), *rest, **named)

    def on_train_begin(self, _args: Any, state: Any, _control: Any, **_named: Any) -> None:
        """Say what the loaded checkpoint holds."""
        if state.global_step:
            self._position_tokens = int(state.stateful_callbacks.get(_KEPT, {}).get("tokens", 0))
            self._governor.resume_at(self._position_tokens, step=state.global_step)

    def on_step_end(self, _args: Any, state: Any, control: Any, **_named: Any) -> Any:
        """Do what the calendar asks for; the optimiser has stepped and nothing is outstanding."""
        tokens, self._tokens = self._tokens, 0
        self._position_tokens += tokens
        state.stateful_callbacks[_KEPT] = {"tokens": self._position_tokens}
        if self._governor.step(tokens, self._save):
            control.should_training_stop = True
        if self._saved_step == state.global_step:
            control.should_save = False  # it is written already
        return control

    def on_train_end(self, _args: Any, _state: Any, _control: Any, **_named: Any) -> None:
        """Give the limits back."""
        self._governor.close()

    def _save(self) -> None:
        trainer = self._trainer
        trainer._save_checkpoint(trainer.model, None)  # noqa: SLF001 - its public way saves only after this callback
        trainer.callback_handler.on_save(trainer.args, trainer.state, trainer.control)
        self._saved_step = trainer.state.global_step


def follow(
    trainer: Any, governor: Governor | None = None, *, tokens_of: Callable[[Any], int] = batch_tokens
) -> Governor:
    """Let a Trainer follow its run calendar.

    Args:
        trainer: A `transformers.Trainer`, made and not yet started.
        governor: Governor to follow; one from the environment if None.
        tokens_of: Tokens of the inputs of one `training_step`.

    Returns:
        The Governor.
    """
    followed = governor or torch_governor()
    base = importlib.import_module("transformers").TrainerCallback
    callback = type("GridpaceCallback", (_Follower, base), {})(trainer, followed, tokens_of)
    trainer.add_callback(callback)
    return followed
