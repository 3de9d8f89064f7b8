"""What an answer comes to: what is delivered, which runs give way and how, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.respond.course import HOLD, OFF, RUN, gang_kw, throughput, tokens, useful_s
from planner.respond.site_load import flows_of

if TYPE_CHECKING:
    from datetime import datetime

    import numpy.typing as npt

    from planner.evaluate import Evaluation
    from planner.respond.answer import Answer
    from planner.respond.course import Course
    from power.events import ImportLimit
    from trainer_hooks.contract import Calendar

UNCHANGED = 1e-5


@dataclass(frozen=True)
class Delivered:
    """One stretch of an event.

    Args:
        start: First instant at which the limit is promised, UTC.
        end: First instant after it, UTC.
        block: Block, or None for the site.
        limit_kw: Most import asked for, kW.
        baseline_kw: Import without the event, mean, kW.
        import_kw: Import with the answer, mean, kW.
        highest_kw: The same at its highest instant, kW.
    """

    start: datetime
    end: datetime
    block: str | None
    limit_kw: float
    baseline_kw: float
    import_kw: float
    highest_kw: float

    @property
    def delivered_kw(self) -> float:
        """What is delivered against the baseline, mean, kW."""
        return self.baseline_kw - self.import_kw


@dataclass(frozen=True)
class GivesWay:
    """What one run does about an event.

    Args:
        run: Its name.
        tier: 1 (least flexible) to 3.
        max_loss_share: Most of its throughput that it may lose over the event.
        does: throttles, holds, stops, starts later, makes up or goes on.
        lowest_limit_w: Lowest GPU power limit in the event, W, or None where it does not run in it.
        hold_s: Time for which it waits with its GPUs held, s.
        kept_share: Throughput kept over the event; 1 where it was not to run in it.
        tokens_lost: Tokens fewer in the event.
        tokens_made_up: Tokens more afterwards, by the end of the horizon.
        relieved_kw: Power less in the event, mean, kW of IT.
    """

    run: str
    tier: int
    max_loss_share: float
    does: str
    lowest_limit_w: float | None
    hold_s: float
    kept_share: float
    tokens_lost: float
    tokens_made_up: float
    relieved_kw: float


@dataclass(frozen=True)
class StoreGives:
    """What one block's battery does about an event.

    Args:
        block: Name of the block.
        relieved_kw: Power given more, or taken less, than planned in the event, mean, kW.
    """

    block: str
    relieved_kw: float


@dataclass(frozen=True)
class Response:
    """An answer with its calendar and the judge's word on it.

    Args:
        answer: The decisions.
        before: The calendar in force.
        after: The calendar of the answer.
        was: The judge's figures on the calendar in force.
        found: The judge's figures on the answer.
        delivered: By stretch of the event.
        runs: By run, in the week's order.
        stores: By block with a battery.
        baseline: How the baseline was made, for people.
        notes: Sentences that every output must show.
        changes: Whether the answer differs from the calendar in force.
    """

    answer: Answer
    before: Calendar
    after: Calendar
    was: Evaluation
    found: Evaluation
    delivered: tuple[Delivered, ...]
    runs: tuple[GivesWay, ...]
    stores: tuple[StoreGives, ...]
    baseline: str
    notes: tuple[str, ...]
    changes: bool

    @property
    def cost(self) -> float:
        """Money more that is really paid (`planner.evaluate.record.CostTerms.paid`)."""
        return self.found.terms.paid - self.was.terms.paid

    @property
    def lateness(self) -> float:
        """What work missing at deadlines costs more, at the plan's price."""
        return self.found.terms.lateness - self.was.terms.lateness

    @property
    def kept_share(self) -> float:
        """Throughput that the runs keep over the event, mean over their GPUs; the way in and out counts as lost."""
        courses = list(zip(self.answer.question.courses, self.answer.courses, strict=True))
        planned = sum(before.run.gpus * _planned_s(self.answer, before) for before, _ in courses)
        lost = sum(before.run.gpus * _lost_s(self.answer, before, after) for before, after in courses)
        return 1.0 - lost / planned if planned else 1.0


def _planned_s(answer: Answer, before: Course) -> float:
    """Return the seconds at full speed that make what a run was to make in the event."""
    question = answer.question
    inside = question.pieces.inside(question.span.met_s, question.span.until_s)
    return float((throughput(before) * useful_s(before, question.pieces))[inside].sum())


def _lost_s(answer: Answer, before: Course, after: Course) -> float:
    """Return the seconds at full speed that a run makes less from the first change for the event to the last."""
    question = answer.question
    pieces = question.pieces
    changed = pieces.inside(question.span.begin_s, question.span.end_s)
    was, now = (throughput(c) * useful_s(c, pieces) for c in (before, after))
    return float((was - now)[changed].sum())


def delivered(answer: Answer, baseline_kw: dict[str | None, npt.NDArray[np.float64]]) -> tuple[Delivered, ...]:
    """Return what is delivered in each stretch of the event.

    Args:
        answer: The decisions.
        baseline_kw: Block, or None for the site -> import without the event per slot, kW, shape (T,).
    """
    return tuple(_delivered(answer, limit, baseline_kw[limit.block]) for limit in answer.question.limits)


def _delivered(answer: Answer, limit: ImportLimit, baseline_kw: npt.NDArray[np.float64]) -> Delivered:
    question = answer.question
    from_s, until_s = question.seconds(limit)
    from_s = min(from_s, until_s - 1.0)
    here = question.pieces.inside(from_s, until_s)
    length, slots = question.pieces.length_s[here], question.pieces.slot[here]
    imported = answer.import_kw(limit.block)[here]
    return Delivered(
        start=question.week.grid.start + timedelta(seconds=from_s),
        end=limit.end,
        block=limit.block,
        limit_kw=limit.limit_kw,
        baseline_kw=float(np.average(baseline_kw[slots], weights=length)),
        import_kw=float(np.average(imported, weights=length)),
        highest_kw=float(imported.max()),
    )


def store_gives(answer: Answer) -> tuple[StoreGives, ...]:
    """Return what every battery does."""
    question = answer.question
    pieces = question.pieces
    inside = pieces.inside(question.span.met_s, question.span.until_s)
    length = pieces.length_s[inside]
    found = []
    for block in question.week.blocks:
        if block.battery is None or not length.size:
            continue
        was, now = flows_of(question.plans[block.name]), answer.flows[block.name]
        given_kw = (now.discharge_kw - now.charge_kw - was.discharge_kw + was.charge_kw)[pieces.slot[inside]]
        found.append(StoreGives(block.name, float(np.average(given_kw, weights=length))))
    return tuple(found)


def gives_way(answer: Answer) -> tuple[GivesWay, ...]:
    """Return what every run does."""
    return tuple(
        _gives_way(answer, before, after) for before, after in zip(answer.question.courses, answer.courses, strict=True)
    )


def _gives_way(answer: Answer, before: Course, after: Course) -> GivesWay:
    question = answer.question
    pieces, span, run = question.pieces, question.span, before.run
    inside = pieces.inside(span.met_s, span.until_s)
    changed = pieces.inside(span.begin_s, span.end_s)
    length = pieces.length_s
    planned = _planned_s(answer, before)
    made = tokens(after, pieces) - tokens(before, pieces)
    lost = -float(made[changed].sum())
    relieved = (gang_kw(question.week, before) - gang_kw(question.week, after)) * length
    running = inside & (after.state == RUN)
    wait_s = float(length[changed & (after.state == HOLD)].sum())
    flexible = question.flexibility[run.name]
    return GivesWay(
        run=run.name,
        tier=flexible.tier,
        max_loss_share=flexible.max_loss_share,
        does=_does(before, after, changed, wait_s, float(made[~changed].sum())),
        lowest_limit_w=float(after.limit_w[running].min()) if running.any() else None,
        hold_s=wait_s,
        kept_share=1.0 - _lost_s(answer, before, after) / planned if planned > 0.0 else 1.0,
        tokens_lost=max(0.0, lost),
        tokens_made_up=max(0.0, float(made[~changed].sum())),
        relieved_kw=float(relieved[inside].sum() / length[inside].sum()) if inside.any() else 0.0,
    )


def _does(before: Course, after: Course, changed: npt.NDArray[np.bool_], wait_s: float, later: float) -> str:
    off = np.flatnonzero(changed & (before.state != OFF) & (after.state == OFF))
    if off.size:
        return "stops" if off[0] > 0 and before.state[off[0] - 1] != OFF else "starts later"
    if wait_s > 0.0:
        return "holds"
    if (np.abs(throughput(before) - throughput(after))[changed] > UNCHANGED).any():
        return "throttles"
    return "makes up" if later > 1.0 else "goes on"
