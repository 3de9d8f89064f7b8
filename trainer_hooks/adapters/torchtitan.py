"""torchtitan's Trainer.

from torchtitan.train import Trainer, main
from trainer_hooks.adapters.torchtitan import governed

main(governed(Trainer))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainer_hooks.adapters.torch_ranks import torch_governor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trainer_hooks.governor import Governor


class _Governed:
    """Follows the calendar between two steps, where the trainer asks itself whether to go on."""

    governor: Governor | None = None
    step: int
    ntokens_seen: int
    checkpointer: Any
    _followed_step: int | None = None
    _followed_tokens: int = 0

    def should_continue_training(self) -> bool:
        """Whether there are steps left and the calendar leaves the GPUs to this run."""
        if self._followed_step is None:
            self.governor = self.governor or torch_governor()
            if self.step:
                self.governor.resume_at(self.ntokens_seen, step=self.step)
        elif self.step != self._followed_step and self.governor is not None:
            saver = self.checkpointer
            can_save = saver.enable and not saver.load_only
            if self.governor.step(self.ntokens_seen - self._followed_tokens, self._save if can_save else None):
                return False
        self._followed_step, self._followed_tokens = self.step, self.ntokens_seen
        goes_on: bool = super().should_continue_training()  # type: ignore[misc]
        return goes_on

    def batch_generator(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Hand on batches, and time the wait for each."""
        made: Iterator[Any] = super().batch_generator(self._watched(batches))  # type: ignore[misc]
        return made

    def _watched(self, batches: Iterable[Any]) -> Iterator[Any]:
        # Begun when the first step asks for a batch, and by then there is a Governor.
        assert self.governor is not None
        yield from self.governor.watch(batches)

    def close(self) -> None:
        """Give the limits back too."""
        if self.governor is not None:
            self.governor.close()
        super().close()  # type: ignore[misc]

    def _save(self) -> None:
        saver = self.checkpointer
        if self.step % saver.interval:
            # `last_step` would force it too, but may leave the optimiser out.
            interval, saver.interval = saver.interval, 1
            try:
                saver.save(self.step)
            finally:
                saver.interval = interval
        saver.maybe_wait_for_staging()
        saver._async_wait()  # noqa: SLF001 - a pause follows: the checkpoint has to be on the disk first


def governed(trainer: type, governor: Governor | None = None) -> type:
    """Make a Trainer that follows its run calendar.

    Args:
        trainer: `torchtitan.train.Trainer`, or a subclass.
        governor: Governor to follow; one from the environment if None, made before the first step.

    Returns:
        The class.
    """
    return type(f"Governed{trainer.__name__}", (_Governed, trainer), {"governor": governor})
