"""The carbon accounts of one calendar: the site's hours, what each run has of them, and by which factors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from planner.accounts.grid import grid_hours, told_sources
from planner.accounts.run_figures import RunFigures
from planner.accounts.supply import contract_hours
from planner.accounts.windows import run_columns
from planner.errors import ConfigError
from planner.timegrid import iso
from power.accounts import site_account
from power.allotment import shared_columns, shares, totals
from power.factors import MixedBasis, UnknownTechnology

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.evaluate.record import Evaluation
    from planner.outlook import Gathered
    from planner.week import Week
    from power.accounts import SiteAccount
    from power.embodied import Server
    from trainer_hooks.contract import Calendar, RunCalendar

PLANNED, ACTUAL = SERIES = ("planned", "actual")
"""Which series an account stands on: those that the plan knew, or those that came."""

SITE = "site"
UNALLOTTED = "unallotted"


@dataclass(frozen=True)
class CarbonAccounts:
    """The carbon accounts of one calendar.

    Args:
        calendar_id: The calendar.
        series: Which series it stands on: `PLANNED` or `ACTUAL`.
        site: Name of the site.
        start: First instant, UTC.
        slot_minutes: Length of a slot, min.
        account: The site's account per slot.
        water_l: Water of the site per slot, L, shape (T,).
        stored_kwh: Energy in the site's stores at the end less that at the start.
        gpu_hours: GPUs in service times hours, of the whole site.
        server: What embodied carbon is counted by.
        sources: Where each figure of the grid comes from: name and source.
        runs: Names of the runs.
        run_kwh: IT energy of each run per slot, kWh, shape (R, T).
        run_tokens: Useful tokens of each run, shape (R,).
        run_gpu_hours: GPUs times the hours for which each run reserves them, shape (R,).
        labels: Sentences that every output must show.
        heat_sold_kwh_th: Heat sold per slot, kWh of heat, shape (T,), or None where no block has a buyer.
    """

    calendar_id: str
    series: str
    site: str
    start: datetime
    slot_minutes: int
    account: SiteAccount
    water_l: npt.NDArray[np.float64]
    stored_kwh: float
    gpu_hours: float
    server: Server
    sources: tuple[tuple[str, str], ...]
    runs: tuple[str, ...]
    run_kwh: npt.NDArray[np.float64]
    run_tokens: npt.NDArray[np.float64]
    run_gpu_hours: npt.NDArray[np.float64]
    labels: tuple[str, ...] = ()
    heat_sold_kwh_th: npt.NDArray[np.float64] | None = None

    def edge(self, slot: int) -> datetime:
        """Return the first instant of a slot, UTC; that of `n_slots` is the first one after the last."""
        return self.start + slot * timedelta(minutes=self.slot_minutes)

    @property
    def end(self) -> datetime:
        """First instant after the last slot, UTC."""
        return self.edge(self.n_slots)

    @property
    def n_slots(self) -> int:
        """Count of slots."""
        return len(self.water_l)

    @property
    def columns(self) -> dict[str, npt.NDArray[np.float64]]:
        """The site's figures per slot that are shared among its runs by IT energy, each of shape (T,)."""
        columns = shared_columns(self.account) | {"water_l": self.water_l}
        return columns if self.heat_sold_kwh_th is None else columns | {"heat_sold_kwh_th": self.heat_sold_kwh_th}

    @cached_property
    def share(self) -> npt.NDArray[np.float64]:
        """Each run's part of the site's IT energy per slot, shape (R, T)."""
        return shares(self.run_kwh, self.account.it_kwh)

    @cached_property
    def site_figures(self) -> RunFigures:
        """What the site's account comes to."""
        sums = {name: float(values.sum()) for name, values in self.columns.items()}
        return RunFigures(
            subject=SITE,
            it_kwh=float(self.account.it_kwh.sum()),
            marginal_kg=sums.pop("marginal_kg", None),
            heat_sold_kwh_th=sums.pop("heat_sold_kwh_th", None),
            gpu_hours=self.gpu_hours,
            embodied=self.server.embodied(self.gpu_hours),
            tokens=float(self.run_tokens.sum()),
            **sums,
        )

    @cached_property
    def run_figures(self) -> tuple[RunFigures, ...]:
        """What each run's account comes to."""
        sums = {name: values.tolist() for name, values in totals(self.share, self.columns).items()}
        it_kwh = self.run_kwh.sum(axis=1).tolist()
        tokens, reserved = self.run_tokens.tolist(), self.run_gpu_hours.tolist()
        unknown: list[float | None] = [None] * len(self.runs)
        marginal_kg, heat_sold_kwh_th = (sums.pop(name, unknown) for name in ("marginal_kg", "heat_sold_kwh_th"))
        return tuple(
            RunFigures(
                subject=name,
                it_kwh=it_kwh[i],
                marginal_kg=marginal_kg[i],
                heat_sold_kwh_th=heat_sold_kwh_th[i],
                gpu_hours=reserved[i],
                embodied=self.server.embodied(reserved[i]),
                tokens=tokens[i],
                **{column: values[i] for column, values in sums.items()},
            )
            for i, name in enumerate(self.runs)
        )

    @cached_property
    def unallotted(self) -> RunFigures:
        """What no run uses and the site bears: GPUs without a job, with their share of the rest."""
        left = 1.0 - self.share.sum(axis=0)
        sums = {name: float((values * left).sum()) for name, values in self.columns.items()}
        reserved = self.gpu_hours - float(self.run_gpu_hours.sum())
        return RunFigures(
            subject=UNALLOTTED,
            it_kwh=float((self.account.it_kwh - self.run_kwh.sum(axis=0)).sum()),
            marginal_kg=sums.pop("marginal_kg", None),
            heat_sold_kwh_th=sums.pop("heat_sold_kwh_th", None),
            gpu_hours=reserved,
            embodied=self.server.embodied(reserved),
            tokens=0.0,
            **sums,
        )

    @cached_property
    def sha256(self) -> str:
        """Digest of all that the accounts say, hexadecimal."""
        account, grid = self.account, self.account.grid
        told = {
            "calendar_id": self.calendar_id,
            "series": self.series,
            "labels": self.labels,
            "site": self.site,
            "start": iso(self.start),
            "slot_minutes": self.slot_minutes,
            "factors": [account.factors.label, account.factors.basis],
            "server": [self.server.label, *vars(self.server.made).values()],
            "lives_h": [self.server.gpus, self.server.low_life_h, self.server.mid_life_h, self.server.high_life_h],
            "zone": grid.zone,
            "sources": self.sources,
            "contracts": [[c.name, c.technology, c.factor_gco2_per_kwh, c.boundary] for c in account.contracts],
            "stored_kwh": self.stored_kwh,
            "gpu_hours": self.gpu_hours,
            "runs": self.runs,
        }
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
        series = [*self.columns.values(), account.it_kwh, account.facility_kwh, account.supplied_kwh, account.used_kwh]
        series += [grid.average_gco2_per_kwh, grid.residual_gco2_per_kwh, grid.cfe_share]
        series += [self.run_kwh, self.run_tokens, self.run_gpu_hours]
        if grid.marginal_gco2_per_kwh is not None:
            series.append(grid.marginal_gco2_per_kwh)
        for values in series:
            digest.update(np.ascontiguousarray(values, dtype="<f8").data)
        return digest.hexdigest()


def carbon_accounts(
    week: Week,
    calendar: Calendar,
    runs: Sequence[RunCalendar],
    evaluation: Evaluation,
    actual: Gathered | None = None,
) -> CarbonAccounts | None:
    """Return the carbon accounts of a calendar, or None where the week names nothing to keep them by.

    Args:
        week: The inputs that the calendar was made from.
        calendar: The header.
        runs: The windows of every run.
        evaluation: The judge's figures on the series that the account stands on.
        actual: The series as they were, or None for an account on those that the plan knew.

    Raises:
        ConfigError: Direct and lifecycle figures would meet, or a factor is not known.
        GapInSeries: A series of hours does not cover the week.
    """
    accounting = week.accounting
    if accounting is None:
        return None
    blocks, slot_h = evaluation.blocks, week.grid.slot_h
    sells_heat = any(block.heat is not None for block in week.blocks)
    factors = accounting.factors
    signals = week.signals if actual is None else actual.signals
    provenance = week.provenance if actual is None else actual.provenance
    average = next((p.source for p in provenance if p.signal == "ci_gco2_per_kwh"), "not stated")
    try:
        account = site_account(
            factors,
            grid_hours(accounting, signals, week.grid),
            contract_hours(week, calendar, blocks, factors, signals),
            it_kw=np.sum([b.it_kw for b in blocks], axis=0),
            facility_kw=np.sum([b.facility_kw for b in blocks], axis=0),
            # What flows back to the grid earns nothing here.
            import_kw=np.sum([np.maximum(b.import_kw, 0.0) for b in blocks], axis=0),
            slot_h=slot_h,
        )
    except (MixedBasis, UnknownTechnology) as error:
        raise ConfigError(
            f"site {week.site}: {error}",
            why="figures of one account have one basis and one factor set",
            fix="set [carbon] basis, [accounts] factor_set and the factors of contracts to one basis",
        ) from error
    return CarbonAccounts(
        calendar_id=calendar.calendar_id,
        series=PLANNED if actual is None else ACTUAL,
        site=week.site,
        start=week.grid.start,
        slot_minutes=week.grid.slot_minutes,
        account=account,
        water_l=np.sum([b.water_l for b in blocks], axis=0),
        stored_kwh=float(evaluation.battery_change_kwh),
        gpu_hours=sum(float(pool.gpus_in_service(week.grid).sum()) for pool in week.pools) * slot_h,
        server=accounting.server,
        sources=told_sources(accounting, average),
        **run_columns(calendar, runs),
        labels=tuple(dict.fromkeys((*calendar.notes, *(() if actual is None else actual.labels)))),
        heat_sold_kwh_th=slot_h * np.sum([b.heat_sold_kw_th for b in blocks], axis=0) if sells_heat else None,
    )
