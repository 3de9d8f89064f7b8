"""Carbon accounts into the ledger and out of it again, digit for digit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from planner.accounts.carbon import CarbonAccounts
from planner.accounts.windows import run_columns
from planner.errors import ConfigError
from planner.ledger.carbon_tables import (
    AccountRow,
    ContractRow,
    ContractSlotRow,
    FactorSetRow,
    RunRow,
    SiteSlotRow,
)
from planner.ledger.inserting import insert_into
from planner.ledger.rows import enter_rows
from power.accounts import ContractHours, GridHours, SiteAccount
from power.embodied import Embodied, Server
from power.factors import Factor, FactorSet

if TYPE_CHECKING:
    import numpy.typing as npt
    from sqlalchemy.orm import Session

    from planner.ledger.tables import Table
    from trainer_hooks.contract import Calendar, RunCalendar

_SITE = (
    "it_kwh", "facility_kwh", "load_kwh", "import_kwh", "onsite_kwh", "matched_kwh", "cfe_kwh", "location_kg",
    "market_kg", "onsite_kg", "marginal_kg",
)  # fmt: skip
_CASES = ("low", "mid", "high")
_RUN = (
    "it_kwh", "load_kwh", "import_kwh", "onsite_kwh", "matched_kwh", "cfe_kwh", "location_kg", "market_kg", "onsite_kg",
    "marginal_kg", "water_l", "gpu_hours", "tokens", "heat_sold_kwh_th",
)  # fmt: skip


def enter_carbon(session: Session, accounts: CarbonAccounts) -> None:
    """Enter the carbon accounts of a plan that the ledger has; the same accounts again are left as they are.

    Args:
        session: An open transaction.
        accounts: The accounts.

    Raises:
        ConfigError: Other accounts of the same calendar stand there.
    """
    account = accounts.account
    set_number = _factor_set(session, account.factors)
    header = insert_into(session, AccountRow).values(
        calendar_id=accounts.calendar_id,
        series=accounts.series,
        labels=json.dumps(accounts.labels),
        factor_set=set_number,
        zone=account.grid.zone,
        start=accounts.start,
        slot_minutes=accounts.slot_minutes,
        server=json.dumps(asdict(accounts.server)),
        sources=json.dumps(accounts.sources),
        stored_kwh=accounts.stored_kwh,
        gpu_hours=accounts.gpu_hours,
        sha256=accounts.sha256,
    )
    number = session.execute(header.on_conflict_do_nothing().returning(AccountRow.number)).scalar()
    if number is None:
        kept = _account(session, accounts.calendar_id, accounts.series)
        assert kept is not None
        if kept.sha256 != accounts.sha256:
            raise ConfigError(
                f"calendar {accounts.calendar_id} has carbon accounts on {accounts.series} series already, of digest "
                f"{kept.sha256[:12]}, and these are of {accounts.sha256[:12]}",
                why="accounts of a calendar are entered once and never changed",
                fix="put back what they were kept by, or move the ledger away to keep new accounts in a new one",
            )
        return
    keys = (number, set_number)
    _enter_site(session, accounts, keys)
    _enter_runs(session, accounts, keys)


def read_carbon(
    session: Session, calendar: Calendar, runs: Sequence[RunCalendar], series: str
) -> CarbonAccounts | None:
    """Return the carbon accounts of a calendar as they were entered, or None where there are none.

    Args:
        session: An open session.
        calendar: The header.
        runs: The windows of every run, from which each run's energy per slot is made again.
        series: Which series they stand on: "planned" or "actual".

    Raises:
        ConfigError: Ledger or calendar is not what it was when the accounts were entered.
    """
    row = _account(session, calendar.calendar_id, series)
    if row is None:
        return None
    factors = _read_factors(session.get_one(FactorSetRow, row.factor_set))
    server = json.loads(row.server)
    heat_sold_kwh_th = _column(session, SiteSlotRow, row.number, "heat_sold_kwh_th")
    accounts = CarbonAccounts(
        calendar_id=row.calendar_id,
        series=row.series,
        site=calendar.site,
        start=row.start,
        slot_minutes=row.slot_minutes,
        account=_read_site(session, row, factors),
        water_l=_column(session, SiteSlotRow, row.number, "water_l"),
        stored_kwh=row.stored_kwh,
        gpu_hours=row.gpu_hours,
        server=Server(**(server | {"made": Embodied(**server["made"])})),
        sources=tuple((name, source) for name, source in json.loads(row.sources)),
        **run_columns(calendar, runs),
        labels=tuple(json.loads(row.labels)),
        heat_sold_kwh_th=None if np.isnan(heat_sold_kwh_th).any() else heat_sold_kwh_th,
    )
    if accounts.sha256 != row.sha256:
        raise ConfigError(
            f"the carbon accounts of calendar {row.calendar_id} have digest {accounts.sha256[:12]}, but were entered "
            f"with {row.sha256[:12]}",
            why="ledger or calendar was changed since",
            fix="restore both from where they were written",
        )
    return accounts


def _account(session: Session, calendar_id: str, series: str) -> AccountRow | None:
    found = select(AccountRow).where(AccountRow.calendar_id == calendar_id, AccountRow.series == series)
    return session.scalars(found).one_or_none()


def _factor_set(session: Session, factors: FactorSet) -> int:
    told = asdict(replace(factors, factors={}))  # the mapping itself stands below, in order of name
    told["factors"] = {name: asdict(factor) for name, factor in sorted(factors.factors.items())}
    told |= {key: sorted(told[key]) for key in ("carbon_free", "renewable")}
    content = json.dumps(told, sort_keys=True)
    keys = {"name": factors.name, "version": factors.version, "basis": factors.basis, "content": content}
    session.execute(insert_into(session, FactorSetRow).values(keys).on_conflict_do_nothing())
    return session.scalars(select(FactorSetRow.number).filter_by(**keys)).one()


def _read_factors(row: FactorSetRow) -> FactorSet:
    told = json.loads(row.content)
    return FactorSet(
        name=row.name,
        version=row.version,
        basis=row.basis,
        factors={name: Factor(**one) for name, one in told["factors"].items()},
        carbon_free=frozenset(told["carbon_free"]),
        renewable=frozenset(told["renewable"]),
    )


def _enter_site(session: Session, accounts: CarbonAccounts, keys: tuple[int, int]) -> None:
    account, grid, n = accounts.account, accounts.account.grid, accounts.n_slots
    start_s = _starts_s(accounts)
    number, factor_set = keys
    columns: dict[str, npt.NDArray[np.float64] | None] = {name: getattr(account, name) for name in _SITE}
    columns |= {
        "average_gco2_per_kwh": grid.average_gco2_per_kwh,
        "residual_gco2_per_kwh": grid.residual_gco2_per_kwh,
        "marginal_gco2_per_kwh": grid.marginal_gco2_per_kwh,
        "grid_cfe_share": grid.cfe_share,
        "water_l": accounts.water_l,
        "heat_sold_kwh_th": accounts.heat_sold_kwh_th,
    }
    _enter(
        session,
        SiteSlotRow,
        {"account": [number] * n, "start_s": start_s, "factor_set": [factor_set] * n}
        | {name: _values(values, n) for name, values in columns.items()},
    )
    for position, contract in enumerate(account.contracts):
        session.add(
            ContractRow(
                account=number,
                position=position,
                name=contract.name,
                technology=contract.technology,
                factor_gco2_per_kwh=contract.factor_gco2_per_kwh,
                basis=contract.basis,
                boundary=contract.boundary,
            )
        )
        _enter(
            session,
            ContractSlotRow,
            {
                "account": [number] * n,
                "position": [position] * n,
                "start_s": start_s,
                "factor_set": [factor_set] * n,
                "supplied_kwh": account.supplied_kwh[position].tolist(),
                "used_kwh": account.used_kwh[position].tolist(),
            },
        )


def _enter_runs(session: Session, accounts: CarbonAccounts, keys: tuple[int, int]) -> None:
    number, factor_set = keys
    found = accounts.run_figures
    embodied = {f"embodied_{case}_kg": [getattr(f.embodied, f"{case}_kg") for f in found] for case in _CASES}
    _enter(
        session,
        RunRow,
        {
            "account": [number] * len(found),
            "position": range(len(found)),
            "run": accounts.runs,
            "factor_set": [factor_set] * len(found),
        }
        | embodied
        | {name: [getattr(figures, name) for figures in found] for name in _RUN},
    )


def _starts_s(accounts: CarbonAccounts) -> list[int]:
    """Return the start of every slot in seconds since 1970, UTC."""
    return [int(accounts.edge(slot).timestamp()) for slot in range(accounts.n_slots)]


def _values(values: npt.NDArray[np.float64] | None, n: int) -> Iterable[Any]:
    return [None] * n if values is None else values.tolist()


def _enter(session: Session, table: type[Table], columns: Mapping[str, Iterable[Any]]) -> None:
    """Enter rows given as columns by name."""
    enter_rows(session, table, zip(*(columns[column.name] for column in table.__table__.c), strict=True))


def _read_site(session: Session, row: AccountRow, factors: FactorSet) -> SiteAccount:
    found = {name: _column(session, SiteSlotRow, row.number, name) for name in (*_SITE, *_GRID)}
    known = not np.isnan(found["marginal_gco2_per_kwh"]).any()
    contracts = session.scalars(
        select(ContractRow).where(ContractRow.account == row.number).order_by(ContractRow.position)
    ).all()
    slot_h, n = row.slot_minutes / 60, len(found["it_kwh"])
    supplied, used = (
        _column(session, ContractSlotRow, row.number, name).reshape(len(contracts), n)
        for name in ("supplied_kwh", "used_kwh")
    )
    marginal_kg = found.pop("marginal_kg")
    grid = GridHours(
        zone=row.zone,
        basis=factors.basis,
        average_gco2_per_kwh=found.pop("average_gco2_per_kwh"),
        residual_gco2_per_kwh=found.pop("residual_gco2_per_kwh"),
        marginal_gco2_per_kwh=found.pop("marginal_gco2_per_kwh") if known else None,
        cfe_share=found.pop("grid_cfe_share"),
    )
    found.pop("marginal_gco2_per_kwh", None)
    return SiteAccount(
        factors=factors,
        grid=grid,
        contracts=tuple(
            ContractHours(c.name, c.technology, c.factor_gco2_per_kwh, c.basis, c.boundary, supplied[i] / slot_h)
            for i, c in enumerate(contracts)
        ),
        slot_h=slot_h,
        supplied_kwh=supplied,
        used_kwh=used,
        marginal_kg=marginal_kg if known else None,
        **found,
    )


_GRID = ("average_gco2_per_kwh", "residual_gco2_per_kwh", "marginal_gco2_per_kwh", "grid_cfe_share")


def _column(session: Session, table: type[Table], number: int, name: str) -> npt.NDArray[np.float64]:
    columns = table.__table__.c
    order = [column for column in table.__table__.primary_key if column.name != "account"]
    values = session.scalars(select(columns[name]).where(columns["account"] == number).order_by(*order)).all()
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
