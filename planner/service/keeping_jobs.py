"""Jobs that sum telemetry by the hour, and let go of what the policy keeps no longer."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from planner.ledger.alarms import forget_alarms
from planner.ledger.jobs import forget_runs

if TYPE_CHECKING:
    from planner.service.worker import Worker


def roll_up(worker: Worker) -> str:
    """Sum anew the hours that telemetry came for."""
    return f"the hours of {worker.ledger.roll_up()} runs summed"


def let_go(worker: Worker) -> str:
    """Let go of single records, closed alarms and notes of jobs that are older than the site keeps them."""
    kept = worker.load().service
    now = worker.clock()
    gone = worker.ledger.let_go(now.replace(minute=0, second=0, microsecond=0) - timedelta(days=kept.raw_days))
    with worker.ledger.writing() as session:
        forget_alarms(session, now - timedelta(days=kept.log_days))
        forget_runs(session, now - timedelta(days=kept.log_days))
    return f"{gone} records let go; their sums stay"
