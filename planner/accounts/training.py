"""The energy of training a model, as the European AI Act asks providers to state it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from planner.accounts.carbon import CarbonAccounts
    from planner.ledger.account import RunAccount

ACT = "Regulation (EU) 2024/1689 (AI Act), Annex XI, section 1, point 2(e)"
ESTIMATED = (
    "Each window of the run calendar: GPUs of the gang x IT power per GPU at the window's power limit, by the GPU "
    "type's operating points with its share of the node, x time."
)
KNOWN = "Energy counters read by the hooks on the training nodes; the records lie in the ledger."
KNOWN_IN_PART = (
    "Energy counters read by the hooks on the training nodes, and a model by power limit and state where a board shows "
    "nothing; the records lie in the ledger."
)
IT_BOUNDARY = "GPUs with their share of the node; without cooling, network beyond the node, and storage."
METER_BOUNDARY = "The boards or nodes that the telemetry covers; without cooling."
SITE_BOUNDARY = "As it_kwh, with the run's share of cooling and of the site's stores by IT energy."
NO_METER = "Not measured: as exact as the sweep of the operating points and the keeping of the calendar."
METERED = "As the records state it; errors of records are taken to add up."

Kind = Literal["known", "estimated"]


@dataclass(frozen=True)
class TrainingEnergy:
    """The energy of one run over one span.

    Args:
        run: Name of the run.
        kind: "known" where it was measured, "estimated" where it follows from the computing resources used.
        it_kwh: Energy within `boundary`, kWh.
        error_kwh: Half-width of its uncertainty, kWh, or None where none was measured.
        site_kwh: Energy with the site's share, kWh, within `site_boundary`, or None where only `it_kwh` was measured.
        location_kg: Location-based emissions of the run's share of the site, kgCO2e.
        gpu_hours: GPUs times the hours for which they are reserved, or None where nothing reports them.
        tokens: Useful tokens of the span.
        start: First instant, UTC.
        end: First instant after it, UTC.
        method: How `it_kwh` was found.
        boundary: What `it_kwh` covers.
        site_boundary: What `site_kwh` covers.
        uncertainty: How far it may be off, in words.
    """

    run: str
    kind: Kind
    it_kwh: float
    error_kwh: float | None
    site_kwh: float | None
    location_kg: float
    gpu_hours: float | None
    tokens: float
    start: datetime
    end: datetime
    method: str
    boundary: str
    site_boundary: str
    uncertainty: str


def training_energy(
    accounts: CarbonAccounts, reported: Mapping[str, RunAccount], until: datetime | None
) -> tuple[TrainingEnergy, ...]:
    """Return the statements of each run: estimated for the whole span, and known as far as telemetry reaches.

    The energy of a model is the sum over all spans of its training, each span once.

    Args:
        accounts: The accounts of a calendar.
        reported: Run -> plan beside telemetry, up to `until`.
        until: First instant that the telemetry does not cover, UTC, or None without telemetry.
    """
    found: list[TrainingEnergy] = []
    for run in accounts.run_figures:
        estimated = TrainingEnergy(
            run=run.subject,
            kind="estimated",
            it_kwh=run.it_kwh,
            error_kwh=None,
            site_kwh=run.load_kwh,
            location_kg=run.location_kg + run.onsite_kg,
            gpu_hours=run.gpu_hours,
            tokens=run.tokens,
            start=accounts.start,
            end=accounts.end,
            method=ESTIMATED,
            boundary=IT_BOUNDARY,
            site_boundary=SITE_BOUNDARY,
            uncertainty=NO_METER,
        )
        found.append(estimated)
        measured = reported.get(run.subject)
        if measured is None or until is None or measured.energy_kwh <= 0.0:
            continue
        found.append(
            TrainingEnergy(
                run=run.subject,
                kind="known",
                it_kwh=measured.energy_kwh,
                error_kwh=measured.energy_error_kwh,
                site_kwh=None,
                location_kg=measured.carbon_kg,
                gpu_hours=None,
                tokens=measured.tokens,
                start=accounts.start,
                end=min(until, accounts.end),
                method=KNOWN_IN_PART if {"model", "partial"} & set(measured.energy_sources) else KNOWN,
                boundary=METER_BOUNDARY,
                site_boundary=SITE_BOUNDARY,
                uncertainty=METERED,
            )
        )
    return tuple(found)
