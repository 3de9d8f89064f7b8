"""The carbon accounts of a published calendar as its ledger has them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from planner.accounts import carbon_accounts
from planner.accounts.carbon import ACTUAL, PLANNED
from planner.accounts.training import training_energy
from planner.config import load_site
from planner.errors import ConfigError
from planner.evaluate import carbon_per_it_kwh, evaluate
from planner.folders import LEDGER, read_published
from planner.inputs import week_of
from planner.ledger import Ledger
from planner.outlook import actual_signals
from planner.sources.cache import ResponseCache, default_folder

if TYPE_CHECKING:
    from planner.accounts import CarbonAccounts
    from planner.accounts.training import TrainingEnergy


def enter_actual(path: Path, site: Path, *, offline: bool) -> None:
    """Make the account of a calendar on the series as they were, and enter it once.

    Runs, battery and generators keep to the calendar; cooling, sun, wind, import and carbon follow what came.

    Args:
        path: Output folder of a week, or a calendar's own folder.
        site: Site file that the calendar was made from; its sources know the series as they were.
        offline: Whether to keep off the network.

    Raises:
        ConfigError: Another account on actual series stands there already, or there is no calendar.
        DataUnavailable: The week is not over, or the sources have no actual values of all of it.
    """
    header, runs, home = read_published(path)
    week = week_of(header, site, home, offline=offline)
    now = datetime.now(UTC)
    known = actual_signals(load_site(site), week.grid, now=now, offline=offline, cache=ResponseCache(default_folder()))
    planned = evaluate(header, runs, week)
    accounts = carbon_accounts(week, header, runs, evaluate(header, runs, week, known.signals), known)
    rates = carbon_per_it_kwh(week, week.signals, planned.blocks)
    with Ledger(home / LEDGER) as ledger:
        ledger.record_plan(header, runs, rates.tolist(), accounts)


def entered_accounts(path: Path, *, actual: bool) -> tuple[CarbonAccounts, tuple[TrainingEnergy, ...]]:
    """Return the accounts of a calendar and the energy statements of its runs.

    Args:
        path: Output folder of a week, or a calendar's own folder.
        actual: Whether those on the series as they were, or those that the plan knew.

    Raises:
        ConfigError: There is no calendar, no ledger beside it or no account in it, or one was changed since.
    """
    header, runs, home = read_published(path)
    if any(" of " in name for name in header.inputs if name.startswith("signal ")):
        raise ConfigError(
            f"calendar {header.calendar_id} plans several sites; they have no carbon accounts",
            fix="describe each site in a file of its own for this",
        )
    file = home / LEDGER
    series = ACTUAL if actual else PLANNED
    missing = f"calendar {header.calendar_id} has no carbon accounts on {series} series in {file}"
    mend = "name the site file too: --actual --site" if actual else "plan the week again: gridpace plan enters them"
    if not file.is_file():
        raise ConfigError(missing, why="the ledger is not there", fix=mend)
    with Ledger(file) as ledger:
        accounts = ledger.carbon(header, runs, series)
        if accounts is None:
            raise ConfigError(missing, why="none were entered", fix=mend)
        until = ledger.reported_until(header.calendar_id)
        reported = () if until is None else ledger.accounts(header.calendar_id, until)
    return accounts, training_energy(accounts, {account.run: account for account in reported}, until)
