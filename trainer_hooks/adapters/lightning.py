"""Lightning's Trainer.

from trainer_hooks.adapters.lightning import calendar_callback, newest_checkpoint

trainer = Trainer(callbacks=[calendar_callback("checkpoints")])
trainer.fit(module, ckpt_path=newest_checkpoint("checkpoints"))
"""

from __future__ import annotations

import importlib
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer_hooks.adapters.batches import batch_tokens
from trainer_hooks.adapters.torch_ranks import torch_governor

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.governor import Governor

_STEM = "gridpace-step="
# Lightning's own handlers broadcast, save and requeue inside the signal, and end ranks at different steps.
_TAKEN = (signal.SIGTERM, signal.SIGUSR1)


class _Follower:
    """The callback; signals set a flag, and all ranks save and end after the same step."""

    def __init__(self, folder: Path, governor: Governor | None, tokens_of: Callable[[Any], int]) -> None:
        self._folder = folder
        self._governor = governor
        self._tokens_of = tokens_of
        self._tokens = self._position_tokens = 0
        self._step = 0

    def on_train_start(self, trainer: Any, _module: Any) -> None:
        """Make the Governor, now that the ranks have met, and take the signals that announce the end."""
        governor = self._governor = self._governor or torch_governor()
        self._step = trainer.global_step
        if self._step:
            governor.resume_at(self._position_tokens, step=self._step)
        for number in _TAKEN:
            try:
                theirs = signal.signal(number, signal.SIG_DFL)
            except ValueError:  # not the main thread
                return
            if not governor.install_signal_handlers((number,)):
                signal.signal(number, theirs)

    def on_train_batch_end(self, trainer: Any, _module: Any, _outputs: Any, batch: Any, _batch_idx: int) -> None:
        """Do what the calendar asks for, where the optimiser has stepped."""
        self._tokens += self._tokens_of(batch)
        if self._governor is None or trainer.global_step == self._step:
            return
        self._step = trainer.global_step
        tokens, self._tokens = self._tokens, 0
        self._position_tokens += tokens
        if self._governor.step(tokens, lambda: self._save(trainer)):
            trainer.should_stop = True

    def teardown(self, _trainer: Any, _module: Any, stage: str) -> None:
        """Give the limits back; signals get the handlers from before `fit` by Lightning itself."""
        if self._governor is not None and stage == "fit":
            self._governor.close()

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint has to hold."""
        return {"tokens": self._position_tokens}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take what a checkpoint held."""
        self._position_tokens = int(state["tokens"])

    def _save(self, trainer: Any) -> None:
        earlier = _ours(self._folder)
        path = self._folder / f"{_STEM}{trainer.global_step}.ckpt"
        trainer.save_checkpoint(path)
        for old in earlier:
            if old != path and trainer.is_global_zero:
                trainer.strategy.remove_checkpoint(old)


def calendar_callback(
    folder: str | Path, governor: Governor | None = None, *, tokens_of: Callable[[Any], int] = batch_tokens
) -> Any:
    """Make a callback that follows the run calendar.

    Args:
        folder: Where its checkpoints go; the newest is kept.
        governor: Governor to follow; one from the environment if None, made when the ranks have met.
        tokens_of: Tokens of a batch on this rank.

    Returns:
        A `lightning.pytorch.Callback`.
    """
    base = importlib.import_module("lightning.pytorch").Callback
    return type("GridpaceCallback", (_Follower, base), {})(Path(folder), governor, tokens_of)


def newest_checkpoint(folder: str | Path) -> Path | None:
    """Return the newest checkpoint of the callback, for `Trainer.fit(ckpt_path=...)`; None at the very start.

    Args:
        folder: The callback's folder.
    """
    return max(_ours(Path(folder)), key=_step_of, default=None)


def _ours(folder: Path) -> list[Path]:
    return [path for path in folder.glob(f"{_STEM}*.ckpt") if path.stem.removeprefix(_STEM).isdecimal()]


def _step_of(path: Path) -> int:
    return int(path.stem.removeprefix(_STEM))
