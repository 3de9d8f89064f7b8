"""Tokens trained, those that a rollback made worthless, and the joules that went into these."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

# Beyond this many stretches the older half is kept half as finely: a week of minutes is ten thousand.
_FINEST = 4096


class _Stretch(NamedTuple):
    end_tokens: int
    tokens: int
    energy_j: float


class WorkLedger:
    """What it took to come to each position of a training, so that lost work can be priced.

    Args:
        position_tokens: Where the ledger begins, tokens since the training's very beginning.
    """

    def __init__(self, position_tokens: int = 0) -> None:
        self.position_tokens = position_tokens
        self._stretches: list[_Stretch] = []

    def add(self, tokens: int, energy_j: float) -> None:
        """Enter work.

        Args:
            tokens: Tokens trained.
            energy_j: Joules that went into them.
        """
        self.position_tokens += tokens
        if tokens:
            self._stretches.append(_Stretch(self.position_tokens, tokens, energy_j))
        if len(self._stretches) > _FINEST:
            older, newer = self._stretches[: _FINEST // 2], self._stretches[_FINEST // 2 :]
            pairs = zip(older[::2], older[1::2], strict=True)
            self._stretches = [
                _Stretch(b.end_tokens, a.tokens + b.tokens, a.energy_j + b.energy_j) for a, b in pairs
            ] + newer

    def rollback(self, to_tokens: int) -> float:
        """Go back to an earlier position.

        Args:
            to_tokens: Position, tokens since the training's very beginning.

        Returns:
            Joules that went into the work beyond it, as far as the ledger reaches back.
        """
        lost_j = 0.0
        self.position_tokens = min(self.position_tokens, to_tokens)
        while self._stretches and self._stretches[-1].end_tokens > to_tokens:
            last = self._stretches.pop()
            kept = last.tokens - (last.end_tokens - to_tokens)
            if kept <= 0:
                lost_j += last.energy_j
                continue
            kept_j = last.energy_j * kept / last.tokens
            lost_j += last.energy_j - kept_j
            self._stretches.append(_Stretch(to_tokens, kept, kept_j))
        return lost_j


class TokenMeter:
    """Counts tokens trained, and takes out those that a rollback made worthless.

    Args:
        earlier: Tells what earlier processes of this training did; asked where `resume_at` says that this one goes on
            from them. None where nothing is kept of them.
    """

    def __init__(self, earlier: Callable[[], WorkLedger] | None = None) -> None:
        self._earlier = earlier
        self._ledger = WorkLedger()
        self.start_tokens = self.position_tokens = self.tokens = 0
        self._lost_before_j = 0.0
        # What happened since joules were last given: tokens trained, or the position that was gone back to.
        self._events: list[tuple[int, int | None]] = []

    @property
    def useful_tokens(self) -> int:
        """Tokens trained by this process that are still in the training's state, less those of earlier ones it lost."""
        return self.position_tokens - self.start_tokens

    def add(self, tokens: int) -> None:
        """Count tokens just trained.

        Raises:
            ValueError: Tokens are negative.
        """
        if tokens < 0:
            raise ValueError(f"Tokens of a step cannot be {tokens}; report a rollback with rollback().")
        if not tokens:
            return
        self.tokens += tokens
        self.position_tokens += tokens
        if self._events and self._events[-1][1] is None:
            tokens += self._events.pop()[0]
        self._events.append((tokens, None))

    def resume_at(self, position_tokens: int) -> None:
        """Say where the training stands after loading a state, before the first step.

        What an earlier process is known to have counted beyond it is taken back; what it is not known to have counted
        is not credited.

        Raises:
            ValueError: Tokens were counted already, or the position is negative.
        """
        if self.tokens or position_tokens < 0:
            raise ValueError(
                f"The start cannot be set to {position_tokens} tokens after {self.tokens} were counted; "
                "it is set once, before the first step."
            )
        lost = 0
        if self._earlier is not None:
            self._ledger = self._earlier()
            lost = max(self._ledger.position_tokens - position_tokens, 0)
            self._lost_before_j = self._ledger.rollback(position_tokens)
        self._ledger.position_tokens = self.position_tokens = position_tokens
        self.start_tokens = position_tokens + lost

    def rollback(self, to_tokens: int) -> int:
        """Go back to an earlier state of this training.

        Args:
            to_tokens: Position of the restored state, in tokens since the training's very beginning.

        Returns:
            Tokens lost.

        Raises:
            ValueError: The position lies ahead of the present one, or is negative.
        """
        if not 0 <= to_tokens <= self.position_tokens:
            raise ValueError(
                f"A rollback to {to_tokens} tokens is not possible: the training stands at {self.position_tokens}."
            )
        lost = self.position_tokens - to_tokens
        self.position_tokens = to_tokens
        self._events.append((0, to_tokens))
        return lost

    def settle(self, energy_j: float) -> float:
        """Enter the joules that training took since the last call, spread evenly over the tokens trained in it.

        Args:
            energy_j: Joules of training, J.

        Returns:
            Joules, of this stretch or earlier ones, that went into work that was lost in it.
        """
        trained = sum(tokens for tokens, _ in self._events)
        lost_j, self._lost_before_j = self._lost_before_j, 0.0
        for tokens, to_tokens in self._events:
            if to_tokens is None:
                self._ledger.add(tokens, energy_j * tokens / trained)
            else:
                lost_j += self._ledger.rollback(to_tokens)
        self._events.clear()
        return lost_j
