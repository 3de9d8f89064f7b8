"""Plans from whole schedules: one run after the other is settled on one of its on/off patterns, the largest first.

After each the program over schedules is solved again and the runs that are still free are priced once more, so that
they make room (diving over columns: Sadykov et al. 2019). A plan is ruined and recreated in the same way: some of its
runs are freed and settled anew among those that stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from planner.optimize.generation import Generation
    from planner.optimize.master import Mix

    Floats = npt.NDArray[np.float64]

SEED = 20240513
TRIED = 3  # patterns of a large run, by weight
FITTED = 8  # patterns that are tried where the best one leaves no plan
LARGE = 0.25  # of the largest run: a smaller one takes its heaviest pattern
PRICED = 2  # rounds of new schedules after each run that is settled
POWERED = 6  # rounds of new power once all patterns are settled
SURE = 0.95  # weight from which a run takes a pattern at once
SMALLEST, LARGEST = 2, 8  # runs set free at once


@dataclass(frozen=True)
class Settled:
    """A pattern for every run (run -> its choices as bytes), the objective, and all columns, shape (N,)."""

    patterns: Mapping[int, bytes]
    objective: float
    values: Floats


class Dive:
    """Settles runs over the schedules of a generation, to which it adds.

    Args:
        generation: Schedules and prices.
        sizes: GPUs of each run, shape (R,).
    """

    def __init__(self, generation: Generation, sizes: npt.NDArray[np.int64]) -> None:
        self._generation, self._sizes = generation, sizes
        self._random = np.random.default_rng(SEED)
        self._weight = np.sqrt(sizes) / float(np.sqrt(sizes).sum())

    def first(self, deadline: float) -> Settled | None:
        """Return a plan from the mix of all schedules, or None if there was none in time."""
        return self._settle({}, range(len(self._sizes)), np.inf, deadline)

    def known(self, x: Floats, deadline: float) -> Settled | None:
        """Return the plan with the choices of `x`, shape (N,), or None if its runs could not follow them."""
        patterns = self._generation.adopt(x, deadline)
        mix = None if patterns is None else self._run(patterns, deadline)
        return None if patterns is None or mix is None else Settled(patterns, mix.objective, mix.values)

    def again(self, plan: Settled, deadline: float) -> Settled | None:
        """Return a better plan in which some runs are settled anew, or None if none was found."""
        most = min(LARGEST, len(self._sizes))
        count = int(self._random.integers(min(SMALLEST, most), most + 1))
        free = self._random.choice(len(self._sizes), count, replace=False, p=self._weight).tolist()
        kept = {r: pattern for r, pattern in plan.patterns.items() if r not in free}
        return self._settle(kept, free, plan.objective, deadline)

    def _settle(self, kept: Mapping[int, bytes], free: Sequence[int], below: float, deadline: float) -> Settled | None:
        """Return a plan that costs less than `below` with some patterns kept, or None."""
        settled = dict(kept)
        left = sorted(free, key=lambda r: (-int(self._sizes[r]), r))
        mix = self._priced(settled, left, deadline)
        while mix is not None and mix.objective < below:
            if not left:
                return Settled(settled, mix.objective, mix.values)
            weights = {r: self._patterns(r, mix) for r in left}
            sure = {r: ways[0][1] for r, ways in weights.items() if ways[0][0] >= SURE}
            rest = [r for r in left if r not in sure]
            together = self._priced({**settled, **sure}, rest, deadline) if sure else None
            if together is not None:
                settled, left, mix = {**settled, **sure}, rest, together
                continue
            # runs that are sure by themselves may not fit together: the largest is settled alone
            run = left.pop(0)
            mix = self._fitted(run, [pattern for _, pattern in weights[run]], settled, left, deadline)
        return None

    def _fitted(
        self, run: int, patterns: Sequence[bytes], settled: dict[int, bytes], left: Sequence[int], deadline: float
    ) -> Mix | None:
        """Settle a run on the best of its patterns, or else on the first that leaves a mix, and return that mix."""
        best = self._best(run, patterns[:TRIED], settled, deadline)
        for pattern in (best, *(p for p in patterns[:FITTED] if p != best), patterns[-1]):
            mix = self._priced({**settled, run: pattern}, left, deadline)
            if mix is not None:
                settled[run] = pattern
                return mix
        return None

    def _best(self, run: int, patterns: Sequence[bytes], settled: Mapping[int, bytes], deadline: float) -> bytes:
        """Return the pattern with which a large run leaves the cheapest mix, else the first."""
        if self._sizes[run] < LARGE * self._sizes.max():
            return patterns[0]
        tries = [(self._run({**settled, run: pattern}, deadline), pattern) for pattern in patterns]
        solved = [(tried.objective, pattern) for tried, pattern in tries if tried is not None]
        return min(solved, default=(0.0, patterns[0]))[1]

    def _patterns(self, run: int, mix: Mix) -> list[tuple[float, bytes]]:
        """Return the weights of a run's patterns, heaviest first."""
        weight: dict[bytes, float] = {}
        for schedule, share in zip(self._generation.master.schedules, mix.weight, strict=True):
            if schedule.gang == run:
                weight[schedule.choices] = weight.get(schedule.choices, 0.0) + float(share)
        return sorted(((share, pattern) for pattern, share in weight.items()), key=lambda one: (-one[0], one[1]))

    def _priced(self, settled: Mapping[int, bytes], left: Sequence[int], deadline: float) -> Mix | None:
        """Return the mix with some runs settled, after the runs that are left were priced."""
        mix = self._run(settled, deadline)
        for _ in range(PRICED if left else POWERED):
            if mix is None or not self._generation.reprice(mix, left, settled, deadline):
                break
            mix = self._run(settled, deadline)
        return mix

    def _run(self, settled: Mapping[int, bytes], deadline: float) -> Mix | None:
        master = self._generation.master
        keeps = [settled.get(s.gang, s.choices) == s.choices for s in master.schedules]
        return master.run_within(np.array(keeps), deadline)
