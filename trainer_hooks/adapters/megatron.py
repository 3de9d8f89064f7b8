"""Megatron-LM, at the end of each iteration, where it decides itself whether to save and to exit.

from trainer_hooks.adapters.megatron import follow

follow()          # before megatron.training.pretrain(...)
pretrain(...)

Megatron's own exit signal (`--exit-signal-handler`) stays as it is: it gathers the signals of all ranks in every
iteration, saves and ends. `gridpace-run` ends a Megatron that must not be changed through it.
"""

from __future__ import annotations

import importlib
import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

from trainer_hooks.adapters.torch_ranks import torch_governor
from trainer_hooks.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.governor import Governor

_DECIDES, _SAVES = "checkpoint_and_decide_exit", "save_checkpoint_and_time"


def follow(governor: Governor | None = None, training: Any = None) -> None:
    """Let Megatron-LM follow its run calendar.

    Args:
        governor: Governor to follow; one from the environment if None, made in the first iteration.
        training: The module `megatron.training.training`; imported if None.

    Raises:
        SettingError: It is not of the shape that is known: a function that decides, and one that saves.
    """
    module = training or importlib.import_module("megatron.training.training")
    decides, saves = getattr(module, _DECIDES, None), getattr(module, _SAVES, None)
    if decides is None or saves is None or "iteration" not in inspect.signature(decides).parameters:
        raise SettingError(
            "megatron.training.training",
            f"it has no {_DECIDES}(..., iteration, ...) beside {_SAVES}.",
            "Call Governor.step after each iteration yourself, or use gridpace-run with --exit-signal-handler.",
        )
    setattr(module, _DECIDES, _follower(module, decides, governor))


def _follower(module: Any, decides: Callable[..., bool], given: Governor | None) -> Callable[..., bool]:
    governors = [given] if given else []
    samples: list[int] = []
    signature = inspect.signature(decides)

    @wraps(decides)
    def checkpoint_and_decide_exit(*positional: Any, **named: Any) -> bool:
        if decides(*positional, **named):
            return True
        values = signature.bind(*positional, **named).arguments
        settings = module.get_args()
        if not governors:
            governors.append(torch_governor())
        consumed = settings.consumed_train_samples
        if not samples:
            before = consumed - settings.global_batch_size
            samples.append(before)
            if before:
                governors[0].resume_at(_tokens(before, settings), step=values["iteration"] - 1)
        tokens = _tokens(consumed - samples[-1], settings)
        samples[:] = [consumed]
        save = (lambda: _save(module, values)) if settings.save else None
        return governors[0].step(tokens, save)

    return checkpoint_and_decide_exit


def _tokens(samples: int, settings: Any) -> int:
    """Count the tokens of all ranks on the first, because ranks of one model replica share theirs."""
    return int(samples * settings.seq_length) if settings.rank == 0 else 0


def _save(module: Any, values: dict[str, Any]) -> None:
    saves = getattr(module, _SAVES)
    known = inspect.signature(saves).parameters
    saves(**{name: value for name, value in values.items() if name in known})
    if getattr(module.get_args(), "async_save", False):
        # A pause follows: what is on its way to the disk has to be there first.
        module.maybe_finalize_async_save(blocking=True)
