"""Carbon accounts as three tables from which every figure can be made again.

Headers carry their units and stay as they are. Numbers carry every digit, so that sums of rows are the totals to the
last one. Times are UTC. An empty cell says that the figure is not known or has no meaning there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from planner.accounts.carbon import SITE, UNALLOTTED
from planner.export.spreadsheet import csv_bytes, text_cell
from planner.timegrid import iso
from power.accounts import ON_SITE, market_by_volume_kg

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.accounts import CarbonAccounts, RunFigures

_LEAD = (
    "calendar_id",
    "series",
    "kind",
    "subject",
    "start_utc",
    "end_utc",
    "factor_set",
    "basis",
    "boundary",
)
HOURLY_COLUMNS = (
    *_LEAD,
    "it_kwh",
    "load_kwh",
    "import_kwh",
    "onsite_kwh",
    "matched_kwh",
    "unmatched_kwh",
    "cfe_kwh",
    "average_gco2_per_kwh",
    "residual_gco2_per_kwh",
    "marginal_gco2_per_kwh",
    "grid_cfe_share",
    "location_kg",
    "market_kg",
    "onsite_kg",
    "marginal_kg",
    "water_l",
    "heat_sold_kwh_th",
)
RUN_COLUMNS = (
    *_LEAD,
    "server",
    "it_kwh",
    "heat_kwh",
    "load_kwh",
    "import_kwh",
    "onsite_kwh",
    "matched_kwh",
    "cfe_kwh",
    "cfe_score",
    "location_kg",
    "market_kg",
    "market_by_volume_kg",
    "onsite_kg",
    "marginal_kg",
    "water_l",
    "gpu_hours",
    "embodied_low_kg",
    "embodied_mid_kg",
    "embodied_high_kg",
    "useful_tokens",
    "sci_low_g_per_mtoken",
    "sci_mid_g_per_mtoken",
    "sci_high_g_per_mtoken",
    "notes",
    "heat_sold_kwh_th",
)
CONTRACT_COLUMNS = (
    "calendar_id",
    "series",
    "contract",
    "technology",
    "boundary",
    "counts",
    "carbon_free",
    "renewable",
    "factor_set",
    "basis",
    "factor_gco2_per_kwh",
    "start_utc",
    "end_utc",
    "supplied_kwh",
    "used_kwh",
    "excess_kwh",
    "used_kg",
)
RUN = "run"

_FIGURES = HOURLY_COLUMNS[HOURLY_COLUMNS.index("it_kwh") :]

Number = float | None


def hourly_csv(accounts: CarbonAccounts) -> bytes:
    """Return the site's account, each run's and what no run uses, a row for every slot, UTF-8.

    A row is as long as the plan's slots: an hour, or a part of one where the plan is finer. A run has no row where it
    uses no energy.
    """
    account, grid = accounts.account, accounts.account.grid
    known = {
        "average_gco2_per_kwh": grid.average_gco2_per_kwh,
        "residual_gco2_per_kwh": grid.residual_gco2_per_kwh,
        "marginal_gco2_per_kwh": grid.marginal_gco2_per_kwh,
        "grid_cfe_share": grid.cfe_share,
    }
    left = 1.0 - accounts.share.sum(axis=0)
    left_kwh = account.it_kwh - accounts.run_kwh.sum(axis=0)
    columns, spans = accounts.columns, _spans(accounts)
    kept_by = (account.factors.label, account.factors.basis, text_cell(grid.zone))

    def part(
        kind: str, subject: str, figures: Mapping[str, npt.NDArray[np.float64] | None], on: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[str, ...]]:
        cells = zip(*(_texts(figures.get(name), len(spans)) for name in _FIGURES), strict=True)
        lead = (accounts.calendar_id, accounts.series, kind, text_cell(subject))
        for span, figure_cells, is_on in zip(spans, cells, on.tolist(), strict=True):
            if is_on:
                yield (*lead, *span, *kept_by, *figure_cells)

    def shared(share: npt.NDArray[np.float64], it_kwh: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
        found = {name: values * share for name, values in columns.items()}
        return found | {"it_kwh": it_kwh, "unmatched_kwh": account.unmatched_kwh * share}

    def rows() -> Iterator[tuple[str, ...]]:
        always = np.ones(accounts.n_slots, dtype=np.bool_)
        whole = {**columns, "it_kwh": account.it_kwh, "unmatched_kwh": account.unmatched_kwh, **known}
        yield from part(SITE, accounts.site, whole, always)
        for name, kwh, share in zip(accounts.runs, accounts.run_kwh, accounts.share, strict=True):
            yield from part(RUN, name, shared(share, kwh), kwh > 0.0)
        yield from part(UNALLOTTED, UNALLOTTED, shared(left, left_kwh), always)

    return csv_bytes(HOURLY_COLUMNS, rows())


def runs_csv(accounts: CarbonAccounts) -> bytes:
    """Return what the accounts come to: a row for the site, for each run and for what no run uses, UTF-8."""
    factors = accounts.account.factors
    notes = text_cell(" ".join(accounts.labels))

    def row(kind: str, subject: str, found: RunFigures, by_volume_kg: Number) -> tuple[str, ...]:
        sci = found.sci
        figures = (
            found.it_kwh, found.it_kwh, found.load_kwh, found.import_kwh, found.onsite_kwh, found.matched_kwh,
            found.cfe_kwh, found.cfe_score, found.location_kg, found.market_kg, by_volume_kg, found.onsite_kg,
            found.marginal_kg, found.water_l, found.gpu_hours, found.embodied.low_kg, found.embodied.mid_kg,
            found.embodied.high_kg, found.tokens,
            None if sci is None else sci.low_g_per_mtoken,
            None if sci is None else sci.mid_g_per_mtoken,
            None if sci is None else sci.high_g_per_mtoken,
        )  # fmt: skip
        lead = (accounts.calendar_id, accounts.series, kind, text_cell(subject), iso(accounts.start), iso(accounts.end))
        kept_by = (
            factors.label,
            factors.basis,
            text_cell(accounts.account.grid.zone),
            text_cell(accounts.server.label),
        )
        return (*lead, *kept_by, *map(number_cell, figures), notes, number_cell(found.heat_sold_kwh_th))

    return csv_bytes(
        RUN_COLUMNS,
        (
            row(SITE, accounts.site, accounts.site_figures, market_by_volume_kg(accounts.account)),
            *(row(RUN, found.subject, found, None) for found in accounts.run_figures),
            row(UNALLOTTED, UNALLOTTED, accounts.unallotted, None),
        ),
    )


def contracts_csv(accounts: CarbonAccounts) -> bytes:
    """Return each contract and plant behind the meter, a row for every slot, UTF-8; they stand as they are matched."""
    account = accounts.account
    spans = _spans(accounts)

    def rows() -> Iterator[tuple[str, ...]]:
        for contract, supplied, used in zip(account.contracts, account.supplied_kwh, account.used_kwh, strict=True):
            lead = (
                accounts.calendar_id,
                accounts.series,
                text_cell(contract.name),
                text_cell(contract.technology),
                text_cell(contract.boundary),
                _yes(contract.boundary in {ON_SITE, account.grid.zone}),
                _yes(contract.technology in account.factors.carbon_free),
                _yes(contract.technology in account.factors.renewable),
                account.factors.label,
                contract.basis,
                number_cell(contract.factor_gco2_per_kwh),
            )
            kg = used * contract.factor_gco2_per_kwh / 1000.0
            figures = (_texts(values, len(spans)) for values in (supplied, used, supplied - used, kg))
            for span, *cells in zip(spans, *figures, strict=True):
                yield (*lead, *span, *cells)

    return csv_bytes(CONTRACT_COLUMNS, rows())


def number_cell(value: Number) -> str:
    """Return a number with every digit, or nothing for None."""
    return "" if value is None else repr(float(value) + 0.0).removesuffix(".0")


def _texts(values: npt.NDArray[np.float64] | None, n: int) -> list[str]:
    return [""] * n if values is None else [number_cell(value) for value in values.tolist()]


def _spans(accounts: CarbonAccounts) -> list[tuple[str, str]]:
    edges = [iso(accounts.edge(i)) for i in range(accounts.n_slots + 1)]
    return list(pairwise(edges))


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
