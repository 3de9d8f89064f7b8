"""Neighbourhoods of a plan: free some runs or some hours, keep the rest, solve the small program again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.solver import Highs, seconds_left

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.coarse import Coarse
    from planner.optimize.places import Places

SEED = 20240513
NODES = 20
SMALLEST, LARGEST = 0.1, 0.8  # share of runs or of the horizon set free
GROW, SHRINK = 1.25, 0.8


class Neighbourhoods:
    """Draws neighbourhoods from a fixed seed; a kind grows while it is solved to its gap and shrinks when it is not."""

    def __init__(self, coarse: Coarse, places: Places) -> None:
        self._coarse, self._places = coarse, places
        self._random = np.random.default_rng(SEED)
        self._share = {"runs": 0.35, "hours": 0.4}
        runs, moments = [], []
        for r, gang in enumerate(places.gangs):
            for option in gang:
                cells = np.flatnonzero(option.on >= 0)
                runs += [r] * len(cells)
                moments.append(cells / len(option.on))
        chosen = [r for r, gang in enumerate(places.gangs) for option in gang if option.chosen >= 0]
        # a choice of pool has no hour: only freeing its run frees it
        self._run = np.array(runs + chosen)
        self._moment = np.concatenate([*moments, np.full(len(chosen), -np.inf)])
        self._weight = np.array([np.sqrt(gang[0].gpus) if gang else 0.0 for gang in places.gangs])
        self._turn = 0

    def step(
        self, choices: npt.NDArray[np.float64], gap: float, good_enough: float, deadline: float
    ) -> npt.NDArray[np.float64] | None:
        """Return the best choices found in the next neighbourhood of a plan.

        Args:
            choices: Values of `Places.choices`, shape (C,).
            gap: Gap at which the neighbourhood counts as searched.
            good_enough: Objective at which to stop.
            deadline: Reading of the monotonic clock at which to stop.

        Returns:
            Values of `Places.choices`, shape (C,), or None if time ran out without any.
        """
        kind = ("runs", "hours")[self._turn % 2]
        self._turn += 1
        free = self._free(kind)
        matrix, columns = self._coarse.matrix, self._coarse.choices
        lower, upper = matrix.lower.copy(), matrix.upper.copy()
        kept = np.round(choices)
        settled = Highs(matrix, whole=False)
        settled.bound_columns(columns, kept, kept)
        start = settled.run(seconds_left(deadline))
        lower[columns[~free]] = upper[columns[~free]] = kept[~free]
        highs = Highs(
            replace(matrix, lower=lower, upper=upper),
            whole=True,
            mip_rel_gap=gap,
            mip_max_nodes=NODES,
            objective_target=good_enough,
        )
        if start.values is not None:
            highs.start_from(start.values)
        answer = highs.run(seconds_left(deadline))
        factor = GROW if answer.status == "optimal" else SHRINK
        self._share[kind] = float(np.clip(self._share[kind] * factor, SMALLEST, LARGEST))
        return None if answer.values is None else np.round(answer.values[columns])

    def _free(self, kind: str) -> npt.NDArray[np.bool_]:
        share = self._share[kind]
        if kind == "runs":
            able = int(np.count_nonzero(self._weight))
            count = max(1, min(able, round(share * able)))
            picked = self._random.choice(
                len(self._weight), count, replace=False, p=self._weight / float(self._weight.sum())
            )
            return np.isin(self._run, picked)
        first = self._random.uniform(-share / 2, 1.0 - share / 2)
        return (self._moment >= first) & (self._moment < first + share)
