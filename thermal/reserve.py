"""What a site keeps in hand: IT power that is carried with a unit out, or until lost heat rejection is back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.failure import inertia, operation
from thermal.plant import setpoint_c, w_max_kw, w_max_n1_kw
from thermal.transient import Event, ride_through_row

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.description import CoolingPlant
    from thermal.loop import LiquidLoop

LOAD_STEPS = 100  # loads at which the course after a failure is followed, over rated IT power
IN_HAND = 1e-9  # of rated IT power: rounding stays on the safe side


@dataclass(frozen=True)
class Reserve:
    """What IT power is held back for.

    Args:
        one_out: Whether the worst single unit may be out.
        restart_s: Seconds for which heat rejection may be lost until it is back, or None.
    """

    one_out: bool = False
    restart_s: float | None = None


NOTHING = Reserve()


def carried_it_kw(
    plant: CoolingPlant,
    reserve: Reserve,
    dry_bulb_c: npt.ArrayLike,
    wet_bulb_c: npt.ArrayLike,
    *,
    tank_kw: npt.ArrayLike = 0.0,
) -> npt.NDArray[np.float64]:
    """Return the largest IT power that a plant carries within its limits, with its reserve in hand.

    Args:
        plant: The plant.
        reserve: What is held back.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).
        tank_kw: Heat rejected to fill the tank with cold, below 0 heat of the racks that goes into it, kW, shape (T,);
            it is not counted on where heat rejection is lost.

    Returns:
        IT power, kW, shape (T,).

    Raises:
        ValueError: `restart_s` is given for a plant without a liquid loop.
    """
    dry, wet = np.broadcast_arrays(np.asarray(dry_bulb_c, np.float64), np.asarray(wet_bulb_c, np.float64))
    carried = (w_max_n1_kw if reserve.one_out else w_max_kw)(plant, dry, wet, tank_kw=tank_kw)
    if reserve.restart_s is None:
        return carried
    return np.minimum(carried, ride_through_kw(plant, reserve.restart_s, dry, wet))


def ride_through_kw(
    plant: CoolingPlant, restart_s: float, dry_bulb_c: npt.NDArray[np.float64], wet_bulb_c: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the largest IT power with which chip cases stay within their limit until lost heat rejection is back.

    At given flows the case's temperature is linear in the heat (`thermal.transient.ride_through_row`); flows follow the
    load, so the row is made at every step of load, and where it begins to fail the last load that it holds at is sought
    between two steps.

    Args:
        plant: The plant; it has a liquid loop.
        restart_s: Seconds until heat rejection is back.
        dry_bulb_c: Outdoor dry bulb, deg C, shape (T,).
        wet_bulb_c: Outdoor wet bulb, deg C, shape (T,).

    Returns:
        IT power, kW, shape (T,), from 0 to rated_it_kw.

    Raises:
        ValueError: The plant has no liquid loop, or `restart_s` is negative or not finite.
    """
    if plant.loop is None:
        raise ValueError(f"a {plant.kind} plant has no liquid loop whose heat rejection could be lost")
    weather, of_slot = np.unique(np.stack([dry_bulb_c, wet_bulb_c], axis=1), axis=0, return_inverse=True)
    dry, wet = weather[:, :1], weather[:, 1:]
    load_kw = plant.rated_it_kw * _loads(plant.loop)
    margin_k = _margin_k(plant, plant.loop, restart_s, load_kw, dry, wet)
    fails = margin_k < 0.0
    first = np.where(fails.any(axis=1), np.argmax(fails, axis=1), len(load_kw))
    behind, before = np.minimum(first, len(load_kw) - 1), np.maximum(first - 1, 0)
    rows = np.arange(len(weather))
    safe_k, unsafe_k = margin_k[rows, before], margin_k[rows, behind]
    share = np.divide(safe_k, safe_k - unsafe_k, out=np.zeros_like(safe_k), where=safe_k > unsafe_k)
    sought_kw = load_kw[before] + np.clip(share, 0.0, 1.0) * (load_kw[behind] - load_kw[before])
    sought_kw = np.maximum(sought_kw - IN_HAND * plant.rated_it_kw, 0.0)
    # the margin bends between two steps: what fails when looked at goes back to the step that holds
    holds = _margin_k(plant, plant.loop, restart_s, sought_kw[:, None], dry, wet)[:, 0] >= 0.0
    found_kw = np.where(holds, sought_kw, load_kw[before])
    found_kw = np.where(first == len(load_kw), plant.rated_it_kw, np.where(first == 0, 0.0, found_kw))
    return np.asarray(found_kw[of_slot])


def _loads(loop: LiquidLoop) -> npt.NDArray[np.float64]:
    floors = [loop.rack_pump.flow_floor, loop.facility_pump.flow_floor]
    return np.unique(np.concatenate([np.linspace(0.0, 1.0, LOAD_STEPS + 1), floors]))


def _margin_k(
    plant: CoolingPlant,
    loop: LiquidLoop,
    restart_s: float,
    it_kw: npt.NDArray[np.float64],
    dry_c: npt.NDArray[np.float64],
    wet_c: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the case's limit less its temperature when heat rejection is back, K, for IT power against weather."""
    before = operation(plant, it_kw, dry_c, wet_c, setpoint_c(plant, dry_c, wet_c))
    row = ride_through_row(Event.REJECTION_LOSS, inertia(plant), before, restart_s, loop.cold_plate.case_limit_c)
    return np.asarray(row.room_k - row.rise_k_per_kw * np.asarray(before.heat_kw, dtype=np.float64))
