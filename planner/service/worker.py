"""What jobs work with, and how one is run: noted, its failure an alarm, and tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from planner.config import load_site
from planner.errors import ConfigError, DataUnavailable, GridpaceError, Infeasible
from planner.ledger.alarms import Alarm, Severity, clear_alarm, raise_alarm
from planner.ledger.jobs import job_begins, job_ends

if TYPE_CHECKING:
    from planner.config import Site
    from planner.ledger import Ledger
    from planner.sources.cache import ResponseCache

LOG = logging.getLogger("planner.service")
DONE, FAILED = "done", "failed"
_MOST_TOLD = 2000


@dataclass(frozen=True)
class Worker:
    """What jobs work with.

    Args:
        site_file: The site file, read anew by each job.
        site: Name of the site as the service started.
        ledger: The database.
        cache: Answers of providers.
        clock: Gives the present time, UTC.
        instance: Name of this instance.
        offline: Whether to keep off the network.
        decided: Called after something was decided.
    """

    site_file: Path
    site: str
    ledger: Ledger
    cache: ResponseCache
    clock: Callable[[], datetime]
    instance: str
    offline: bool = False
    decided: Callable[[], None] = field(default=lambda: None)

    def load(self) -> Site:
        """Read the site file.

        Raises:
            ConfigError: It has faults, names a month, or is of another site than the one that is served.
        """
        site = weekly_site(self.site_file)
        if site.name != self.site:
            raise ConfigError(
                f"{self.site_file} describes {site.name[:60]!r} now, and this service serves {self.site[:60]!r}",
                why="what was planned under another name would be seen by nobody",
                fix="give the site its name back, or start the service anew",
            )
        return site

    def alarm(self, kind: str, subject: str, severity: Severity, told: tuple[str, str], owner: str) -> None:
        """Open an alarm, or bring it up to date; `told` is what is the matter, and what to do."""
        with self.ledger.writing() as session:
            raise_alarm(session, Alarm(self.site, kind, subject, severity, *told, owner), self.clock())

    def clear(self, kind: str, subject: str) -> bool:
        """Close an alarm; returns whether it was open."""
        with self.ledger.writing() as session:
            return clear_alarm(session, self.site, kind, subject, self.clock())


def weekly_site(file: Path) -> Site:
    """Read the site file of a site that is planned week by week.

    Raises:
        ConfigError: It has faults, or names a month.
    """
    site = load_site(file)
    if site.horizon.month:
        raise ConfigError(
            f"{file} names the month {site.horizon.month}",
            why="the service plans week by week",
            fix="take `month` out of [horizon], and plan months by `gridpace plan --month`",
        )
    return site


Job = Callable[[Worker], str]
"""Does its work, and returns what it did in one sentence."""

_OWNERS: Mapping[str, str] = {"replan": "sustainability", "publish": "sustainability", "events": "facilities"}


def run_job(worker: Worker, name: str, job: Job) -> bool:
    """Run a job, note what it did, and make an alarm of its failure.

    Args:
        worker: What it works with.
        name: Its name.
        job: What it does.

    Returns:
        Whether it was done.
    """
    with worker.ledger.writing() as session:
        number = job_begins(session, worker.site, name, worker.instance, worker.clock())
    outcome, fix = FAILED, "see the service's log"
    severity: Severity = "amber"
    try:
        told, outcome = job(worker), DONE
    except GridpaceError as error:
        told, fix = f"{error.what}{f' ({error.why})' if error.why else ''}", error.fix or fix
        # What data lacks may come with the next try; what the site file asks for will not mend itself.
        severity = "amber" if isinstance(error, DataUnavailable) else "red"
        if isinstance(error, Infeasible) and error.conflicts:
            told += f"; what clashes: {'; '.join(error.conflicts)}"
    except Exception as error:
        LOG.exception("job %s failed", name)
        told, severity = f"internal: {type(error).__name__}", "red"
    told = told[:_MOST_TOLD]
    with worker.ledger.writing() as session:
        is_news = job_ends(session, number, outcome, told, worker.clock())
        if outcome == DONE:
            clear_alarm(session, worker.site, "job", name, worker.clock())
        else:
            owner = _OWNERS.get(name, "operator")
            sentence = f"The job {name!r} failed: {told}"
            raise_alarm(
                session,
                Alarm(worker.site, "job", name, severity, sentence, fix, owner),
                worker.clock(),
            )
    usual = logging.INFO if is_news else logging.DEBUG
    LOG.log(usual if outcome == DONE else logging.WARNING, "job %s %s: %r", name, outcome, told)
    return outcome == DONE
