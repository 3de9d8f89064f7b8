"""Small carbon accounts for tests: factor sets, contracts and weeks whose figures can be worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.accounts import CarbonAccounts, carbon_accounts
from planner.outcome import Outcome
from planner.week import Week
from power.accounting import Accounting
from power.accounts import ContractHours, GridHours, SiteAccount, site_account
from power.embodied import Embodied, Server
from power.factors import Factor, FactorSet
from tests.outcomes import full_week, sample_outcome

SET = FactorSet(
    name="made-up",
    version="3",
    basis="lifecycle",
    factors={
        name: Factor(value, "assumed", "a test") for name, value in (("wind", 11.0), ("solar", 45.0), ("gas", 490.0))
    },
    carbon_free=frozenset({"wind", "solar"}),
    renewable=frozenset({"wind", "solar"}),
)
SERVER = Server("box", "2", 8, Embodied(3000.0, 4000.0, 5000.0), 52_560.0, 43_800.0, 35_040.0, "a test")
ACCOUNTING = Accounting("zone-a", SET, SERVER)


def contract(kw, name="ppa", technology="wind", boundary="zone-a", basis="lifecycle") -> ContractHours:
    """A contract at its technology's factor."""
    return ContractHours(name, technology, SET.gco2_per_kwh(technology), basis, boundary, np.array(kw, dtype=float))


def grid(average, *, residual=500.0, marginal=None, cfe=0.0, basis="lifecycle") -> GridHours:
    """The grid of zone-a."""
    average = np.asarray(average, dtype=float)

    def series(value):
        return np.broadcast_to(np.asarray(value, dtype=float), average.shape).copy()

    return GridHours(
        "zone-a", basis, average, series(residual), None if marginal is None else series(marginal), series(cfe)
    )


def site(import_kw, contracts=(), *, hours=None, slot_h=1.0) -> SiteAccount:
    """A site that takes `import_kw` from the grid, 80 % of it IT."""
    import_kw = np.asarray(import_kw, dtype=float)
    return site_account(
        SET,
        hours or grid(np.full(import_kw.shape, 300.0)),
        contracts,
        it_kw=0.8 * import_kw,
        facility_kw=import_kw,
        import_kw=import_kw,
        slot_h=slot_h,
    )


def accounted_week(accounting: Accounting = ACCOUNTING, **changes) -> Week:
    """The sample week of 168 h, with accounts."""
    return replace(full_week(**changes), accounting=accounting)


def accounted_outcome(accounting: Accounting = ACCOUNTING, **changes) -> Outcome:
    """The sample outcome, with accounts."""
    return sample_outcome(accounted_week(accounting, **changes), kept=True)


def with_contracts(accounts: CarbonAccounts) -> CarbonAccounts:
    """The accounts with a wind and a gas contract in the zone, one that delivers elsewhere, and heat sold."""
    account, h = accounts.account, accounts.account.slot_h
    wave = 150.0 * (1.0 + np.sin(np.arange(accounts.n_slots) / 9.0))
    more = (
        contract(wave, "wind-ppa"),
        contract(np.full(accounts.n_slots, 40.0), "gas-block", "gas"),
        contract(np.full(accounts.n_slots, 90.0), "far-wind", boundary="zone-b"),
    )
    matched = site_account(
        account.factors,
        account.grid,
        (*account.contracts, *more),
        it_kw=account.it_kwh / h,
        facility_kw=account.facility_kwh / h,
        import_kw=account.import_kwh / h,
        slot_h=h,
    )
    return replace(accounts, account=matched, water_l=0.3 * account.it_kwh, heat_sold_kwh_th=0.2 * account.it_kwh)


def sample_accounts(outcome: Outcome | None = None) -> CarbonAccounts:
    """The accounts of the sample outcome."""
    given = outcome or accounted_outcome()
    found = carbon_accounts(given.week, given.calendar, given.runs, given.evaluation)
    assert found is not None
    return found


def rolled_up(values: np.ndarray, slots: int) -> np.ndarray:
    """The sums of every `slots` neighbouring slots."""
    return values.reshape(*values.shape[:-1], -1, slots).sum(axis=-1)
