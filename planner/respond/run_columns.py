"""What each run may do about an event, as columns: give way, wait, stop, start later, and make up afterwards."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.precedence import needed_tokens, waits
from planner.respond.course import OFF, RUN, made_by, throughput, tokens, useful_s
from planner.slots import spells
from power.gpu import at_limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.respond.course import Course
    from planner.respond.question import Question
    from planner.respond.rows import Rows, Terms
    from planner.run import PoolOption

SAME = 1e-6
ALL_LOST = 1.0 - 1e-9
FIRST_FLEXIBLE_TIER = 2
SPARE_H = 2.0
"""A run may go on after its planned end for as long as the event lasts, and this longer."""
LOSS_SHARE = 0.01
"""Of the price of lateness: what a lost hour weighs even if it is made up, so that nothing gives way without need."""
DAY_S = 86400.0


@dataclass(frozen=True)
class Mix:
    """A run in one piece as a mix of operating points.

    Args:
        piece: The piece.
        columns: One per point, adding up to 1 where the run is on.
        it_w_per_gpu: IT power per GPU of each point, W, shape (K,).
        relative_throughput: Of each point, shape (K,).
    """

    piece: int
    columns: tuple[int, ...]
    it_w_per_gpu: npt.NDArray[np.float64]
    relative_throughput: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Absence:
    """A run that is off over some pieces in which it was to run.

    Args:
        column: 1 if so.
        pieces: The pieces.
        later: Whether it only starts later, rather than stopping and starting again.
        lost_h: Hours of tokens that stopping and starting cost.
    """

    column: int
    pieces: tuple[int, ...]
    later: bool
    lost_h: float


@dataclass(frozen=True)
class RunColumns:
    """All that one run may do.

    Args:
        course: What the calendar in force says.
        changed: Pieces of the event, each with its mix.
        raised: Later pieces in which it may run harder.
        added: Pieces after its planned end, each with its mix.
        waits: Piece -> 1 if it waits there with its GPUs held.
        absence: Being off over the event, or None where that is no choice.
    """

    course: Course
    changed: tuple[Mix, ...]
    raised: tuple[Mix, ...]
    added: tuple[Mix, ...]
    waits: Mapping[int, int]
    absence: Absence | None


def add_run(rows: Rows, question: Question, course: Course) -> RunColumns:
    """Add a run's columns and the rows that concern it alone."""
    if course.option is None:
        return RunColumns(course, (), (), (), {}, None)
    span, pieces = question.span, question.pieces
    running = course.state == RUN
    during = running & pieces.inside(span.begin_s, span.end_s)
    if not during.any():
        return RunColumns(course, (), (), (), {}, None)
    planned = throughput(course)
    waits: dict[int, int] = {}
    if question.waits and question.flexibility[course.run.name].max_loss_share > 0.0:
        # a spell begins and ends with training: what is loaded is used, and what is saved is what was made
        around = np.concatenate([[OFF], course.state, [course.state[-1]]])
        held = during & pieces.inside(span.ready_s, span.until_s) & (around[:-2] != OFF) & (around[2:] != OFF)
        waits = {int(p): rows.column(whole=True) for p in np.flatnonzero(held)}
        _wait_rows(rows, question, waits)
    absence = _absence(rows, question, course, during)
    gone = () if absence is None else absence.pieces
    changed: list[Mix] = []
    raised: list[Mix] = []
    for p in np.flatnonzero(running & (pieces.start_s >= span.begin_s)):
        if not during[p] and planned[p] > 1.0 - SAME and p not in gone:
            continue
        option = course.option
        mix = _mix(rows, int(p), option, course.limit_w[p], lower=bool(during[p]))
        one: Terms = [(c, 1.0) for c in mix.columns]
        one += [(waits[int(p)], 1.0)] if int(p) in waits else []
        one += [(absence.column, 1.0)] if absence is not None and int(p) in gone else []
        rows.row(one, 1.0, 1.0)
        (changed if during[p] else raised).append(mix)
    added = _added(rows, question, course)
    found = RunColumns(course, tuple(changed), tuple(raised), added, waits, absence)
    _ahead_rows(rows, question, found)
    _tier_row(rows, question, found)
    _work_rows(rows, question, found)
    _follower_rows(rows, question, found)
    return found


def _mix(rows: Rows, piece: int, option: PoolOption, limit_w: float | None, *, lower: bool) -> Mix:
    """Return the points from the planned one downwards, or from it upwards; all of them where nothing was planned."""
    points = [(p.it_w_per_gpu, p.relative_throughput) for p in option.points]
    if limit_w is not None:
        watts, speed = at_limit(option.points, limit_w)
        here = (float(watts), float(speed))
        beyond = [p for p in points if (p[1] < here[1] - SAME if lower else p[1] > here[1] + SAME)]
        points = sorted([*beyond, here])
    columns = tuple(rows.column() for _ in points)
    return Mix(piece, columns, np.array([w for w, _ in points]), np.array([s for _, s in points]))


def _ahead_rows(rows: Rows, question: Question, found: RunColumns) -> None:
    mixes = {mix.piece: mix for mix in found.changed}
    for before, first in question.ahead():
        if before in mixes and first in mixes:
            now, then = mixes[before], mixes[first]
            speeds = [(c, float(s)) for c, s in zip(now.columns, now.relative_throughput, strict=True)]
            speeds += [(c, -float(s)) for c, s in zip(then.columns, then.relative_throughput, strict=True)]
            rows.row(speeds, upper=0.0)


def _wait_rows(rows: Rows, question: Question, waits: Mapping[int, int]) -> None:
    """No wait is longer than the site allows: in any longer stretch some piece is no wait."""
    pieces, most_s = question.pieces, question.agreed.max_hold_s
    for first in waits:
        stretch: list[int] = []
        length_s = 0.0
        for p in sorted(q for q in waits if q >= first):
            if stretch and pieces.start_s[p] > pieces.end_s[stretch[-1]]:
                break
            stretch.append(p)
            length_s += float(pieces.length_s[p])
            if length_s > most_s:
                rows.row([(waits[q], 1.0) for q in stretch], upper=len(stretch) - 1.0)
                break


def _absence(rows: Rows, question: Question, course: Course, during: npt.NDArray[np.bool_]) -> Absence | None:
    run, span, pieces = course.run, question.span, question.pieces
    flexible = question.flexibility[run.name]
    held = spells(course.state != OFF)
    first, after = next((f, a) for f, a in held if during[f:a].any())
    start_s, end_s = float(pieces.start_s[first]), float(pieces.end_s[after - 1])
    later = start_s >= span.begin_s
    if later and flexible.tier < FIRST_FLEXIBLE_TIER:
        return None
    off_s = max(start_s, span.begin_s)
    back_s = span.until_s if later else max(span.until_s, off_s + 3600.0 * run.min_pause_h)
    resume = int(np.searchsorted(pieces.start_s, back_s - SAME))
    if resume >= after or end_s - pieces.start_s[resume] < 3600.0 * run.min_run_h:
        return None
    if not later and (
        flexible.max_loss_share < ALL_LOST
        or off_s - start_s < 3600.0 * run.min_run_h
        or off_s - run.checkpoint_s < question.now_s
        or len(held) > run.max_pauses
    ):
        return None
    gone = tuple(p for p in range(first, resume) if pieces.start_s[p] >= off_s - SAME)
    lost_h = 0.0 if later else (run.reload_s + run.checkpoint_s) / 3600.0
    return Absence(rows.column(whole=True), gone, later, lost_h)


def _added(rows: Rows, question: Question, course: Course) -> tuple[Mix, ...]:
    run, pieces, span = course.run, question.pieces, question.span
    held = spells(course.state != OFF)
    found: list[Mix] = []
    most_s = span.end_s - span.begin_s + 3600.0 * SPARE_H
    for i, (_, after) in enumerate(held):
        ends_s = float(pieces.end_s[after - 1])
        if ends_s < span.end_s or after >= len(course.state):
            continue
        next_s = float(pieces.start_s[held[i + 1][0]]) if i + 1 < len(held) else np.inf
        last_s = min(ends_s + most_s, next_s - 3600.0 * run.min_pause_h)
        before: int | None = None
        for p in range(after, len(course.state)):
            if pieces.end_s[p] > last_s or not _has_room(question, course, p):
                break
            on = rows.column(whole=True)
            if before is not None:
                rows.row([(before, 1.0), (on, -1.0)], lower=0.0)
            assert course.option is not None
            mix = _mix(rows, p, course.option, None, lower=False)
            rows.row([*((c, 1.0) for c in mix.columns), (on, -1.0)], 0.0, 0.0)
            found.append(mix)
            before = on
    return tuple(found)


def _has_room(question: Question, course: Course, piece: int) -> bool:
    """Return whether the run's pool has GPUs for it in a piece in which it was not to run."""
    assert course.option is not None
    week, slot = question.week, question.pieces.slot[piece]
    used: Counter[str] = Counter()
    for other in question.courses:
        if other.option is not None and other.state[piece] != OFF:
            used.update(week.pool(other.option.pool).draws(other.run.gpus))
    wanted = week.pool(course.option.pool).draws(course.run.gpus)
    return all(used[name] + n <= week.pool(name).gpus_in_service(week.grid)[slot] for name, n in wanted.items())


def _follower_rows(rows: Rows, question: Question, found: RunColumns) -> None:
    """Who waits for a stage of this run starts no earlier than it is done: it is done as early as need be."""
    course, pieces = found.course, question.pieces
    for other in question.courses:
        if not (other.state != OFF).any():
            continue
        starts_s = float(pieces.start_s[(other.state != OFF).argmax()])
        for after in waits(question.week, other.run):
            until_s = starts_s - 3600.0 * after.lag_h
            if after.run != course.run.name or until_s <= question.span.begin_s:
                continue
            need = min(needed_tokens(question.week, after), made_by(course, pieces, until_s))
            terms, fixed = _work_terms(question, found, until_s)
            if terms:
                per_h = 3600.0 * course.run.fastest_tokens_per_s
                rows.row([(c, v / per_h) for c, v in terms], lower=(need - fixed) / per_h - SAME)


def _work_terms(question: Question, found: RunColumns, until_s: float) -> tuple[Terms, float]:
    """Return the tokens made up to an instant: columns with tokens each, and what no column changes."""
    course, pieces = found.course, question.pieces
    assert course.option is not None
    per_s = course.run.gpus * course.option.tokens_per_gpu_s
    useful = useful_s(course, pieces)
    share = np.clip((until_s - pieces.start_s) / pieces.length_s, 0.0, 1.0)
    terms: Terms = []
    decided = np.zeros(len(useful), dtype=np.bool_)
    for mix in (*found.changed, *found.raised):
        decided[mix.piece] = True
        seconds = useful[mix.piece] * share[mix.piece]
        terms += _made(mix, per_s * seconds)
    for mix in found.added:
        terms += _made(mix, per_s * float(pieces.length_s[mix.piece] * share[mix.piece]))
    if found.absence is not None and found.absence.lost_h and until_s > pieces.start_s[found.absence.pieces[0]]:
        terms.append((found.absence.column, -per_s * 3600.0 * found.absence.lost_h))
    fixed = float((tokens(course, pieces) * share)[~decided].sum())
    return terms, fixed


def _made(mix: Mix, tokens_at_full: float) -> Terms:
    made = [(c, tokens_at_full * float(s)) for c, s in zip(mix.columns, mix.relative_throughput, strict=True)]
    return [(column, value) for column, value in made if value]


def _tier_row(rows: Rows, question: Question, found: RunColumns) -> None:
    """Over the event, with what the way in and out costs, a run keeps what its tier promises."""
    course, pieces, span = found.course, question.pieces, question.span
    useful, planned = useful_s(course, pieces), throughput(course)
    inside = pieces.inside(span.met_s, span.until_s)
    whole_h = float((useful * planned)[inside].sum()) / 3600.0
    most_lost = question.flexibility[course.run.name].max_loss_share
    if whole_h <= 0.0 or most_lost > ALL_LOST:
        return
    keep = 1.0 - most_lost
    terms: Terms = []
    before_h = 0.0
    for mix in found.changed:
        hours = float(useful[mix.piece]) / 3600.0
        terms += [(c, hours * float(s)) for c, s in zip(mix.columns, mix.relative_throughput, strict=True)]
        if not inside[mix.piece]:
            before_h += hours * float(planned[mix.piece])
    if found.absence is not None and found.absence.later:
        terms.append((found.absence.column, whole_h + before_h))
    rows.row(terms, lower=(before_h + keep * whole_h) * (1.0 - SAME))


def _work_rows(rows: Rows, question: Question, found: RunColumns) -> None:
    """What is due stays due: tokens missing then, and each further day, cost what lateness costs."""
    week, course = question.week, found.course
    run, pieces = course.run, question.pieces
    end_s = float(pieces.end_s[-1])
    per_h = 3600.0 * run.fastest_tokens_per_s
    price = week.prices.lateness_per_gpu_h * run.lateness_weight * run.gpus
    for _, deadline, due in week.due_tokens(run):
        looked_s = (deadline - week.grid.start).total_seconds()
        while looked_s <= end_s:
            need = min(due, made_by(course, pieces, looked_s))
            terms, fixed = _work_terms(question, found, looked_s)
            if looked_s > question.span.begin_s and terms:
                short = rows.column(upper=np.inf, cost=price)
                scaled = [(c, v / per_h) for c, v in terms]
                rows.row([*scaled, (short, 1.0)], lower=(need - fixed) / per_h)
            looked_s += DAY_S
    useful, planned = useful_s(course, pieces), throughput(course)
    for mix in found.changed:
        hours = float(useful[mix.piece]) / 3600.0
        for point, speed in zip(mix.columns, mix.relative_throughput, strict=True):
            rows.priced(point, LOSS_SHARE * price * hours * float(planned[mix.piece] - speed))
        absence = found.absence
        gone = absence.column if absence is not None and mix.piece in absence.pieces else None
        for column in (found.waits.get(mix.piece), gone):
            if column is not None:
                rows.priced(column, LOSS_SHARE * price * hours * float(planned[mix.piece]))
