"""What held a GPU back: our limit, its heat, or the power brake of its server."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class HeldBack:
    """Time for which a GPU's clock was held down, by cause; causes may hold at the same time.

    Attributes:
        limit_s: By the power limit, s; None where the board does not count it, as for the others.
        heat_s: By software, to keep GPU and memory below their highest operating temperature, s.
        slowdown_s: By hardware, because the GPU was too hot: clocks are halved or worse, s.
        brake_s: By hardware, because something outside pulled the power brake: clocks are halved or worse, s.
    """

    limit_s: float | None
    heat_s: float | None
    slowdown_s: float | None
    brake_s: float | None

    def since(self, earlier: HeldBack) -> HeldBack:
        """Return the time held back after an earlier reading.

        Args:
            earlier: The reading of before; a counter that ran backwards was reset with the driver, and what it shows
                now is what came since.

        Returns:
            The difference; None where one of the two is None.
        """
        return HeldBack(*(_rise(getattr(earlier, field.name), getattr(self, field.name)) for field in fields(HeldBack)))

    def cause(self, duration_s: float, share: float = 0.05) -> str | None:
        """Say what mattered most over a stretch of time.

        Args:
            duration_s: Length of the stretch this is the difference over, s.
            share: Share of it below which a cause does not count, 0 to 1.

        Returns:
            `brake`, `heat` or `limit`; None if nothing held the GPU back. Causes in hardware come before those in
            software, and both before the limit: where heat holds a GPU, its limit is not what it misses its plan by.
        """
        hot_s = max(self.heat_s or 0.0, self.slowdown_s or 0.0)
        causes = (("brake", self.brake_s or 0.0), ("heat", hot_s), ("limit", self.limit_s or 0.0))
        least_s = max(share * duration_s, 0.0)
        return next((name for name, held_s in causes if held_s > least_s), None)


def _rise(before_s: float | None, now_s: float | None) -> float | None:
    if before_s is None or now_s is None:
        return None
    return now_s - before_s if now_s >= before_s else now_s
