"""Import that a set of gangs needs at least, by slot: what a billed peak rules out before any power is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.cuts import Packing
from planner.optimize.matrix import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from planner.optimize.limits import BlockLimits
    from planner.optimize.model import Program
    from planner.optimize.places import OptionPlaces, Places
FINEST = 64  # units of size in the smallest gang
MOST_UNITS = 10_000  # in all gangs together
MOST_ROOMS = 8  # told apart in one register: every one costs a separation per round of cuts
HAIR = 1e-9


@dataclass(frozen=True)
class Draw:
    """What one option adds to the import in the slots of one billed peak in which it can be on, in power units.

    Args:
        slots: The slots, counted from the peak's first, shape (S,).
        on: Place of its on-column, shape (S,).
        lower: Places of the shares of all points but the highest, shape (S, K - 1).
        top: Added at the highest point, shape (S,).
        saved: What each other point takes less, shape (S, K - 1).
    """

    slots: npt.NDArray[np.int64]
    on: npt.NDArray[np.int64]
    lower: npt.NDArray[np.int64]
    top: npt.NDArray[np.float64]
    saved: npt.NDArray[np.float64]

    def rows(self, room: npt.NDArray[np.float64]) -> list[Row]:
        """Return that it takes no more than `room`, shape (T,), while it is on, in the slots in which it could."""
        rows = []
        for i in np.flatnonzero(self.top > room[self.slots] + HAIR):
            left = max(0.0, float(room[self.slots[i]]))
            values = np.append(self.top[i] - left, -self.saved[i]) / self.top[i]
            rows.append(Row("peak", np.append(self.on[i], self.lower[i]), values, 0.0))
        return rows


@dataclass(frozen=True)
class Skyline:
    """The slots of one billed peak: gangs on together raise it to at least `base + step * (sum of their sizes)`.

    Args:
        column: Place of its rise above the demand that is owed.
        draws: What each option adds, by its power.
        columns: On-column of every option in every slot, -1 where it cannot be on, shape (S, G).
        sizes: What each option takes at its lowest power, in units, shape (G,).
        base: Rise with every gang off, power units, shape (S,).
        step: Rise per unit of size, power units, shape (S,).
    """

    column: int
    draws: tuple[Draw, ...]
    columns: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    base: npt.NDArray[np.float64]
    step: npt.NDArray[np.float64]

    @cached_property
    def sums(self) -> npt.NDArray[np.int64]:
        """Sizes that sets of options can have, rising, shape (Q,)."""
        reached = np.zeros(int(self.sizes.sum()) + 1, dtype=bool)
        reached[0] = True
        for size in self.sizes:
            reached[size:] = reached[size:] | reached[: len(reached) - size]
        return np.flatnonzero(reached)

    @cached_property
    def levels(self) -> npt.NDArray[np.float64]:
        """Heights of the rise at which one more set fits in some slot, rising."""
        open_size = ((self.columns >= 0) * self.sizes).sum(axis=1)
        heights = [b + s * self.sums[self.sums <= o] for b, s, o in zip(self.base, self.step, open_size, strict=True)]
        return np.unique(np.round(np.concatenate(heights), 9))

    def throttles(self, rise: float) -> list[Row]:
        """Return the power that each gang may take on its own if the rise is at most `rise`."""
        return [row for draw in self.draws for row in draw.rows(rise - self.base)]

    def packings(self, rise: float) -> list[Packing]:
        """Return what may be on together in each slot if the rise is at most `rise`, of those that may be on at all."""
        room = self._room(rise)
        columns = np.where(self.sizes > room[:, None], -1, self.columns)
        fits = self.sums[np.searchsorted(self.sums, room, side="right") - 1]
        crowded = ((columns >= 0) * self.sizes).sum(axis=1) > fits
        found = []
        for group in np.array_split(np.unique(fits[crowded]), MOST_ROOMS):
            if group.size:
                # the largest room of a group holds for all of it
                moments = np.unique(columns[crowded & np.isin(fits, group)], axis=0)
                found.append(Packing("peak", self.sizes, int(group[-1]), moments))
        return found

    def _room(self, rise: float) -> npt.NDArray[np.float64]:
        return np.maximum(np.floor((rise - self.base) / self.step + HAIR), 0.0)


def skylines(program: Program, places: Places) -> tuple[Skyline, ...]:
    """Return the skyline of every billed peak, in the order of `Week.demand_registers`.

    None where a lowest power is below the idle power, where a pool spans blocks, nor where demand is the mean over
    several slots: a slot may then rise above a peak that its interval stays below.
    """
    week = program.week
    registers = week.demand_registers
    if not registers or not all(register.by_slot for register in registers):
        return ()
    options = [
        (option.gpus, option, place)
        for gang, at in zip(program.gangs, places.gangs, strict=True)
        for option, place in zip(gang.options, at, strict=True)
    ]
    if not options or any(option.pool.block_share for _, option, _ in options):
        return ()
    columns = np.full((week.grid.n_slots, len(options)), -1, dtype=np.int64)
    added_kw = np.zeros((week.grid.n_slots, len(options)))
    limits = {block.limits.block.name: block.limits for block in program.blocks}
    in_block = {name: np.zeros(week.grid.n_slots) for name in limits}
    for i, (gpus, option, place) in enumerate(options):
        name = option.pool.block
        columns[place.slots, i] = place.on_of_row
        added_kw[:, i] = limits[name].added_kw(gpus, option.points[0].it_w_per_gpu, option.pool.gpu.idle_w_per_gpu)
        in_block[name] += np.where(columns[:, i] >= 0, added_kw[:, i], 0.0)
    slope, base_kw = _underestimate(program, in_block)
    step = 1.0 + slope[options[0][1].pool.block]
    for i, (_, option, _) in enumerate(options):
        added_kw[:, i] *= (1.0 + slope[option.pool.block]) / step
    found = []
    for register, column in zip(registers, places.peaks, strict=True):
        mine = register.interval >= 0
        draws = tuple(
            _draw(
                place,
                limits[option.pool.block],
                option.pool.gpu.idle_w_per_gpu,
                slope[option.pool.block],
                mine,
                program.power_kw,
            )
            for _, option, place in options
        )
        least_kw = added_kw[mine].min(axis=0)
        if not (least_kw > 0).all():
            return ()
        unit_kw = max(float(least_kw.min()) / FINEST, float(least_kw.sum()) / MOST_UNITS)
        found.append(
            Skyline(
                column=int(column),
                draws=draws,
                columns=columns[mine],
                sizes=np.floor(least_kw / unit_kw + HAIR).astype(np.int64),
                base=(base_kw[mine] - register.owed_kw) / program.power_kw,
                step=step[mine] * unit_kw / program.power_kw,
            )
        )
    return tuple(found)


def _draw(
    place: OptionPlaces,
    limits: BlockLimits,
    idle_w: float,
    slope: npt.NDArray[np.float64],
    mine: npt.NDArray[np.bool_],
    power_kw: float,
) -> Draw:
    """Return what an option adds in the slots of a register, cooling included."""
    rows = np.flatnonzero(mine[place.slots])
    slots = place.slots[rows]
    import_per_it = (1.0 + slope[slots]) / power_kw
    saved_kw = place.gpus * (place.it_w[-1] - place.it_w[:-1]) / 1000.0
    return Draw(
        slots=(np.cumsum(mine) - 1)[slots],
        on=place.on_of_row[rows],
        lower=place.lower[rows],
        top=limits.added_kw(place.gpus, float(place.it_w[-1]), idle_w)[slots] * import_per_it,
        saved=saved_kw * import_per_it[:, None],
    )


def _underestimate(
    program: Program, added_kw: Mapping[str, npt.NDArray[np.float64]]
) -> tuple[dict[str, npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
    """Return a slope of cooling per block and the import with idle GPUs only, both by one segment of each curve.

    Any segment bounds the cooling from below. The one taken is exact where all gangs are on, as near the peak.
    """
    slopes, base_kw = {}, np.zeros(program.week.grid.n_slots)
    slots = np.arange(program.week.grid.n_slots)
    for block in program.blocks:
        limits, envelope = block.limits, block.limits.envelope
        near_kw = np.minimum(limits.idle_kw + added_kw[limits.block.name], limits.it_max_kw)
        s = (envelope.slope * near_kw[:, None] + envelope.intercept_kw).argmax(axis=1)
        slope, other_kw = envelope.slope[slots, s], limits.other_kw
        if limits.cold is not None:
            other_kw = other_kw + limits.cold.relief_kw
        base_kw += (1.0 + slope) * limits.idle_kw + envelope.intercept_kw[slots, s] - other_kw
        slopes[limits.block.name] = slope
    return slopes, base_kw
