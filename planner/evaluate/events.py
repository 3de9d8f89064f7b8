"""Whether a calendar keeps what the grid asked for, at every instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.evaluate.finding import Spans, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.evaluate.record import Violation
    from planner.evaluate.replay import BlockReplay, Pieces
    from planner.week import Week
    from power.events import ImportLimit


def check_limits(
    week: Week, limits: Sequence[ImportLimit], seen: Sequence[BlockReplay], cut: Pieces
) -> list[Violation]:
    """Return which limits of events are broken, each told at its worst instant.

    Args:
        week: All inputs.
        limits: What was asked for.
        seen: The blocks' replays, in the week's order.
        cut: The pieces of the replay; one that has any time in common with a limit counts.
    """
    found: list[Violation] = []
    for limit in limits:
        first_s, after_s = ((t - week.grid.start).total_seconds() for t in (limit.start, limit.end))
        here = (cut.start_s < after_s) & (cut.start_s + cut.length_s > first_s)
        blocks = [b.import_kw for b in seen if limit.block in {None, b.result.block}]
        subject = "the site" if limit.block is None else f"block {limit.block}"
        found += worst(
            week,
            "event-limit",
            f"{subject} in event {limit.event}",
            np.sum(blocks, axis=0)[here],
            limit.limit_kw,
            "kW",
            "imports",
            over=Spans(cut.start_s[here], cut.length_s[here]),
        )
    return found
