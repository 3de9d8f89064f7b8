"""Import, sun, wind and batteries for given IT power: the site's program with the load told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.decimals import LAST
from planner.objective import CARBON, COST, WATER
from planner.optimize.objectives import NOT_PAID
from planner.optimize.scale.battery import reserve_need_h
from planner.optimize.scale.goals import L_PER_M3
from planner.optimize.scale.rows import Rows
from planner.optimize.scale.site import add_site, power_unit_kw
from planner.schedule import BlockSchedule
from power.battery import FREE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.optimize.scale.battery import BatteryPart
    from planner.optimize.scale.crowd import Crowd
    from planner.optimize.scale.site import BlockPart
    from power.battery import Battery

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

TOLERANCE = 1e-7


@dataclass(frozen=True)
class Dispatched:
    """What the site does for a load.

    Args:
        blocks: Decisions per block.
        terms: Term of the objective -> money, lateness aside.
        cooling_kwh: Cooling energy per block by the program's curves.
        measures: Measure -> what the plan comes to in it, lateness aside.
    """

    blocks: tuple[BlockSchedule, ...]
    terms: dict[str, float]
    cooling_kwh: tuple[float, ...]
    measures: dict[str, float]

    @property
    def money(self) -> float:
        """Sum of the terms."""
        return sum(self.terms.values())


class Dispatcher:
    """The site's program for told loads, kept in HiGHS."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._unit_kw = power_unit_kw(crowd.week)
        rows = Rows()
        self._site = add_site(rows, crowd.week, crowd.limits, self._unit_kw, free_it=False)
        self._model = rows.model()

    def dispatch(self, it_kw: Floats, seconds: float) -> Dispatched | None:
        """Return the cheapest way to serve IT power per block, kW, (blocks, T), or None if there is none in time."""
        crowd, unit = self._crowd, self._unit_kw
        cooling = [one.curves.cooling_kw(kw) for one, kw in zip(crowd.limits, it_kw, strict=True)]
        for one, part, kw, cool_kw in zip(crowd.limits, self._site.blocks, it_kw, cooling, strict=True):
            load = (kw + cool_kw) / unit
            self._model.side_rows(part.balance, load, load)
            store, battery = one.block.battery, part.battery
            if store is not None and battery is not None and battery.reserve is not None:
                low = np.tile(store.min_share * store.energy_kwh / unit + reserve_need_h(store) * load, 2)
                self._model.side_rows(battery.reserve, low, np.full(len(low), np.inf))
        water_l = self._water_l(it_kw)
        per_m3 = crowd.week.prices.water_per_m3
        known = {CARBON: 0.0, COST: water_l / L_PER_M3 * per_m3, WATER: water_l}
        for cap in self._site.caps:
            most = ((cap.goal.most or 0.0) - known[cap.goal.measure]) / (cap.scale * unit)
            self._model.side_rows(cap.row, np.array([-np.inf]), np.array([most]))
        found = self._model.run(seconds)
        if found is None:
            return None
        values = found.values
        stores = [
            (part.battery, one.block.battery)
            for one, part in zip(crowd.limits, self._site.blocks, strict=True)
            if part.battery is not None and one.block.battery is not None
        ]
        while (both := _both(stores, values)).size:
            self._model.bound_columns(both, np.zeros(len(both)), np.zeros(len(both)))
            again = self._model.run(seconds)
            if again is None:
                return None
            values = again.values
        for held, limit in stores:
            for columns, most_kw in ((held.charge, limit.charge_kw), (held.discharge, limit.discharge_kw)):
                self._model.bound_columns(columns, np.zeros(len(columns)), np.full(len(columns), most_kw / unit))
        blocks = tuple(
            _schedule(one.block.name, part, values, unit, has_wind=one.block.wind is not None)
            for one, part in zip(crowd.limits, self._site.blocks, strict=True)
        )
        h = crowd.week.grid.slot_h
        terms = self._terms(values, it_kw)
        import_kw = np.sum([values[part.grid] * unit for part in self._site.blocks], axis=0)
        measures = {
            CARBON: float(crowd.week.signals.ci_gco2_per_kwh @ import_kw) / 1000.0 * h,
            COST: sum(money for name, money in terms.items() if name not in NOT_PAID),
            WATER: water_l,
        }
        return Dispatched(blocks, terms, tuple(float(c.sum()) * h for c in cooling), measures)

    def _water_l(self, it_kw: Floats) -> float:
        """Return the water that loads take, L."""
        h, limits = self._crowd.week.grid.slot_h, self._crowd.limits
        return sum(float(one.envelope.water_l_per_kwh @ kw) * h for one, kw in zip(limits, it_kw, strict=True))

    def _terms(self, values: Floats, it_kw: Floats) -> dict[str, float]:
        week, unit = self._crowd.week, self._unit_kw
        h, signals = week.grid.slot_h, week.signals
        import_kw = np.sum([values[part.grid] * unit for part in self._site.blocks], axis=0)
        terms = {
            "energy": float(week.rates().total_per_kwh @ import_kw) * h,
            "demand": sum(
                float(values[rise]) * unit * register.charge_per_kw
                for rise, register in zip(self._site.rise, week.demand_registers, strict=True)
            ),
            "carbon": float(signals.ci_gco2_per_kwh @ import_kw) * week.prices.carbon_per_t / 1e6 * h,
            "water": sum(
                float(one.envelope.water_l_per_kwh @ kw) / 1000.0 * week.prices.water_per_m3 * h
                for one, kw in zip(self._crowd.limits, it_kw, strict=True)
            ),
            "wear": 0.0,
        }
        stored = 0.0
        for one, part in zip(self._crowd.limits, self._site.blocks, strict=True):
            store, battery = one.block.battery, part.battery
            if store is not None and battery is not None:
                terms["wear"] += float(values[battery.discharge].sum()) * unit * store.wear_cost_per_kwh * h
                if store.final_rule == FREE:
                    stored -= float(values[battery.stored[-1]]) * unit * store.final_worth_per_kwh
        if stored:
            terms["stored"] = stored
        return terms


def _both(stores: Sequence[tuple[BatteryPart, Battery]], values: Floats) -> Ints:
    """Return the smaller of charge and discharge where a battery does both."""
    found = [np.zeros(0, dtype=np.int64)]
    for part, _ in stores:
        both = np.minimum(values[part.charge], values[part.discharge]) > TOLERANCE
        less = np.where(values[part.charge] > values[part.discharge], part.discharge, part.charge)
        found.append(less[both])
    return np.concatenate(found)


def _schedule(name: str, part: BlockPart, values: Floats, unit_kw: float, *, has_wind: bool) -> BlockSchedule:
    def kw(columns: Ints | None) -> Floats:
        told = np.zeros(len(part.grid)) if columns is None else values[columns] * unit_kw
        told[told < LAST] = 0.0
        told.setflags(write=False)
        return told

    battery = part.battery
    charge = kw(None if battery is None else battery.charge)
    discharge = kw(None if battery is None else battery.discharge)
    return BlockSchedule(name, kw(part.solar), charge, discharge, wind_used_kw=kw(part.wind) if has_wind else None)
