"""Carbon accounts and statements as one plain document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planner.accounts.eu_kpis import DUTY, REGULATION, eu_indicators
from planner.accounts.training import ACT
from planner.timegrid import iso
from power.accounts import ON_SITE, market_by_volume_kg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.accounts.carbon import CarbonAccounts
    from planner.accounts.run_figures import RunFigures
    from planner.accounts.training import TrainingEnergy

SCHEMA = "gridpace.carbon-accounts/1"


def accounts_document(accounts: CarbonAccounts, statements: Sequence[TrainingEnergy]) -> dict[str, Any]:
    """Return the accounts with their statements.

    Args:
        accounts: The accounts of a calendar.
        statements: The energy of training, from `planner.accounts.training.training_energy`.
    """
    account, server = accounts.account, accounts.server
    return {
        "schema": SCHEMA,
        "calendar_id": accounts.calendar_id,
        "series": accounts.series,
        "site": accounts.site,
        "start": iso(accounts.start),
        "end": iso(accounts.end),
        "slot_minutes": accounts.slot_minutes,
        "sha256": accounts.sha256,
        "factor_set": {
            "name": account.factors.name,
            "version": account.factors.version,
            "basis": account.factors.basis,
        },
        "boundary": account.grid.zone,
        "server": asdict(server),
        "sources": dict(accounts.sources),
        "site_figures": _figures(accounts.site_figures) | {"market_by_volume_kg": market_by_volume_kg(account)},
        "runs": [_figures(found) for found in accounts.run_figures],
        "unallotted": _figures(accounts.unallotted),
        "contracts": [
            {
                "name": contract.name,
                "technology": contract.technology,
                "boundary": contract.boundary,
                "counts": contract.boundary in {ON_SITE, account.grid.zone},
                "factor_gco2_per_kwh": contract.factor_gco2_per_kwh,
                "basis": contract.basis,
                "supplied_kwh": float(supplied.sum()),
                "used_kwh": float(used.sum()),
            }
            for contract, supplied, used in zip(account.contracts, account.supplied_kwh, account.used_kwh, strict=True)
        ],
        "eu_2024_1364": {
            "regulation": REGULATION,
            "duty": DUTY,
            "indicators": [asdict(indicator) for indicator in eu_indicators(accounts)],
        },
        "training_energy": {"act": ACT, "statements": [_statement(one) for one in statements]},
        "notes": list(accounts.labels),
    }


def _figures(found: RunFigures) -> dict[str, Any]:
    sci = found.sci
    told = asdict(found)
    return told | {"cfe_score": found.cfe_score, "sci": None if sci is None else asdict(sci)}


def _statement(one: TrainingEnergy) -> dict[str, Any]:
    return asdict(one) | {"start": iso(one.start), "end": iso(one.end)}
