"""The answer to something that has failed: what the block still carries runs on, slower if need be; the rest stops.

There is nothing to weigh in the first minute: physics has decided already. Runs of the block stay by priority; those
that stay are throttled alike as far as need be, which costs little of their throughput; the others are off until the
outage is over and then go on as planned. What that loses is for the next plan to make up.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import LAST, without_noise
from planner.errors import ConfigError
from planner.evaluate import evaluate
from planner.evaluate.event_limits import promised_limits
from planner.moves import no_moves
from planner.outages import derated, left_kw
from planner.respond.answer import Answer
from planner.respond.course import OFF, RUN
from planner.respond.new_calendar import carries_on, new_calendar
from planner.respond.outcome import Response, gives_way, store_gives
from planner.respond.question import Span, pose
from planner.respond.site_load import block_load, flows_of
from planner.slots import spells
from planner.timegrid import iso
from power.blocks import capacity_kw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy.typing as npt

    from planner.respond.course import Course
    from planner.respond.question import Question
    from planner.respond.site_load import BlockLoad, Flows
    from planner.week import Block, Week
    from power.flexibility import DemandResponse, Flexibility
    from power.outage import Outage
    from trainer_hooks.contract import Calendar, RunCalendar

BASELINE = "an outage has none: what is left of the block is what may be drawn"
_HALVINGS = 12
_MARGIN = 1e-6


def answer_outage(
    week: Week,
    header: Calendar,
    runs: Sequence[RunCalendar],
    outage: Outage,
    *,
    now: datetime,
    since: datetime | None = None,
    agreed: DemandResponse,
    flexibility: Mapping[str, Flexibility],
) -> tuple[Response, list[RunCalendar]]:
    """Answer an outage with what the block still carries.

    Args:
        week: The inputs that the calendar was made from, with what failed before.
        header: The calendar in force.
        runs: Its windows.
        outage: What failed.
        now: The instant of decision, UTC; nothing before it changes.
        since: When the outage was answered first, UTC, where the calendar is the one that was in force then and this is
            later word of it; None where it is the first.
        agreed: What the site has agreed to do for the grid.
        flexibility: Run -> how far it gives way to the grid; an outage does not ask.

    Returns:
        The answer, and the windows of every run in its calendar.

    Raises:
        ConfigError: The outage is over, lies outside the calendar, or names a block or CDUs that are not there; or a
            run of the week may change its pool or its count of GPUs.
    """
    no_moves("an answer to an outage", week)
    start, end = max(since or now, outage.start, week.grid.start), min(outage.end or week.grid.end, week.grid.end)
    if start >= end and since is None:
        raise ConfigError(
            f"outage {outage.name!r} asks for nothing from {iso(now)} to {iso(week.grid.end)}",
            why="it is over, or begins after the calendar",
            fix="give the end that is expected, with its offset",
        )
    seen = replace(derated(week, [outage]), issued_at=now)
    now_s, from_s, until_s = ((t - week.grid.start).total_seconds() for t in (now, start, max(start, end)))
    question = pose(
        seen,
        header,
        runs,
        now_s=now_s,
        span=Span(from_s, from_s, from_s, until_s, until_s, (from_s, until_s)),
        limits=(),
        priced=np.zeros(week.grid.n_slots, dtype=np.bool_),
        flexibility=flexibility,
        agreed=agreed,
        waits=False,
    )
    block = seen.block(outage.block)
    healthy = week.block(outage.block)
    # The week has what else failed: of two outages of one block the one that leaves less counts.
    left = np.minimum(left_kw(week, healthy, outage), capacity_kw(healthy.power, week.grid.starts, week.grid.slot))
    room_kw = left[question.pieces.slot]
    answered = _answered(question, block, room_kw)
    name = f"outage {outage.name}"
    kept = promised_limits(header)
    after, changed = new_calendar(answered, header, (name,), _digest(outage), kept)
    response = Response(
        answer=answered,
        before=header,
        after=after,
        was=evaluate(header, runs, replace(seen, issued_at=header.issued_at)),
        found=evaluate(after, changed, seen, limits=kept),
        delivered=(),
        runs=gives_way(answered),
        stores=store_gives(answered),
        baseline=BASELINE,
        notes=(f"{outage.cause} ({outage.block}).",),
        changes=not carries_on(answered),
    )
    return response, changed


def _answered(question: Question, block: Block, room_kw: npt.NDArray[np.float64]) -> Answer:
    """Return the courses that the block carries, first all of its runs, then fewer."""
    during = question.pieces.inside(question.span.begin_s, question.span.until_s)
    here = [c for c in question.courses if _is_there(question, c, block) and (c.state[during] != OFF).any()]
    keep = sorted(here, key=lambda c: (c.run.priority, -c.run.gpus, c.run.name))
    while keep and not _fits(question, block, room_kw, _changed(question, keep, here, 0.0)):
        keep.pop()
    share = 1.0
    if not _fits(question, block, room_kw, _changed(question, keep, here, 1.0)):
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            fits = _fits(question, block, room_kw, _changed(question, keep, here, middle))
            low, high = (middle, high) if fits else (low, middle)
        share = low
    courses = _changed(question, keep, here, share)
    flows, loads = {}, {}
    for one in question.week.blocks:
        touched = room_kw if one.name == block.name else None
        flows[one.name], loads[one.name] = _behind_the_meter(question, one, courses, touched)
    return Answer(question, courses, flows, loads, "optimal")


def _is_there(question: Question, course: Course, block: Block) -> bool:
    return course.option is not None and question.week.pool(course.option.pool).share_in(block.name) > 0.0


def _changed(question: Question, keep: Sequence[Course], here: Sequence[Course], share: float) -> tuple[Course, ...]:
    """Return all courses: those that stay throttled to a share of their way, those that do not off.

    Args:
        question: The outage and the calendar.
        keep: Runs of the block that stay.
        here: All of its runs.
        share: 0 at the lowest power limit, 1 as planned.
    """
    stays, gone = {c.run.name for c in keep}, {c.run.name for c in here}
    return tuple(
        _throttled(question, c, share) if c.run.name in stays else _off(question, c) if c.run.name in gone else c
        for c in question.courses
    )


def _throttled(question: Question, course: Course, share: float) -> Course:
    if course.option is None or share >= 1.0:
        return course
    inside = question.pieces.inside(question.span.begin_s, question.span.until_s) & (course.state == RUN)
    lowest_w = course.option.points[0].gpu_power_limit_w
    less_w = np.floor(lowest_w + share * (course.limit_w - lowest_w))
    limit_w = np.where(inside, np.maximum(np.minimum(less_w, course.limit_w), lowest_w), course.limit_w)
    why = tuple("throttled: outage" if changed else told for changed, told in zip(inside, course.why, strict=True))
    return replace(course, limit_w=limit_w, why=why)


def _off(question: Question, course: Course) -> Course:
    """Return a run that is off in the outage; what of its spell is left afterwards is left out if it is no use."""
    pieces = question.pieces
    gone = pieces.inside(question.span.begin_s, question.span.until_s)
    state = np.where(gone, OFF, course.state)
    for first, after in spells(state != OFF):
        length_s = float(pieces.end_s[after - 1] - pieces.start_s[first])
        if pieces.start_s[first] >= question.span.until_s and length_s <= course.run.reload_s + course.run.checkpoint_s:
            state[first:after] = OFF
    changed = state != course.state
    limit_w = np.where(state == RUN, course.limit_w, 0.0)
    why = tuple("off: outage" if off else told for off, told in zip(changed, course.why, strict=True))
    return replace(course, state=state, limit_w=limit_w, why=why)


def _fits(question: Question, block: Block, room_kw: npt.NDArray[np.float64], courses: tuple[Course, ...]) -> bool:
    """Return whether the block draws no more than is left of it at any instant of the outage."""
    flows = flows_of(question.plans[block.name])
    load = block_load(question.week, block, question.plans[block.name], flows, courses, question.pieces)
    during = question.pieces.inside(question.span.begin_s, question.span.until_s)
    drawn_kw = load.it_kw + load.plant_kw
    return bool((drawn_kw[during] <= room_kw[during] * (1.0 - _MARGIN) + LAST).all())


def _behind_the_meter(
    question: Question, block: Block, courses: tuple[Course, ...], room_kw: npt.NDArray[np.float64] | None
) -> tuple[Flows, BlockLoad]:
    """Return a block's flows and load: sources and battery give no more than it takes, and nothing where it is dark.

    Args:
        question: The outage and the calendar.
        block: The block.
        courses: Every run.
        room_kw: What is left of it per piece, kW, or None for a block that nothing happened to.
    """
    plan, pieces = question.plans[block.name], question.pieces
    flows = flows_of(plan)
    if room_kw is not None:
        during = pieces.inside(question.span.begin_s, question.span.until_s)
        dark = np.isin(np.arange(pieces.n_slots), pieces.slot[during & (room_kw <= 0.0)])
        flows = replace(
            flows,
            **{name: np.where(dark, 0.0, getattr(flows, name)) for name in ("charge_kw", "discharge_kw", "solar_kw")},
            other_kw=np.where(dark, 0.0, flows.other_kw),
        )
        load = block_load(question.week, block, plan, flows, courses, pieces)
        over_kw = np.maximum(0.0, np.minimum(0.0, np.array(plan.import_kw)) - pieces.slot_mean(load.import_kw))
        solar_kw = np.minimum(over_kw, flows.solar_kw)
        discharge_kw = np.minimum(over_kw - solar_kw, flows.discharge_kw)
        flows = replace(
            flows,
            solar_kw=without_noise(flows.solar_kw - solar_kw),
            discharge_kw=without_noise(flows.discharge_kw - discharge_kw),
        )
    return flows, block_load(question.week, block, plan, flows, courses, pieces)


def _digest(outage: Outage) -> str:
    end = None if outage.end is None else iso(outage.end)
    told = (outage.name, outage.block, iso(outage.start), end, outage.cause, outage.capacity_kw, outage.cdus_out)
    return hashlib.sha256(repr(told).encode()).hexdigest()
