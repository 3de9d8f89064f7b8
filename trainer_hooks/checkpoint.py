"""Whether the training's state is in a checkpoint, how long one takes, and when a failed one is tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_RETRY_S = 10.0
_RETRY_LIMIT_S = 300.0


class CheckpointTimer:
    """Calls the training's own `save` and keeps its times.

    Args:
        lead_s: How long a checkpoint takes, s, until a longer one has been timed.
        monotonic: Clock, s.
    """

    def __init__(self, lead_s: float, monotonic: Callable[[], float]) -> None:
        self.lead_s = lead_s
        self._monotonic = monotonic
        self._saved_step = 0
        self._retry_at_s = self._retry_delay_s = 0.0

    def holds(self, step: int) -> bool:
        """Whether the state after this step is in a checkpoint."""
        return self._saved_step == step

    def loaded(self, step: int) -> None:
        """Say that the state after this step was read from a checkpoint."""
        self._saved_step = step

    def wait_s(self) -> float:
        """Return how long a failed checkpoint waits for its next try, s."""
        return max(self._retry_at_s - self._monotonic(), 0.0)

    def write(self, save: Callable[[], object], step: int) -> Exception | None:
        """Write a checkpoint.

        Args:
            save: The training's callback.
            step: Steps trained so far.

        Returns:
            What the callback raised; each failure doubles the wait for the next try.
        """
        begin_s = self._monotonic()
        try:
            save()
        except Exception as error:
            self.put_off()
            return error
        self._saved_step = step
        self.lead_s = max(self.lead_s, self._monotonic() - begin_s)
        self._retry_at_s = self._retry_delay_s = 0.0
        return None

    def put_off(self) -> None:
        """Wait before the next try, twice as long as the last time; also where another rank could not save."""
        if self._retry_at_s > self._monotonic():
            return
        self._retry_delay_s = min(max(2 * self._retry_delay_s, _RETRY_S), _RETRY_LIMIT_S)
        self._retry_at_s = self._monotonic() + self._retry_delay_s
