"""How long a training loop waits for its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Item = TypeVar("Item")
else:
    Item = TypeVar("Item")


class LoaderWatch:
    """Sums the time that a loop spends in its loader's `next`.

    Args:
        monotonic: Clock, s.
        begun: Called once, before the first item is asked for: where the loop begins.
    """

    def __init__(self, monotonic: Callable[[], float], begun: Callable[[], None]) -> None:
        self._monotonic = monotonic
        self._begun: Callable[[], None] | None = begun
        self._waited_s = 0.0
        self.watched = False

    def watch(self, loader: Iterable[Item]) -> Iterator[Item]:
        """Hand on a loader's items, and time the wait for each.

        Args:
            loader: What the loop would go through.

        Yields:
            Its items.
        """
        self.watched = True
        begun, self._begun = self._begun, None
        if begun is not None:
            begun()
        items = iter(loader)
        while True:
            asked_s = self._monotonic()
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self._waited_s += self._monotonic() - asked_s
            yield item

    def take_s(self) -> float:
        """Return the time waited since the last call, s."""
        waited_s, self._waited_s = self._waited_s, 0.0
        return waited_s
