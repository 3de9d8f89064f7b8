"""Whether a run waits for the stages of other runs that must be done first."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from planner.evaluate.finding import instant
from planner.evaluate.record import Violation
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.evaluate.trace import RunTrace
    from planner.week import Week

KEPT_SHARE = 1e-5


def check_precedence(week: Week, seen: RunTrace, others: Mapping[str, RunTrace]) -> Iterator[Violation]:
    """Yield every stage of another run that a run does not wait for; a second of that gang and 0.001 % are forgiven.

    Args:
        week: All inputs.
        seen: The run as its windows tell it.
        others: All runs likewise, by name.
    """
    starts = [window.start for window in seen.windows if window.state != "off"]
    for after in seen.run.after:
        first = others[after.run].run
        ends = dict(
            zip((stage.name for stage in first.stages), accumulate(s.tokens for s in first.stages), strict=True)
        )
        needed = ends[after.stage] - first.tokens_done
        if not starts or needed <= 0.0:
            continue
        done_s = others[after.run].reached_s(needed - min(needed, first.fastest_tokens_per_s + KEPT_SHARE * needed))
        subject, begins = seen.run.name, min(starts)
        if done_s is None:
            yield Violation(
                "precedence",
                subject,
                begins,
                iso(begins),
                "never",
                "",
                f"run {subject} starts at {iso(begins)}, but stage {after.stage} of run {after.run}, which it waits "
                "for, is not done in the horizon",
            )
            continue
        done = instant(week, done_s)
        allowed = done + timedelta(hours=after.lag_h)
        if begins < allowed:
            lag = f" and its lag of {after.lag_h:g} h over at {iso(allowed)}" if after.lag_h else ""
            yield Violation(
                "precedence",
                subject,
                begins,
                iso(begins),
                iso(allowed),
                "",
                f"run {subject} starts at {iso(begins)}, but stage {after.stage} of run {after.run}, which it waits "
                f"for, is done at {iso(done)}{lag}",
            )
