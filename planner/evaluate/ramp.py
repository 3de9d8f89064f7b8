"""Whether a block's IT power rises and falls no faster than its connection allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import Spans, worst

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.evaluate.record import Violation
    from planner.evaluate.replay import Pieces
    from planner.week import Block, Week


def check_ramp(week: Week, block: Block, it_kw: npt.NDArray[np.float64], cut: Pieces) -> list[Violation]:
    """Return where changes within one staggering window add up to more than the block's ramp allows in it.

    A window longer than a slot counts as a slot.

    Args:
        week: All inputs.
        block: The block.
        it_kw: Its IT power per piece, kW, shape (P,).
        cut: The pieces.
    """
    window_s = min(60.0 * block.power.ramp_window_min, cut.slot_s)
    found: list[Violation] = []
    if len(it_kw) < 2:
        return found
    for sign, kw_per_min, way in (
        (1.0, block.power.ramp_kw_per_min, "raises"),
        (-1.0, block.power.fall_kw_per_min, "lowers"),
    ):
        if kw_per_min is None:
            continue
        found += worst(
            week,
            "ramp",
            f"block {block.name}",
            _most_kw(sign * it_kw, cut, window_s),
            kw_per_min * block.power.ramp_window_min,
            "kW",
            f"{way} its IT power by",
            over=Spans(cut.start_s[1:], cut.length_s[1:]),
        )
    return found


def _most_kw(power_kw: npt.NDArray[np.float64], cut: Pieces, window_s: float) -> npt.NDArray[np.float64]:
    """Return the largest rise that ends at each edge and began less than a window before it, kW, shape (P - 1,)."""
    rise_kw = np.zeros(len(power_kw) - 1)
    for lag in range(1, len(power_kw)):
        near = cut.start_s[lag:] - cut.start_s[1 : len(power_kw) - lag + 1] < window_s
        if not near.any():
            break
        rise = np.where(near, power_kw[lag:] - power_kw[:-lag], 0.0)
        rise_kw[lag - 1 :] = np.maximum(rise_kw[lag - 1 :], rise)
    return rise_kw
