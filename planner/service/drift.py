"""How far what is measured is off what was planned: the speed of GPUs at each power limit, and the forecasts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sqlalchemy import select

from planner.errors import DataUnavailable
from planner.ledger.decisions import APPROVED, standings
from planner.ledger.tables import Telemetry
from planner.outlook import actual_signals
from planner.service.plant_drift import judge_plants
from planner.service.publishing import stored_calendar
from planner.service.stored_week import stored_series, stored_week

if TYPE_CHECKING:
    import numpy.typing as npt
    from sqlalchemy import Row

    from planner.service.worker import Worker
    from trainer_hooks.contract import RunCalendar

_LOOKS_BACK = timedelta(days=8)
_MEASURED = (
    Telemetry.run,
    Telemetry.state,
    Telemetry.gpu_power_limit_w,
    Telemetry.tokens,
    Telemetry.gpus,
    Telemetry.t_start,
    Telemetry.t_end,
)
_AT_ONCE = 5000
_LEAST_GPU_S = 3600.0
"""A gang's start and a checkpoint weigh too much in less."""
_SIGNALS = {"ci_gco2_per_kwh": "carbon intensity", "price_per_kwh": "energy price", "wet_bulb_c": "wet bulb"}


class Measured(Protocol):
    """What of a telemetry record tells how fast its GPUs are; see `trainer_hooks.telemetry.Record`."""

    run: str
    state: str
    gpu_power_limit_w: float | None
    tokens: int
    gpus: int
    t_start: datetime
    t_end: datetime


@dataclass(frozen=True)
class Speed:
    """How fast a run's GPUs are at a power limit.

    Args:
        run: The run.
        limit_w: Power limit per GPU, W.
        measured: Tokens per GPU and second as telemetry reports them.
        planned: Those that the calendar expects.
    """

    run: str
    limit_w: float
    measured: float
    planned: float

    @property
    def off(self) -> float:
        """Share of the planned speed by which the measured one is off, negative where it is slower."""
        return self.measured / self.planned - 1.0


def speeds(runs: Iterable[RunCalendar], records: Iterable[Measured | Row[Any]]) -> list[Speed]:
    """Compare the speed of each run at each power limit with what its calendar expects.

    Args:
        runs: The windows of every run in a calendar.
        records: Telemetry under it, walked through once.

    Returns:
        One entry per run and limit that both know and that was measured for at least one GPU-hour.
    """
    measured: dict[tuple[str, float], list[float]] = {}
    for record in records:
        if record.state == "run" and record.gpu_power_limit_w is not None:
            sums = measured.setdefault((record.run, record.gpu_power_limit_w), [0.0, 0.0])
            sums[0] += record.tokens
            sums[1] += record.gpus * (record.t_end - record.t_start).total_seconds()
    found = []
    for run in runs:
        planned: dict[float, list[float]] = {}
        for window in run.windows:
            if window.state == "run" and window.gpu_power_limit_w is not None and window.tokens > 0.0:
                sums = planned.setdefault(window.gpu_power_limit_w, [0.0, 0.0])
                sums[0] += window.tokens
                sums[1] += window.gpus * (window.end - window.start).total_seconds()
        for limit_w, (tokens, gpu_s) in sorted(planned.items()):
            made, over_s = measured.get((run.run, limit_w), (0.0, 0.0))
            if over_s >= _LEAST_GPU_S:
                found.append(Speed(run.run, limit_w, made / over_s, tokens / gpu_s))
    return found


def bias(issued: npt.NDArray[np.float64], came: npt.NDArray[np.float64]) -> float:
    """Return how far the mean of a forecast was above that of what came, as a share of the size of what came."""
    size = float(np.mean(np.abs(came)))
    return float(np.mean(issued) - np.mean(came)) / size if size > 0.0 else 0.0


def calibrate(worker: Worker) -> str:
    """Compare what came in the last days with what was planned, and open or close alarms of drift."""
    site, now = worker.load(), worker.clock()
    with worker.ledger.reading() as session:
        recent = [
            one.calendar_id
            for one in standings(session, worker.site)
            if one.state == APPROVED and now - _LOOKS_BACK <= one.valid_until and one.valid_from <= now
        ]
        over = [
            one
            for one in standings(session, worker.site)
            if one.state == APPROVED and now - _LOOKS_BACK <= one.valid_until <= now
        ]
        found: list[Speed] = []
        for calendar_id in recent:
            # A large site's week has millions of records: they are walked through, not held.
            rows = session.execute(select(*_MEASURED).where(Telemetry.calendar_id == calendar_id))
            found += speeds(stored_calendar(session, calendar_id)[1], rows.yield_per(_AT_ONCE))
    for speed in found:
        _judge_speed(worker, speed, site.service.drift_share)
    told = f"{len(found)} speeds of runs compared"
    if over:
        told += f"; {_judge_forecasts(worker, over[0].calendar_id, now, site.service.drift_share)}"
    plants = judge_plants(worker, site)
    return f"{told}; {plants}" if plants else told


def _judge_speed(worker: Worker, speed: Speed, most: float) -> None:
    subject = f"{speed.run} at {speed.limit_w:g} W"
    if abs(speed.off) <= most:
        worker.clear("drift", subject)
        return
    sentence = (
        f"Run {speed.run!r} makes {speed.measured:.4g} tokens per GPU and second at {speed.limit_w:g} W, "
        f"{100 * speed.off:+.0f} % off the {speed.planned:.4g} of its calendar."
    )
    fix = "measure it again by gridpace-sweep and put tokens_per_gpu_s and points into the site file"
    worker.alarm("drift", subject, "amber", (sentence, fix), "training")


def _judge_forecasts(worker: Worker, calendar_id: str, now: datetime, most: float) -> str:
    with worker.ledger.reading() as session:
        header, _ = stored_calendar(session, calendar_id)
        issued = stored_series(session, header)
        site, week = stored_week(session, header, worker.site_file)
    if issued is None:
        return "no series are kept of the week that is over"
    try:
        came = actual_signals(site, week.grid, now=now, offline=worker.offline, cache=worker.cache)
    except DataUnavailable as error:
        return f"what came is not known yet ({error.what})"
    told = []
    for signal, name in _SIGNALS.items():
        off = bias(getattr(issued.signals, signal), getattr(came.signals, signal))
        told.append(f"{name} {100 * off:+.1f} %")
        if abs(off) <= most:
            worker.clear("forecast", name)
            continue
        sentence = (
            f"The forecast of {name} for the week of calendar {calendar_id} was {100 * off:+.0f} % off what came."
        )
        fix = "see `gridpace backtest` for the source's record, and name another source where it stays so"
        worker.alarm("forecast", name, "amber", (sentence, fix), "sustainability")
    return f"forecasts were off by {', '.join(told)}"
