"""The gate before calibration: does the heat that the loops carry agree with the power that makes it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.calibrate.prediction import inputs, pumps_kw
from thermal.calibrate.telemetry import SIGNALS
from thermal.fluids import volume_heat_kj_per_m3_k
from thermal.units_out import ALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.calibrate.telemetry import Telemetry
    from thermal.description import CoolingPlant
    from thermal.units_out import Running

SPARE = 2.0  # times what the instruments' classes allow, in quadrature, that the balance may miss by
HOURS_IN_A_ROW = 3  # one hour out of balance is water that warms or cools; this many are not
HOUR_ALLOWANCE = 2.0  # times a day's tolerance, for the heat that loops store within hours


@dataclass(frozen=True)
class Balance:
    """The energy balance of one loop over a span.

    Args:
        loop: "rack loop" or "facility loop".
        first: Start of the span, UTC, such as "2024-05-03T00:00".
        last: Its end.
        heat_kw: Mean heat by flow and temperatures, kW.
        power_kw: Mean heat that IT power and pumps put into the loop, kW.
        residual_pct: heat_kw over power_kw minus 1, %.
        tolerance_pct: What the instruments' accuracies allow the residual to be, %.
        closing_share: Liquid heat share with which the balance would close.
    """

    loop: str
    first: str
    last: str
    heat_kw: float
    power_kw: float
    residual_pct: float
    tolerance_pct: float
    closing_share: float

    @property
    def sentence(self) -> str:
        """The balance in a sentence with value, unit, limit and subject."""
        return (
            f"{self.loop}, {self.first} to {self.last}: flow and temperatures carry {self.heat_kw:,.0f} kW where IT "
            f"power and pumps give {self.power_kw:,.0f} kW, {self.residual_pct:+.0f} %; the sensors' accuracies "
            f"allow {self.tolerance_pct:.0f} %"
        )


class EnergyBalanceError(ValueError):
    """Telemetry whose energy balance does not close.

    Args:
        faults: The spans in which it does not, the largest residual first.
    """

    def __init__(self, faults: tuple[Balance, ...]) -> None:
        self.faults = faults
        super().__init__("; ".join(fault.sentence for fault in faults))


def balances(plant: CoolingPlant, telemetry: Telemetry, running: Running = ALL) -> tuple[Balance, ...]:
    """Return the balance of each loop over the whole span; none of a loop without flow and both temperatures."""
    found = []
    for name, heat, power, rise in _loops(plant, telemetry, running):
        there = np.isfinite(heat) & np.isfinite(power)
        if there.any():
            found.append(_balance(plant, telemetry, (name, heat, power, rise), there))
    return tuple(found)


def check_balance(plant: CoolingPlant, telemetry: Telemetry, running: Running = ALL) -> tuple[Balance, ...]:
    """Refuse telemetry whose energy balance does not close on some day or over several hours in a row.

    Args:
        plant: The plant; its liquid heat share and, where pumps are not metered, its pumps count.
        telemetry: The readings.
        running: Units that run.

    Returns:
        The balances over the whole span, as `balances`.

    Raises:
        EnergyBalanceError: It does not close; the error names loop, span, heat and power.
    """
    faults: list[Balance] = []
    hours = telemetry.time.astype("datetime64[h]").astype(np.int64)
    for loop in _loops(plant, telemetry, running):
        of_day = _out(plant, telemetry, loop, telemetry.days, 1.0)
        faults += _merged(plant, telemetry, loop, telemetry.days, of_day, 1)
        of_hour = _out(plant, telemetry, loop, hours, HOUR_ALLOWANCE)
        # hours within days that are told already are not told again
        quiet = {h for h in of_hour if not set(telemetry.days[hours == h]) & set(of_day)}
        faults += _merged(plant, telemetry, loop, hours, {h: of_hour[h] for h in quiet}, HOURS_IN_A_ROW)
    if faults:
        raise EnergyBalanceError(tuple(sorted(faults, key=lambda f: -abs(f.residual_pct))))
    return balances(plant, telemetry, running)


_Loop = tuple[str, "npt.NDArray[np.float64]", "npt.NDArray[np.float64]", "npt.NDArray[np.float64]"]


def _loops(plant: CoolingPlant, telemetry: Telemetry, running: Running) -> list[_Loop]:
    """Return name, heat by flow (kW), heat by power (kW) and rise (K) of each loop, each of shape (N,)."""
    loop = plant.loop
    if loop is None:
        return []
    modelled = pumps_kw(plant, inputs(telemetry), running)
    rack_kw, facility_kw = (
        np.where(np.isfinite(telemetry[name]), telemetry[name], by_model)
        for name, by_model in zip(("rack_pump_kw", "facility_pump_kw"), modelled, strict=True)
    )
    it_kw = telemetry["it_power_kw"] * plant.liquid_heat_share
    found = []
    for name, coolant, power in (
        ("rack", loop.rack_coolant, it_kw + rack_kw),
        ("facility", loop.facility_coolant, it_kw + rack_kw + facility_kw),
    ):
        supply, back = telemetry[f"{name}_supply_temp_c"], telemetry[f"{name}_return_temp_c"]
        volume_heat = volume_heat_kj_per_m3_k(coolant, 0.5 * (supply + back))
        heat = telemetry[f"{name}_flow_l_per_min"] / 60_000.0 * volume_heat * (back - supply)
        found.append((f"{name} loop", heat, power, back - supply))
    return found


def _out(
    plant: CoolingPlant, telemetry: Telemetry, loop: _Loop, period: npt.NDArray[np.int64], allowance: float
) -> dict[int, float]:
    """Return the periods whose balance does not close, each with the sign of its residual."""
    there = np.isfinite(loop[1]) & np.isfinite(loop[2])
    found = {}
    for p in np.unique(period[there]):
        balance = _balance(plant, telemetry, loop, there & (period == p))
        if abs(balance.residual_pct) > allowance * balance.tolerance_pct:
            found[int(p)] = float(np.sign(balance.residual_pct))
    return found


def _merged(
    plant: CoolingPlant,
    telemetry: Telemetry,
    loop: _Loop,
    period: npt.NDArray[np.int64],
    out: dict[int, float],
    least: int,
) -> list[Balance]:
    """Return the balances of runs of at least so many neighbouring periods that are out to the same side."""
    runs: list[list[int]] = []
    for p in sorted(out):
        if runs and runs[-1][-1] == p - 1 and out[p] == out[p - 1]:
            runs[-1].append(p)
        else:
            runs.append([p])
    there = np.isfinite(loop[1]) & np.isfinite(loop[2])
    return [_balance(plant, telemetry, loop, there & np.isin(period, run)) for run in runs if len(run) >= least]


def _balance(plant: CoolingPlant, telemetry: Telemetry, loop: _Loop, where: npt.NDArray[np.bool_]) -> Balance:
    name, heat, power, rise = loop
    heat_kw, power_kw = float(np.mean(heat[where])), float(np.mean(power[where]))
    rise_k = max(float(np.mean(np.abs(rise[where]))), 1e-3)
    flow, temp, meter = (SIGNALS[s] for s in ("rack_flow_l_per_min", "rack_supply_temp_c", "it_power_kw"))
    tolerance = SPARE * float(np.sqrt(flow.gain**2 + 2.0 * (temp.offset / rise_k) ** 2 + meter.gain**2))
    it_kw = float(np.mean(telemetry["it_power_kw"][where]))
    pump_kw = power_kw - plant.liquid_heat_share * it_kw
    step = np.min(np.diff(telemetry.time)) if len(telemetry) > 1 else np.timedelta64(1, "h")
    first, last = telemetry.time[where][0], telemetry.time[where][-1] + step
    return Balance(
        loop=name,
        first=str(first.astype("datetime64[m]")),
        last=str(last.astype("datetime64[m]")),
        heat_kw=heat_kw,
        power_kw=power_kw,
        residual_pct=100.0 * (heat_kw / power_kw - 1.0) if power_kw > 0.0 else 0.0,
        tolerance_pct=100.0 * tolerance,
        closing_share=(heat_kw - pump_kw) / it_kw if it_kw > 0.0 else float("nan"),
    )
