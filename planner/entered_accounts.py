"""The carbon accounts of a published calendar as its ledger has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.accounts.training import training_energy
from planner.errors import ConfigError
from planner.folders import LEDGER, read_published
from planner.ledger import Ledger

if TYPE_CHECKING:
    from planner.accounts import CarbonAccounts
    from planner.accounts.training import TrainingEnergy


def entered_accounts(path: Path) -> tuple[CarbonAccounts, tuple[TrainingEnergy, ...]]:
    """Return the accounts of a calendar and the energy statement of each run.

    Args:
        path: Output folder of a week, or a calendar's own folder.

    Raises:
        ConfigError: There is no calendar, no ledger beside it or no account in it, or one was changed since.
    """
    header, runs, home = read_published(path)
    file = home / LEDGER
    missing = f"calendar {header.calendar_id} has no carbon accounts in {file}"
    mend = "plan the week again: gridpace plan enters its accounts"
    if not file.is_file():
        raise ConfigError(missing, why="the ledger is not there", fix=mend)
    with Ledger(file) as ledger:
        accounts = ledger.carbon(header, runs)
        if accounts is None:
            raise ConfigError(missing, why="it was published before accounts were kept", fix=mend)
        until = ledger.reported_until(header.calendar_id)
        reported = () if until is None else ledger.accounts(header.calendar_id, until)
    return accounts, training_energy(accounts, {account.run: account for account in reported}, until)
