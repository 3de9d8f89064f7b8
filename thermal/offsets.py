"""How a tank's flow and heat taken for reuse move a plant along its cooling curve, as constants of linear rows.

A plant whose tank is filled with f kW of cold, or spared d kW by it, and that is spared h kW by heat pumps is taken to
reject heat like one of IT power it + fill_it f - draw_it d - taken_it h without them (`thermal.split`), and to take
fill_power f + draw_power d + taken_power h beside. The racks' own flows and approaches follow the IT power alone, so
the two are not quite the same: a plant spared heat has the colder water of its higher IT power to make. The constants
are chosen per slot on the full physics so that the row promises neither less power nor a cooler loop than the plant.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.chain import cases_cool, fans_carry
from thermal.circuit import circuit
from thermal.components.room import room_state
from thermal.halving import halved
from thermal.kinks import chiller_start_kw
from thermal.outdoors import outdoors
from thermal.plant import outages, setpoint_c, w_max_kw
from thermal.split import rejection_kw
from thermal.tank import rejected
from thermal.units_out import ALL

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from thermal.loop import LiquidLoop
    from thermal.outdoors import Outdoors
    from thermal.plant import CoolingPlant
    from thermal.units_out import Running

    Floats = npt.NDArray[np.float64]

LOADS = 13  # IT powers at which the constants are sought, from the block's least to its most
LEVELS = (0.1, 0.4, 0.7, 1.0)  # of the largest flow
IN_HAND = 1.02  # between the loads looked at
BESIDE = 1.02  # of a load at which a curve bends: the loads before and behind it
HALVINGS = 36  # of a flow
HELD_K = 1e-6  # a setpoint within this of the design's has water as cold as the tank's
BISECTIONS = 46
NOTHING_KW = 1e-9
STEP_SHARE = 1e-6  # of rated IT power: nearer to an edge the halvings tell nothing


@dataclass(frozen=True)
class Offsets:
    """The constants, each of shape (T,).

    Args:
        fill_it_kw_per_kw: IT power that counts like a kW of filling, kW per kW.
        draw_it_kw_per_kw: IT power that a kW drawn spares, kW per kW.
        taken_it_kw_per_kw: IT power that a kW taken for reuse spares, kW per kW; it spares cooling power, but the
            limits of the plant do not count on it.
        fill_power_kw_per_kw: Cooling power per kW of filling beyond the curve, with the tank's pumps, kW per kW.
        draw_power_kw_per_kw: The same per kW drawn.
        taken_power_kw_per_kw: The same per kW taken for reuse.
        hold_kw: IT power, with what counts like it, up to which the plant makes water as cold as the tank's, kW; 0
            where it does not: there the tank is not filled.
        racks_kw: Largest IT power within the limits of chip cases and room air, whatever is rejected, kW.
    """

    fill_it_kw_per_kw: npt.NDArray[np.float64]
    draw_it_kw_per_kw: npt.NDArray[np.float64]
    taken_it_kw_per_kw: npt.NDArray[np.float64]
    fill_power_kw_per_kw: npt.NDArray[np.float64]
    draw_power_kw_per_kw: npt.NDArray[np.float64]
    taken_power_kw_per_kw: npt.NDArray[np.float64]
    hold_kw: npt.NDArray[np.float64]
    racks_kw: npt.NDArray[np.float64]


class Flows(NamedTuple):
    """Largest flows, kW of heat: into and out of the tank, and taken for reuse."""

    tank_kw: float
    taken_kw: float


def fit_offsets(
    plant: CoolingPlant,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    asked_kw: tuple[npt.ArrayLike, npt.ArrayLike],
    most: Flows,
    *,
    one_out: bool = False,
) -> Offsets:
    """Return the constants of a plant with a liquid loop.

    Args:
        plant: The plant.
        dry_bulb_c: Outdoor dry bulb per slot, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb per slot, deg C, shape (T,).
        asked_kw: Least and largest IT power of the block, kW, shape (T,) or one number.
        most: Largest flows.
        one_out: Whether the limits must hold with the worst single unit out.

    Raises:
        ValueError: The plant has no liquid loop.
    """
    if plant.loop is None:
        raise ValueError(f"a {plant.kind} plant has no liquid loop for a tank or a heat pump")
    series = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (dry_bulb_c, wet_bulb_c, *asked_kw)))
    hours, of_slot = np.unique(np.stack(series, axis=1), axis=0, return_inverse=True)
    found = _fit(plant, plant.loop, hours, most, [ALL, *outages(plant).values()] if one_out else [ALL])
    return Offsets(**{field.name: getattr(found, field.name)[of_slot] for field in fields(Offsets)})


class _Points(NamedTuple):
    """Where the constants are sought: IT power, shape (N, P), and flows, shape (P,) each, kW."""

    it: Floats
    fill: Floats
    draw: Floats
    taken: Floats


def _fit(plant: CoolingPlant, loop: LiquidLoop, hours: Floats, most: Flows, runnings: list[Running]) -> Offsets:
    dry, wet, low, high = hours.T
    held = setpoint_c(plant, dry, wet)
    air = outdoors(loop, dry[:, None], wet[:, None])

    def edge(edge_kw: Floats, supply_c: Floats | float, of: list[Running], chillers: bool) -> _Edge:
        supply = np.broadcast_to(supply_c, dry.shape)[:, None]
        return _Edge(plant, loop, edge_kw[:, None], air, supply, of, chillers=chillers)

    carried = np.minimum.reduce([w_max_kw(plant, dry, wet, running=running) for running in runnings])
    hold = _hold_kw(plant, loop, dry, wet, held)
    limit = edge(carried, loop.supply_limit_c, runnings, chillers=True)
    start_kw = chiller_start_kw(plant, dry, wet, held)
    start = edge(start_kw, held, [ALL], chillers=False)
    jumps = loop.has_chiller and loop.sequence == "site"
    edges = [limit, start] if jumps else [limit]
    usual = np.full(len(dry), 1.0 / loop.liquid_heat_share)
    fill_it, draw_it, taken_it = usual, usual, usual
    if most.tank_kw > 0.0:
        fill_it = np.maximum.reduce(
            [usual, *(e.fill_it(low, most.tank_kw) for e in [*edges, edge(hold, held, [ALL], chillers=True)])]
        )
        draw_it = np.minimum.reduce([usual, *(e.spared_it(high, _Flow(0.0, 1.0, 0.0), most.tank_kw) for e in edges)])
    if most.taken_kw > 0.0 and jumps:
        taken_it = np.minimum(usual, start.spared_it(high, _Flow(0.0, 0.0, 1.0), most.taken_kw))
    like_it = fill_it, draw_it, taken_it
    even = low[:, None] + np.maximum(high - low, 0.0)[:, None] * np.linspace(0.0, 1.0, LOADS)
    near = [np.clip(at, low, high)[:, None] for kw in (carried, start_kw) for at in (kw, kw * BESIDE, kw / BESIDE)]
    it = np.concatenate([even, *near], axis=1)
    beyond = _beyond(plant, loop, hours, held[:, None], it, most, like_it, carried[:, None])
    return Offsets(*like_it, *beyond, hold, _racks_kw(plant, loop, dry, runnings))


class _Flow(NamedTuple):
    """One way in which a kilowatt goes: into filling, drawing, reuse."""

    fill: float
    draw: float
    taken: float


@dataclass(frozen=True)
class _Edge:
    """An IT power beyond which the plant without flows no longer holds a supply.

    Args:
        plant: The plant.
        loop: Its loop.
        edge_kw: That IT power, kW, shape (N, 1).
        air: The outdoor air, shape (N, 1).
        supply_c: The supply, deg C, shape (N, 1).
        runnings: Units that run, one after another.
        chillers: Whether chillers help.
    """

    plant: CoolingPlant
    loop: LiquidLoop
    edge_kw: Floats
    air: Outdoors
    supply_c: Floats
    runnings: list[Running]
    chillers: bool

    def fill_it(self, low_kw: Floats, most_kw: float) -> Floats:
        """Return the least IT power per kW of filling with which the edge is not passed unseen, shape (N,)."""
        span = 1.0 - np.linspace(1.0, 0.0, LOADS, endpoint=False) ** 3
        it = low_kw[:, None] + np.maximum(self.edge_kw - low_kw[:, None], 0.0) * span
        whole_step = self.edge_kw - it > STEP_SHARE * self.plant.rated_it_kw
        last, whole = self._reach(it, _Flow(1.0, 0.0, 0.0), most_kw, wanted=True)
        per_kw = np.divide(
            self.edge_kw - it, last, out=np.zeros_like(it), where=(last > NOTHING_KW) & whole_step & ~whole
        )
        return np.asarray(per_kw.max(axis=1) * IN_HAND)

    def spared_it(self, high_kw: Floats, flow: _Flow, most_kw: float) -> Floats:
        """Return the most IT power per kW of a flow with which the edge is not passed unseen, shape (N,)."""
        span = np.linspace(1.0, 0.0, LOADS, endpoint=False) ** 3
        it = self.edge_kw + np.maximum(high_kw[:, None] - self.edge_kw, 0.0) * span
        first, never = self._reach(it, flow, most_kw, wanted=False)
        beyond = it > self.edge_kw
        per_kw = np.divide(
            it - self.edge_kw, first, out=np.full_like(it, np.inf), where=beyond & (first > 0.0) & ~never
        )
        # a flow that never brings the plant back within the edge spares less than the edge is away
        least = np.where(beyond & never, (it - self.edge_kw) / most_kw, per_kw)
        return np.asarray(least.min(axis=1) / IN_HAND)

    def _reach(self, it: Floats, flow: _Flow, most_kw: float, *, wanted: bool) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return the flow at which holding begins or ends, kW, on the side that holds; and where none does.

        Args:
            it: IT power, kW, shape (N, P).
            flow: The flow.
            most_kw: Its most, kW.
            wanted: Whether it is held without flow.
        """

        def holds(kw: Floats) -> npt.NDArray[np.bool_]:
            points = _Points(it, *(share * kw for share in flow))
            return np.asarray(np.logical_and.reduce([self._held(points, running) for running in self.runnings]))

        def unchanged(kw: Floats) -> npt.NDArray[np.bool_]:
            return np.asarray(holds(kw) == wanted)

        none, most = np.zeros_like(it), np.full_like(it, most_kw)
        last, first = halved(unchanged, none, most, HALVINGS)
        return (last if wanted else first), unchanged(most)

    def _held(self, points: _Points, running: Running) -> npt.NDArray[np.bool_]:
        plant, loop = self.plant, self.loop
        liquid_kw = plant.rated_it_kw * loop.liquid_heat_share
        closed = circuit(loop, points.it / plant.rated_it_kw, running)
        out = rejected(loop, closed, points.taken / liquid_kw, (points.fill - points.draw) / liquid_kw)
        carried = fans_carry(loop, out.flow, out.heat, self.supply_c - closed.cdu_k, self.air, running)
        if self.chillers:
            carried = carried + loop.chiller.capacity_share * running.chiller
        return np.asarray(carried >= out.heat)


def _points(it: Floats, flows: list[tuple[float, float, float]]) -> _Points:
    fill, draw, taken = (np.tile(np.array(values), it.shape[1]) for values in zip(*flows, strict=True))
    return _Points(np.repeat(it, len(flows), axis=1), fill, draw, taken)


def _possible(plant: CoolingPlant, points: _Points) -> npt.NDArray[np.bool_]:
    """Return where the racks give the heat that is drawn and taken."""
    return np.asarray(points.draw + points.taken <= points.it * plant.liquid_heat_share + NOTHING_KW)


def _beyond(
    plant: CoolingPlant,
    loop: LiquidLoop,
    hours: Floats,
    held: Floats,
    it: Floats,
    most: Flows,
    like_it: tuple[Floats, Floats, Floats],
    carried_kw: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Return cooling power beyond the curve per kW of filling, drawing and taking, shape (N,) each."""
    dry, wet = hours[:, 0:1], hours[:, 1:2]
    fill_it, draw_it, taken_it = (per_kw[:, None] for per_kw in like_it)

    def above(points: _Points) -> Floats:
        limited = points.it + fill_it * points.fill - draw_it * points.draw
        like = limited - taken_it * points.taken
        tank_kw = points.fill - points.draw
        with_flows = rejection_kw(plant, points.it, (dry, wet), held, tank_kw=tank_kw, taken_kw=points.taken)
        over = with_flows - rejection_kw(plant, like, (dry, wet), held)
        return np.where(_possible(plant, points) & (limited <= carried_kw), over, -np.inf)

    def per_kw(points: _Points, flow: Floats, beside_kw: Floats | float = 0.0) -> Floats:
        return np.asarray(((above(points) - beside_kw) / flow).max(axis=1, initial=0.0))

    fill_kw, draw_kw, taken_kw = np.zeros((3, len(hours)))
    tank = [(0.0, 0.0)]
    if most.tank_kw > 0.0:
        full = _points(it, [(level * most.tank_kw, 0.0, 0.0) for level in LEVELS])
        spared = _points(it, [(0.0, level * most.tank_kw, 0.0) for level in LEVELS])
        fill_kw, draw_kw = per_kw(full, full.fill), per_kw(spared, spared.draw)
        tank += [(level * most.tank_kw, 0.0) for level in LEVELS] + [(0.0, level * most.tank_kw) for level in LEVELS]
    if most.taken_kw > 0.0:
        reuse = _points(it, [(f, d, level * most.taken_kw) for f, d in tank for level in LEVELS])
        taken_kw = per_kw(reuse, reuse.taken, fill_kw[:, None] * reuse.fill + draw_kw[:, None] * reuse.draw)
    pump_kw = loop.store.pump_w_per_kw / 1000.0
    return fill_kw + pump_kw, draw_kw + pump_kw, taken_kw


def _hold_kw(plant: CoolingPlant, loop: LiquidLoop, dry: Floats, wet: Floats, held: Floats) -> Floats:
    """Return the IT power up to which the plant makes water as cold as the tank's, kW, shape (N,)."""
    air = outdoors(loop, dry, wet)

    def holds(load: Floats) -> npt.NDArray[np.bool_]:
        closed = circuit(loop, load, ALL)
        carried = fans_carry(loop, closed.facility_flow, closed.heat, held - closed.cdu_k, air, ALL)
        return np.asarray(carried + loop.chiller.capacity_share >= closed.heat)

    cold = held <= loop.supply_setpoint_c + HELD_K
    return plant.rated_it_kw * np.where(cold, _largest(holds, len(dry)), 0.0)


def _racks_kw(plant: CoolingPlant, loop: LiquidLoop, dry: Floats, runnings: list[Running]) -> Floats:
    """Return the IT power within the limits of chip cases and room air, kW, shape (N,)."""

    def cool(load: Floats, running: Running) -> npt.NDArray[np.bool_]:
        if min(running.cdu, running.room) <= 0.0:
            return np.zeros(load.shape, dtype=np.bool_)
        air = room_state(plant.room, load, dry, running.room).supply_c <= plant.room.air_supply_limit_c
        return np.asarray(air & cases_cool(loop, circuit(loop, load, running)))

    each = [_largest(partial(cool, running=running), len(dry)) for running in runnings]
    return np.asarray(plant.rated_it_kw * np.minimum.reduce(each))


def _largest(holds: Callable[[Floats], npt.NDArray[np.bool_]], count: int) -> Floats:
    """Return the largest load, up to 1, at which something holds that holds at little load; 0 where it never does."""
    none, whole = np.zeros(count), np.ones(count)
    load, _ = halved(holds, none, whole, BISECTIONS)
    return np.where(holds(whole), whole, load)
