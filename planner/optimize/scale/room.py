"""Room for a late run: others that are less pressed give way and find other places, if all of it is better so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.lateness import late_money
from planner.optimize.scale.pauses import paused
from planner.optimize.scale.powers import powered

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.assign import Assignment
    from planner.optimize.scale.crowd import Crowd, Rank
    from planner.optimize.scale.ground import Placed

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

TRIES = 4  # answers of those that gave way
MOST_MOVED = 24  # runs that give way to one
CROWDED = 0.5  # of a mean cell's price: what one without room costs beside its own
HAIR = 1e-9


def make_room(crowd: Crowd, assigned: Assignment, late: Ints) -> int:
    """Move others out of the way of late runs, one after another; return for how many that was better.

    Args:
        crowd: All gangs.
        assigned: Their places.
        late: Late runs, the dearest first.
    """
    return sum(_make_room(crowd, assigned, run) for run in late.tolist())


def _make_room(crowd: Crowd, assigned: Assignment, run: int) -> bool:
    old = assigned.places[run]
    alone = assigned.cost([run])
    if old is not None:
        assigned.leave(run, old)
    found = _wanted(crowd, assigned, run, late_money(crowd, run, old))
    moved = None if found is None else _in_the_way(crowd, assigned, found)
    if found is None or moved is None:
        if old is not None:
            assigned.take(run, old)
        return False
    before = {run: old} | {other: assigned.places[other] for other in moved}
    # the way to the aim is in both costs of one run and of all: it counts once
    cost = alone + assigned.cost(moved) - assigned.cost([])
    for other in moved:
        placed = before[other]
        assert placed is not None
        assigned.leave(other, placed)
    if assigned.ground.fits(found):
        assigned.take(run, found)
        tight = assigned.tight[moved] * np.array([crowd.week.runs[other].gpus for other in moved])
        assigned.place_all(np.array(moved, dtype=np.int64)[np.argsort(-tight, kind="stable")], TRIES)
        if assigned.cost(before) < cost - HAIR and assigned.sound(before):
            return True
    assigned.restore(before)
    return False


def _wanted(crowd: Crowd, assigned: Assignment, run: int, late: float) -> Placed | None:
    """Return the place that a run would take if what has no room were only dearer, or None if it is as late there."""
    price = assigned.price()
    best: tuple[float, Rank, Flags] | None = None
    for g, row in assigned.rows[run]:
        rank = crowd.ranks[g].only(np.array([row]))
        beside = assigned.beside(rank, price, assigned.ground.open_cells(rank), CROWDED)
        answer = paused(crowd, rank, price, assigned.open(rank), beside)
        if answer.on[0].any() and (best is None or float(answer.least[0]) < best[0]):
            best = float(answer.least[0]), rank, answer.on[0]
    if best is None:
        return None
    _, rank, on = best
    placed = powered(crowd, None, rank, on, price[int(rank.table[0])])
    return None if placed is None or late_money(crowd, run, placed) >= late - HAIR else placed


def _in_the_way(crowd: Crowd, assigned: Assignment, wanted: Placed) -> list[int] | None:
    """Return the runs that give way to a place, or None if too many would have to."""
    slots = wanted.slots
    found: dict[int, None] = {}
    kw = np.maximum(wanted.kw / wanted.gpus, HAIR)
    over = (assigned.ground.over_kw(wanted) / kw).max(axis=0)
    for pool, count in crowd.tables[wanted.table].counts(wanted.gpus):
        lacking = np.zeros(crowd.week.grid.n_slots)
        lacking[slots] = np.maximum(count - assigned.ground.free[pool, slots], over)
        moved = _freest(crowd, assigned, pool, lacking)
        if moved is None:
            return None
        found |= dict.fromkeys(moved)
    return list(found) if len(found) <= MOST_MOVED else None


def clear(crowd: Crowd, assigned: Assignment) -> Ints:
    """Take runs away until all that is placed has room and ramps hold; return them, the tightest and largest first."""
    moved: list[int] = []
    for pool in range(len(crowd.in_service)):
        tables = [i for i, table in enumerate(crowd.tables) if table.pool == pool]
        if not tables:
            continue
        kw = np.maximum(crowd.added_kw[tables, -1].max(axis=0), HAIR)
        over = np.where(crowd.added_kw[tables, -1].max(axis=0) > 0.0, assigned.ground.above_kw / kw, 0.0)
        lacking = np.maximum(-assigned.ground.free[pool], over.max(axis=0))
        gone = _freest(crowd, assigned, pool, lacking)
        for run in gone or []:
            placed = assigned.places[run]
            assert placed is not None
            assigned.leave(run, placed)
            moved.append(run)
    while (sudden := _too_sudden(assigned)) is not None:
        placed = assigned.places[sudden]
        assert placed is not None
        assigned.leave(sudden, placed)
        moved.append(sudden)
    gpus = np.array([crowd.week.runs[run].gpus for run in moved], dtype=np.float64)
    first = np.argsort(-gpus * assigned.tight[moved] ** 2, kind="stable")
    return np.asarray(np.array(moved, dtype=np.int64)[first])


def _too_sudden(assigned: Assignment) -> int | None:
    """Return the freest run that changes its power where a block moves faster than it may, or None where none does."""
    block, step, rises = assigned.ground.steepest()
    if block is None:
        return None
    found: tuple[float, int] | None = None
    for run, placed in enumerate(assigned.places):
        if placed is None:
            continue
        at = np.searchsorted(placed.slots, (step, step + 1))
        kw = [
            float(placed.kw[block, i]) if i < len(placed.slots) and placed.slots[i] == t else 0.0
            for i, t in zip(at.tolist(), (step, step + 1), strict=True)
        ]
        change_kw = kw[1] - kw[0] if rises else kw[0] - kw[1]
        score = change_kw * (1.0 - min(1.0, float(assigned.tight[run])) + HAIR)
        if change_kw > HAIR and (found is None or score > found[0]):
            found = score, run
    return None if found is None else found[1]


def _freest(crowd: Crowd, assigned: Assignment, pool: int, lacking: Floats) -> list[int] | None:
    """Return runs of a pool without which no GPUs are lacking, those freest and most in the way first; None if none do.

    Args:
        crowd: All gangs.
        assigned: Their places.
        pool: Place of the pool; runs that span it count with what they draw from it.
        lacking: GPUs lacking per slot, shape (T,).
    """
    slots = np.flatnonzero(lacking > HAIR)
    lacking = lacking[slots]
    if not slots.size:
        return []
    others, on, length, drawn = [], [], [], []
    for run, placed in enumerate(assigned.places):
        if placed is not None and crowd.drawn[placed.table, pool] > 0.0:
            here = np.zeros(crowd.week.grid.n_slots, dtype=bool)
            here[placed.slots] = True
            if here[slots].any():
                others.append(run)
                on.append(here[slots])
                length.append(len(placed.slots))
                drawn.append(crowd.drawn[placed.table, pool])
    if not others:
        return None
    gpus = np.rint([crowd.week.runs[run].gpus * share for run, share in zip(others, drawn, strict=True)])
    there, weight = np.array(on), (1.0 - np.clip(assigned.tight[others], 0.0, 1.0) + HAIR) / (gpus * np.array(length))
    moved: list[int] = []
    while (lacking > HAIR).any():
        score = (np.minimum(lacking.clip(0.0), gpus[:, None]) * there).sum(axis=1) * weight
        i = int(np.argmax(score))
        if score[i] <= 0.0:
            return None
        moved.append(others[i])
        lacking = lacking - gpus[i] * there[i]
        weight[i] = 0.0
    return moved
