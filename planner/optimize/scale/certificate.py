"""What no plan can cost less than: the site alone, selling power and GPUs at prices, and every gang alone, buying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.optimize.scale.goals import water_worth
from planner.optimize.scale.responses import respond, slot_prices
from planner.optimize.scale.rows import Rows
from planner.optimize.scale.site import add_site, power_unit_kw

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.optimize.scale.crowd import Crowd

    Floats = npt.NDArray[np.float64]


class Certificate:
    """The Lagrangian bound of a week (Geoffrion 1974); any prices give a valid one.

    Args:
        crowd: All gangs.
    """

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._unit_kw = power_unit_kw(crowd.week)
        rows = Rows()
        self._site = add_site(rows, crowd.week, crowd.limits, self._unit_kw, free_it=True)
        self._it = np.concatenate([part.it for part in self._site.blocks if part.it is not None])
        self._idle_kw = np.concatenate([one.idle_kw for one in crowd.limits])
        slot_h = crowd.week.grid.slot_h
        self._water = np.concatenate([water_worth(crowd.week, one) * slot_h for one in crowd.limits])
        # the rows that tie IT power to gangs are what is priced: here they say nothing
        ties = np.concatenate([part.it_rows for part in self._site.blocks])
        self._model = rows.model()
        self._model.side_rows(ties, np.full(len(ties), -np.inf), np.full(len(ties), np.inf))

    def bound(self, it_price: Floats, gpu_price: Floats, seconds: float) -> float:
        """Return the bound at prices, money; -inf if there was no time.

        Args:
            it_price: Money per kW of IT power in a slot, per block, shape (blocks, T).
            gpu_price: Money per GPU in a slot, per pool, shape (P, T), at least 0.
            seconds: Time limit of the site's program, s.
        """
        self._model.price_columns(self._it, self._water - it_price.ravel())
        site = self._model.run(seconds)
        if site is None:
            return -np.inf
        money = site.objective * self._unit_kw + float(it_price.ravel() @ self._idle_kw)
        money -= float((gpu_price * self._crowd.in_service).sum())
        return money + float(self._gangs(it_price, gpu_price).sum())

    def _gangs(self, it_price: Floats, gpu_price: Floats) -> Floats:
        """Return the least that each run can cost at prices, money, shape (N,)."""
        crowd = self._crowd
        dues, price = crowd.dues, slot_prices(crowd, it_price, gpu_price)
        days = np.isfinite(dues.marks).sum(axis=2)
        gpus = np.array([run.gpus for run in crowd.week.runs], dtype=np.float64)
        off = (days * dues.work_h).sum(axis=1) * dues.price * gpus
        reached = np.full(len(gpus), np.inf)
        for rank in crowd.ranks:
            np.minimum.at(reached, rank.run, respond(crowd, rank, price, trace=False).least)
        return np.asarray(np.where(np.isfinite(reached), np.minimum(off, reached), off))
