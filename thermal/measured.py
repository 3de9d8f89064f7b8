"""What a block's own meters and sensors told: the measured side of the thermal report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.alarms import FACILITIES, Alarm, Level
from thermal.calibrate import Balance, Score, balances, scores
from thermal.quantity import MEASURED, Quantity

if TYPE_CHECKING:
    import numpy.typing as npt

    from thermal.calibrate import Telemetry
    from thermal.description import CoolingPlant

LATEST_DAYS = 7
MONTH_DAYS = 30.0
LEAST_DAYS = 10  # daily means from which a change is told
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Trend:
    """One measured figure of the loops and how it changes.

    Args:
        name: Such as "cdu_approach_k".
        latest: Mean of the last seven days.
        change: Change in 30 days at equal heat; its value is None where there are too few days.
        give_or_take: Half the width of the change's 95 % interval; None likewise.
    """

    name: str
    latest: Quantity
    change: Quantity
    give_or_take: Quantity

    @property
    def rises(self) -> bool:
        """Whether it rises beyond doubt."""
        change, half = self.change.value, self.give_or_take.value
        return change is not None and half is not None and change - half > 0.0


@dataclass(frozen=True)
class AgainstPlan:
    """One power as it was planned and as it was metered, over the slots that both know.

    Args:
        name: "it_kw" or "cooling_kw".
        hours_h: Length of those slots, h.
        planned_kw: Mean planned, kW.
        metered_kw: Mean metered, kW.
        largest_kw: Metered less planned in the slot in which they are furthest apart, kW.
    """

    name: str
    hours_h: float
    planned_kw: float
    metered_kw: float
    largest_kw: float


@dataclass(frozen=True)
class Measured:
    """The measured side of one block.

    Args:
        source: Where the readings come from.
        span: First and last day.
        trends: Figures of the loops with their change, by which fouling shows.
        balances: Energy balance of each loop over the whole span.
        scores: The plant's model against the meters.
        against_plan: Powers as planned and as metered; empty where no planned slot has readings.
    """

    source: str
    span: str
    trends: tuple[Trend, ...]
    balances: tuple[Balance, ...]
    scores: tuple[Score, ...]
    against_plan: tuple[AgainstPlan, ...]


def measured(
    plant: CoolingPlant,
    telemetry: Telemetry,
    starts: npt.NDArray[np.datetime64],
    slot_h: float,
    planned_kw: dict[str, npt.NDArray[np.float64]],
) -> Measured:
    """Return the measured side of a block.

    Args:
        plant: Its plant.
        telemetry: The readings.
        starts: Starts of the slots, UTC, shape (T,), datetime64[s].
        slot_h: Length of a slot, h.
        planned_kw: What a calendar in force plans: "it_kw" and "cooling_kw", kW, shape (T,); empty without one.
    """
    return Measured(
        source=telemetry.source,
        span=telemetry.span,
        trends=_trends(plant, telemetry),
        balances=balances(plant, telemetry),
        scores=scores(plant, telemetry),
        against_plan=_against_plan(telemetry, starts, slot_h, planned_kw),
    )


def measured_alarms(found: Measured) -> tuple[Alarm, ...]:
    """Return the checks of what was measured: fouling of the CDUs, and the energy balance of each loop."""
    checks = []
    for trend in found.trends:
        change, half = trend.change.value, trend.give_or_take.value
        if trend.name == "cdu_approach_k" and change is not None and half is not None:
            told = (
                f"At equal heat the approach of the CDUs changes by {change:+.2f} K in {MONTH_DAYS:.0f} days, give or "
                f"take {half:.2f} K, as {found.source} shows for {found.span}."
            ).replace("-", "\u2212", 1 if change < 0.0 else 0)
            level = Level.AMBER if trend.rises else Level.GREEN
            action = "Look for fouling: strainers, plates of the CDUs, and the flow of the facility loop."
            done = action if trend.rises else ""
            checks.append(Alarm("Fouling of the CDUs", level, told, done, FACILITIES, tag=MEASURED))
    for balance in found.balances:
        open_ = abs(balance.residual_pct) > balance.tolerance_pct
        checks.append(
            Alarm(
                f"Energy balance: {balance.loop}",
                Level.AMBER if open_ else Level.GREEN,
                f"{balance.sentence[0].upper()}{balance.sentence[1:]}.",
                "Check the flow meter, both temperatures and the IT meter." if open_ else "",
                FACILITIES,
                tag=MEASURED,
            )
        )
    return tuple(checks)


def _trends(plant: CoolingPlant, telemetry: Telemetry) -> tuple[Trend, ...]:
    heat_kw = telemetry["it_power_kw"] * plant.liquid_heat_share
    kelvins = (
        ("cdu_approach_k", telemetry["rack_supply_temp_c"] - telemetry["facility_supply_temp_c"]),
        ("rack_rise_k", telemetry["rack_return_temp_c"] - telemetry["rack_supply_temp_c"]),
        ("facility_rise_k", telemetry["facility_return_temp_c"] - telemetry["facility_supply_temp_c"]),
    )
    found = []
    for name, values in kelvins:
        there = np.isfinite(values) & (heat_kw > 0.0)
        if there.any():
            days, means = _daily(telemetry.days, there, values, heat_kw / plant.rated_it_kw)
            latest = float(np.mean(values[_latest(telemetry, there)]))
            slope, half = _change(days, means) or (None, None)
            found.append(Trend(name, *(Quantity(value, "K", MEASURED) for value in (latest, slope, half))))
    flow = telemetry["rack_flow_l_per_min"]
    there = np.isfinite(flow) & (heat_kw > 0.0)
    if there.any():
        last = _latest(telemetry, there)
        per_kw = float(flow[last].sum() / heat_kw[last].sum())
        told = (Quantity(value, "L/min/kW", MEASURED) for value in (per_kw, None, None))
        found.append(Trend("flow_l_per_min_per_kw", *told))
    return tuple(found)


def _latest(telemetry: Telemetry, there: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    return np.asarray(there & (telemetry.days > telemetry.days[there].max() - LATEST_DAYS))


def _daily(
    days: npt.NDArray[np.int64], there: npt.NDArray[np.bool_], *series: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the days with readings, shape (D,), and the daily means of each series, shape (S, D)."""
    known, of_day = np.unique(days[there], return_inverse=True)
    count = np.bincount(of_day)
    return known.astype(np.float64), np.stack([np.bincount(of_day, weights=s[there]) / count for s in series])


def _change(days: npt.NDArray[np.float64], means: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the change in 30 days at equal heat and half its interval, by the line of daily means over heat and time.

    A day's readings count as one: their errors hang together.
    """
    from scipy.stats import t as student

    figure, heat = means
    columns = np.stack([np.ones_like(days), heat - heat.mean(), (days - days.mean()) / MONTH_DAYS], axis=1)
    free = len(days) - columns.shape[1]
    if len(days) < LEAST_DAYS or np.linalg.matrix_rank(columns) < columns.shape[1]:
        return None
    weights, *_ = np.linalg.lstsq(columns, figure, rcond=None)
    variance = float(np.sum((figure - columns @ weights) ** 2)) / free
    spread = float(np.sqrt(variance * np.linalg.inv(columns.T @ columns)[2, 2]))
    return float(weights[2]), float(student.ppf(0.5 + CONFIDENCE / 2.0, free)) * spread


def _against_plan(
    telemetry: Telemetry,
    starts: npt.NDArray[np.datetime64],
    slot_h: float,
    planned_kw: dict[str, npt.NDArray[np.float64]],
) -> tuple[AgainstPlan, ...]:
    slot = np.searchsorted(starts, telemetry.time, side="right") - 1
    within = (slot >= 0) & (telemetry.time < starts[-1] + np.timedelta64(round(3600.0 * slot_h), "s"))
    found = []
    for name, signal in (("it_kw", "it_power_kw"), ("cooling_kw", "cooling_kw")):
        there = within & np.isfinite(telemetry[signal])
        if name in planned_kw and there.any():
            slots, means = _daily(slot, there, telemetry[signal])
            metered, planned = means[0], planned_kw[name][slots.astype(np.int64)]
            apart = metered - planned
            largest = float(apart[np.argmax(np.abs(apart))])
            found.append(AgainstPlan(name, len(slots) * slot_h, float(planned.mean()), float(metered.mean()), largest))
    return tuple(found)
