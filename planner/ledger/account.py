"""One run's plan beside what telemetry reports of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from planner.ledger.board_time import shares_not_told_before

if TYPE_CHECKING:
    from planner.ledger.service_tables import TelemetryHour
    from planner.ledger.tables import PlannedWindow, SlotCarbon, Telemetry

_JOULES_PER_KWH = 3.6e6
_CAUSES = ("starvation", "hold", "checkpoint", "recompute", "overhead")


@dataclass(frozen=True)
class RunAccount:
    """One run: what a calendar expected up to an instant, and what telemetry reports until then.

    Args:
        run: Name of the run.
        planned_tokens: Tokens expected.
        tokens: Useful tokens reported.
        planned_energy_kwh: IT energy expected, kWh.
        energy_kwh: Energy reported, kWh, of the boards or nodes that the telemetry covers; each board's time once,
            however many processes metered it.
        energy_error_kwh: Half-width of its uncertainty, kWh; errors of records are taken to add up.
        planned_carbon_kg: Emissions expected, kg CO2e.
        carbon_kg: Energy reported times the plan's site carbon per kWh of IT energy in each slot, kg CO2e.
        adherence: Share of the reported time spent as planned, 0 to 1, or None where nothing was reported.
        energy_sources: Where the reported energy comes from; see `trainer_hooks.energy.Energy`.
        wasted_kwh: Pairs of cause (see `trainer_hooks.waste.Waste`) and energy, kWh: what of the reported energy
            trained nothing that is kept; empty where no record says.
    """

    run: str
    planned_tokens: float
    tokens: float
    planned_energy_kwh: float
    energy_kwh: float
    energy_error_kwh: float
    planned_carbon_kg: float
    carbon_kg: float
    adherence: float | None
    energy_sources: tuple[str, ...] = ()
    wasted_kwh: tuple[tuple[str, float], ...] = ()

    @property
    def planned_tokens_per_joule(self) -> float | None:
        """Tokens expected per joule expected, or None without energy."""
        return _per_joule(self.planned_tokens, self.planned_energy_kwh)

    @property
    def tokens_per_joule(self) -> float | None:
        """Useful tokens per joule reported, or None without energy."""
        return _per_joule(self.tokens, self.energy_kwh)


def _share(start: datetime, end: datetime, until: datetime) -> float:
    return 1.0 if end <= until or end <= start else max(0.0, (until - start) / (end - start))


def account(
    run: str,
    windows: Sequence[PlannedWindow],
    records: Sequence[Telemetry],
    slots: Sequence[SlotCarbon],
    until: datetime,
    let_go: Sequence[TelemetryHour] = (),
) -> RunAccount:
    """Lay one run's windows beside its telemetry.

    Args:
        run: Name of the run.
        windows: Its windows in the plan.
        records: Its telemetry under the plan.
        slots: Site carbon of the plan.
        until: First instant no longer counted, UTC.
        let_go: Sums by the hour of further records of the run under the plan, which are kept no more.
    """
    planned = [(_share(w.start, w.end, until), w) for w in windows]
    actual = [(_share(r.t_start, r.t_end, until), r) for r in records]
    metered = [(share * new, r) for (share, r), new in zip(actual, shares_not_told_before(records), strict=True)]
    summed = [(_share(*_span(hour), until), hour) for hour in let_go]
    judged = [
        (share * (r.t_end - r.t_start).total_seconds(), r.adherence) for share, r in actual if r.adherence is not None
    ]
    judged_s = sum(seconds for seconds, _ in judged) + sum(share * h.judged_s for share, h in summed)
    kept_s = sum(seconds * share for seconds, share in judged) + sum(share * h.kept_s for share, h in summed)
    sources = {r.energy_source for share, r in metered if share * r.energy_j > 0.0}
    sources.update(*(h.energy_sources.split() for share, h in summed if share > 0.0))
    energy_j = [*_amounts(metered, "energy_j"), *_amounts(summed, "energy_j")]
    error_j = [*_amounts(metered, "energy_error_j"), *_amounts(summed, "energy_error_j")]
    carbon_kg = sum(share * r.energy_j / _JOULES_PER_KWH * mean_rate(r, slots, until) for share, r in metered)
    return RunAccount(
        run=run,
        planned_tokens=sum(share * w.tokens for share, w in planned),
        tokens=sum((*_amounts(actual, "useful_tokens"), *_amounts(summed, "useful_tokens"))),
        planned_energy_kwh=sum(share * w.energy_kwh for share, w in planned),
        energy_kwh=sum(energy_j) / _JOULES_PER_KWH,
        energy_error_kwh=sum(error_j) / _JOULES_PER_KWH,
        planned_carbon_kg=sum(share * w.carbon_kg for share, w in planned),
        carbon_kg=carbon_kg + sum(_amounts(summed, "carbon_kg")),
        adherence=kept_s / judged_s if judged_s else None,
        energy_sources=tuple(sorted(sources)),
        wasted_kwh=_wasted_kwh([*metered, *summed]),
    )


def _span(hour: TelemetryHour) -> tuple[datetime, datetime]:
    return datetime.fromtimestamp(hour.hour_s, UTC), datetime.fromtimestamp(hour.until_s, UTC)


def _amounts(shared: Sequence[tuple[float, Telemetry | TelemetryHour]], name: str) -> list[float]:
    return [share * (getattr(one, name) or 0.0) for share, one in shared]


def _wasted_kwh(metered: Sequence[tuple[float, Telemetry | TelemetryHour]]) -> tuple[tuple[str, float], ...]:
    sums_j = [(cause, sum(_amounts(metered, f"{cause}_j"))) for cause in _CAUSES]
    return tuple((cause, sum_j / _JOULES_PER_KWH) for cause, sum_j in sums_j if sum_j)


def mean_rate(record: Telemetry, slots: Sequence[SlotCarbon], until: datetime) -> float:
    """Return the mean of the slots' kg CO2e per kWh over the part of a record before an instant.

    A record without length takes the rate of its instant.

    Args:
        record: The record.
        slots: Site carbon of its plan, in order of time.
        until: The instant, UTC.
    """
    end = min(record.t_end, until)
    weighted = [
        ((min(end, s.end) - max(record.t_start, s.start)).total_seconds(), s.kg_per_it_kwh)
        for s in slots
        if s.start <= end and s.end > record.t_start
    ]
    length_s = sum(seconds for seconds, _ in weighted)
    if length_s > 0:
        return sum(seconds * rate for seconds, rate in weighted) / length_s
    return weighted[0][1] if weighted else 0.0


def _per_joule(tokens: float, energy_kwh: float) -> float | None:
    return tokens / (energy_kwh * _JOULES_PER_KWH) if energy_kwh > 0 else None
