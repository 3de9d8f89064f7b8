"""The service's figures in the text format of Prometheus; every name ends in its unit or in total."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.ledger.alarms import open_alarms
from planner.ledger.decisions import DRAFTED, in_force, standing, standings
from planner.ledger.jobs import last_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.service.state import ServiceState

_COUNTERS = {
    "http_requests": ("Requests answered by this instance.", "status"),
    "telemetry_records": ("Records of telemetry that came to this instance.", "outcome"),
    "grid_events": ("Grid events that came to this instance.", "receipt"),
    "outages": ("Word of outages that came to this instance.", "receipt"),
}
_Sample = tuple[dict[str, str], float]


def exposition(state: ServiceState) -> str:
    """Return what is known now.

    Args:
        state: The service.
    """
    now = state.clock()
    with state.ledger.reading() as session:
        current = in_force(session, state.site, now)
        stands = None if current is None else standing(session, current)
        drafts = sum(one.state == DRAFTED and one.valid_until > now for one in standings(session, state.site))
        alarms = Counter(row.severity for row in open_alarms(session, state.site))
        runs = [(row.job, row.outcome, row.ended_at) for row in last_runs(session, state.site)]
    lines: list[str] = []
    if stands is not None:
        lines += _family("calendar_issued_timestamp_seconds", "When the calendar in force was made.", "gauge", [
            ({}, stands.issued_at.timestamp())
        ])  # fmt: skip
        lines += _family("calendar_end_timestamp_seconds", "When the calendar in force ends.", "gauge", [
            ({}, stands.valid_until.timestamp())
        ])  # fmt: skip
    lines += _family("drafts_count", "Drafts that nobody decided about.", "gauge", [({}, drafts)])
    lines += _family("open_alarms_count", "Open alarms.", "gauge", [
        ({"severity": severity}, alarms[severity]) for severity in ("amber", "red")
    ])  # fmt: skip
    lines += _family("job_end_timestamp_seconds", "When the last run of a job ended, by its outcome.", "gauge", [
        ({"job": job, "outcome": outcome}, ended.timestamp()) for job, outcome, ended in runs if ended is not None
    ])  # fmt: skip
    counted = state.counts.items()
    for name, (told, label) in _COUNTERS.items():
        found = [({label: value}, float(count)) for (key, value), count in counted if key == name]
        lines += _family(f"{name}_total", told, "counter", found)
    return "\n".join(lines) + "\n"


def _family(name: str, told: str, kind: str, samples: Iterable[_Sample]) -> list[str]:
    full = f"gridpace_service_{name}"
    return [
        f"# HELP {full} {told}",
        f"# TYPE {full} {kind}",
        *(f"{full}{_labels(labels)} {value:.17g}" for labels, value in samples),
    ]


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    escaped = (
        (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")) for name, value in labels.items()
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
