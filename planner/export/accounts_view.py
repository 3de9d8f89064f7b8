"""What the carbon accounts say, as words and rows: figures with their formula, and a row worked through."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from planner.accounts.carbon import ACTUAL, PLANNED, SITE, UNALLOTTED
from planner.accounts.eu_kpis import DUTY, REGULATION, eu_indicators
from planner.accounts.training import (
    ACT,
    ESTIMATED,
    IT_BOUNDARY,
    KNOWN,
    METER_BOUNDARY,
    METERED,
    NO_METER,
    training_energy,
)
from planner.export import wording
from planner.timegrid import iso
from power.accounts import ON_SITE, market_by_volume_kg

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from planner.accounts import CarbonAccounts, RunFigures
    from planner.accounts.training import TrainingEnergy
    from planner.outcome import Outcome

TOLD_SERIES = {PLANNED: "those that the plan knew: a forecast", ACTUAL: "those that came"}
DIGITS = 6
NONE = "\u2013"
AUDIT_HEADS = ("Figure", "Value", "Unit", "How to make it again from the rows")
RUN_HEADS = (
    "Run", "IT energy, kWh", "Load, kWh", "Location-based, kg", "Market-based, kg", "On site, kg", "Free of carbon",
    "GPU-hours", "Embodied, kg", "SCI, g per million tokens",
)  # fmt: skip
CONTRACT_HEADS = (
    "Contract", "Technology", "Delivered in", "Factor, g/kWh", "Supplied, kWh", "Used, kWh", "Excess, kWh", "kg",
)  # fmt: skip
SLOT_HEADS = (
    "Start (UTC)", "it_kwh", "load_kwh", "import_kwh", "onsite_kwh", "matched_kwh", "cfe_kwh", "average_gco2_per_kwh",
    "residual_gco2_per_kwh", "location_kg", "market_kg", "onsite_kg",
)  # fmt: skip
EU_HEADS = ("Indicator", "What it is", "Value", "Unit", "How, or who knows it")
TRAINING_HEADS = (
    "Run", "Energy", "kWh", "\u00b1 kWh", "With the site's share, kWh", "kg CO2e", "Useful tokens", "From", "Until",
)  # fmt: skip
_STATED = {"week": "", "year": "only a year states it: ", "site": "the site states it: "}


def section(outcome: Outcome) -> dict[str, Any] | None:
    """Return what the report's section on carbon accounts lays out, or None without accounts."""
    accounts = outcome.carbon
    if accounts is None:
        return None
    reported = {account.run: account for account in outcome.accounts}
    statements = training_energy(accounts, reported, outcome.accounted_until)
    known = tuple(dict.fromkeys(one.method for one in statements if one.kind == "known")) or (KNOWN,)
    return {
        "kept_by": kept_by(accounts),
        "audit": (AUDIT_HEADS, audit_rows(accounts)),
        "runs": (RUN_HEADS, run_rows(accounts)),
        "contracts": (CONTRACT_HEADS, contract_rows(accounts)),
        "worked": worked(accounts),
        "slots": (SLOT_HEADS, slot_rows(accounts)),
        "duty": f"{REGULATION}. {DUTY}",
        "eu": (EU_HEADS, eu_rows(accounts)),
        "act": f"{ACT}. The energy of a model is the sum over all weeks of its training.",
        "methods": (
            ("Estimated", ESTIMATED, IT_BOUNDARY, NO_METER),
            *(("Known", method, METER_BOUNDARY, METERED) for method in known),
        ),
        "training": (TRAINING_HEADS, training_rows(statements, outcome.week.tz)),
    }


def exact(value: float | None) -> str:
    """Return a figure with six significant digits, or a dash for one that is not known."""
    return NONE if value is None else wording.number(value, DIGITS)


def kept_by(accounts: CarbonAccounts) -> tuple[tuple[str, str], ...]:
    """Return what the accounts are kept by: name and value."""
    factors = accounts.account.factors
    return (
        ("Series", TOLD_SERIES[accounts.series]),
        ("Factor set", f"{factors.label}, {factors.basis}"),
        ("Boundary of deliverability", accounts.account.grid.zone),
        ("Server of the embodied carbon", f"{accounts.server.label}: {accounts.server.source}"),
        *((name, source) for name, source in accounts.sources),
        ("Digest of the accounts", accounts.sha256),
    )


def audit_rows(accounts: CarbonAccounts) -> tuple[tuple[str, str, str, str], ...]:
    """Return the site's figures: name, value, unit, and the formula over rows of the three tables."""
    found, account = accounts.site_figures, accounts.account
    made, sci, embodied = f"hourly.csv, rows of kind {SITE}: ", found.sci, found.embodied
    lives = accounts.server
    rows = [
        ("Load", found.load_kwh, "kWh", f"{made}sum of load_kwh = import_kwh + onsite_kwh"),
        ("Grid energy", found.import_kwh, "kWh", f"{made}sum of import_kwh"),
        ("Energy from behind the meter", found.onsite_kwh, "kWh", f"{made}sum of onsite_kwh"),
        (
            "Grid energy matched by contracts",
            found.matched_kwh,
            "kWh",
            f"{made}sum of matched_kwh; contracts.csv: sum of used_kwh where boundary is not {ON_SITE}",
        ),
        (
            "Location-based emissions of grid energy",
            found.location_kg,
            "kg CO2e",
            f"{made}sum of import_kwh x average_gco2_per_kwh / 1000",
        ),
        (
            "Market-based emissions of grid energy, matched slot by slot",
            found.market_kg,
            "kg CO2e",
            (
                f"{made}sum of unmatched_kwh x residual_gco2_per_kwh / 1000; contracts.csv: + sum of used_kwh x "
                f"factor_gco2_per_kwh / 1000 where boundary is not {ON_SITE}"
            ),
        ),
        (
            "Market-based emissions of grid energy, by volume alone",
            market_by_volume_kg(account),
            "kg CO2e",
            (
                f"contracts.csv: per contract not {ON_SITE}, in order, min(sum of supplied_kwh, import left) x its "
                "factor / 1000; the import then left x mean of residual_gco2_per_kwh weighted by import_kwh / 1000"
            ),
        ),
        (
            "Emissions behind the meter",
            found.onsite_kg,
            "kg CO2e",
            f"contracts.csv: sum of used_kwh x factor_gco2_per_kwh / 1000 where boundary is {ON_SITE}",
        ),
        (
            "CFE score",
            found.cfe_score,
            "",
            (
                "contracts.csv: c = sum of used_kwh per slot where carbon_free is yes; hourly.csv: sum of (c + "
                f"unmatched_kwh x grid_cfe_share) / sum of load_kwh, rows of kind {SITE}"
            ),
        ),
        (
            "Beside the inventory: grid energy at the marginal intensity",
            found.marginal_kg,
            "kg CO2e",
            f"{made}sum of import_kwh x marginal_gco2_per_kwh / 1000; part of no other figure",
        ),
        ("GPU-hours in service", found.gpu_hours, "h", "runs.csv: sum of gpu_hours of the runs and unallotted"),
        *(
            (
                f"Embodied carbon of these hours, {case}",
                getattr(embodied, f"{case}_kg"),
                "kg CO2e",
                (
                    f"gpu_hours / {lives.gpus} GPUs x {getattr(lives.made, f'{case}_kg'):g} kg "
                    f"/ {getattr(lives, f'{case}_life_h'):g} h"
                ),
            )
            for case in ("low", "mid", "high")
        ),
        *(
            (
                f"Software carbon intensity, {case}",
                None if sci is None else getattr(sci, f"{case}_g_per_mtoken"),
                "g per million useful tokens",
                f"runs.csv, kind {SITE}: (location_kg + onsite_kg + embodied_{case}_kg) x 1e9 / useful_tokens",
            )
            for case in ("low", "mid", "high")
        ),
        ("Water", found.water_l, "L", f"{made}sum of water_l"),
        ("Heat that the IT energy becomes", found.it_kwh, "kWh", f"{made}sum of it_kwh"),
    ]
    if found.heat_sold_kwh_th is not None:
        rows.append(("Heat sold", found.heat_sold_kwh_th, "kWh of heat", f"{made}sum of heat_sold_kwh_th"))
    return tuple((name, exact(value), unit, how) for name, value, unit, how in rows)


def run_rows(accounts: CarbonAccounts) -> tuple[tuple[str, ...], ...]:
    """Return each run's figures, what no run uses, and the site's, which the others add up to."""
    everything = (*accounts.run_figures, accounts.unallotted, accounts.site_figures)
    return tuple(_run_row(found) for found in everything)


def _run_row(found: RunFigures) -> tuple[str, ...]:
    sci = found.sci
    told = {UNALLOTTED: "no run: GPUs without a job", SITE: "the site: sum of all"}
    return (
        told.get(found.subject, found.subject),
        exact(found.it_kwh),
        exact(found.load_kwh),
        exact(found.location_kg),
        exact(found.market_kg),
        exact(found.onsite_kg),
        exact(found.cfe_score),
        exact(found.gpu_hours),
        _range(found.embodied.low_kg, found.embodied.mid_kg, found.embodied.high_kg),
        NONE if sci is None else _range(sci.low_g_per_mtoken, sci.mid_g_per_mtoken, sci.high_g_per_mtoken),
    )


def contract_rows(accounts: CarbonAccounts) -> tuple[tuple[str, ...], ...]:
    """Return what each contract and plant behind the meter comes to, in the order in which they are matched."""
    account = accounts.account
    return tuple(
        (
            contract.name,
            contract.technology,
            contract.boundary,
            exact(contract.factor_gco2_per_kwh),
            exact(float(supplied.sum())),
            exact(float(used.sum())),
            exact(float((supplied - used).sum())),
            exact(float(used.sum()) * contract.factor_gco2_per_kwh / 1000.0),
        )
        for contract, supplied, used in zip(account.contracts, account.supplied_kwh, account.used_kwh, strict=True)
    )


def worked(accounts: CarbonAccounts) -> tuple[str, ...]:
    """Return one row worked through: the slot of the highest load, and the run that uses most of it."""
    account, grid = accounts.account, accounts.account.grid
    t = int(account.load_kwh.argmax())

    def at(values: npt.NDArray[np.float64]) -> str:
        return exact(float(values[t]))

    energies = f"import_kwh {at(account.import_kwh)} + onsite_kwh {at(account.onsite_kwh)}"
    product = f"{at(account.import_kwh)} kWh x {at(grid.average_gco2_per_kwh)} g/kWh / 1000"
    sentences = [
        f"Row of {iso(accounts.edge(t))}: load_kwh {at(account.load_kwh)} = {energies}.",
        f"location_kg {at(account.location_kg)} = {product}.",
    ]
    matched = [
        f" + {exact(float(used[t]))} kWh of {contract.name} x {exact(contract.factor_gco2_per_kwh)} g/kWh / 1000"
        for contract, used in zip(account.contracts, account.used_kwh, strict=True)
        if contract.boundary != ON_SITE
    ]
    sentences.append(
        f"market_kg {at(account.market_kg)} = {at(account.unmatched_kwh)} kWh x {at(grid.residual_gco2_per_kwh)} g/kWh "
        f"/ 1000{''.join(matched)}."
    )
    if accounts.runs:
        r = int(accounts.run_kwh[:, t].argmax())
        kg = float(accounts.share[r, t] * account.location_kg[t])
        sentences.append(
            f"Of it, run {accounts.runs[r]} has it_kwh {exact(float(accounts.run_kwh[r, t]))} of {at(account.it_kwh)}, "
            f"so location_kg {exact(kg)} = {at(account.location_kg)} kg x "
            f"{exact(float(accounts.run_kwh[r, t]))} / {at(account.it_kwh)}."
        )
    return tuple(sentences)


def slot_rows(accounts: CarbonAccounts) -> tuple[tuple[str, ...], ...]:
    """Return the site's rows: one per slot, in the columns of `SLOT_HEADS`."""
    account, grid = accounts.account, accounts.account.grid
    series = [getattr(account if hasattr(account, name) else grid, name).tolist() for name in SLOT_HEADS[1:]]
    return tuple((iso(accounts.edge(t)), *map(exact, values)) for t, values in enumerate(zip(*series, strict=True)))


def eu_rows(accounts: CarbonAccounts) -> tuple[tuple[str, ...], ...]:
    """Return the indicators of the European scheme, those that a week cannot state last."""
    return tuple(
        (one.name, one.title, exact(one.value), one.unit or NONE, f"{_STATED[one.states]}{one.formula}")
        for one in eu_indicators(accounts)
    )


def training_rows(statements: Sequence[TrainingEnergy], tz: ZoneInfo) -> tuple[tuple[str, ...], ...]:
    """Return one row per statement of a run's training energy."""
    return tuple(
        (
            one.run,
            one.kind,
            exact(one.it_kwh),
            exact(one.error_kwh),
            exact(one.site_kwh),
            exact(one.location_kg),
            wording.tokens(one.tokens),
            wording.local(one.start, tz),
            wording.local(one.end, tz),
        )
        for one in statements
    )


def closing_lines(
    accounts: CarbonAccounts, statements: Sequence[TrainingEnergy], files: Sequence[Path]
) -> tuple[str, ...]:
    """Return the accounts in a few lines for a terminal.

    Args:
        accounts: The accounts of a calendar.
        statements: The energy of training.
        files: What was written.
    """
    found, factors = accounts.site_figures, accounts.account.factors
    by_volume_kg = market_by_volume_kg(accounts.account)
    score = NONE if found.cfe_score is None else wording.percent(found.cfe_score)
    lines = [
        f"kept by    {factors.label}, {factors.basis}; boundary {accounts.account.grid.zone}; {accounts.series} series",
        f"load       {wording.energy(found.load_kwh)}, {wording.energy(found.import_kwh)} of it from the grid",
        f"location   {wording.carbon(found.location_kg)}",
        f"market     {wording.carbon(found.market_kg)} matched slot by slot, {wording.carbon(by_volume_kg)} by volume",
        f"on site    {wording.carbon(found.onsite_kg)}",
        f"CFE score  {score}",
    ]
    if found.marginal_kg is not None:
        lines.append(f"marginal   {wording.carbon(found.marginal_kg)}, beside the inventory")
    embodied = found.embodied
    lines.append(
        f"embodied   {wording.carbon(embodied.mid_kg)} ({wording.carbon(embodied.low_kg)} to "
        f"{wording.carbon(embodied.high_kg)})"
    )
    lines += [_run_line(run) for run in accounts.run_figures]
    rest = accounts.unallotted
    lines.append(
        f"no run     {wording.energy(rest.load_kwh)}, {wording.carbon(rest.location_kg)} location, "
        f"{wording.carbon(rest.market_kg)} market: GPUs without a job"
    )
    lines.append(f"EU scheme  {_eu_line(accounts)}")
    known = sum(one.kind == "known" for one in statements)
    lines.append(
        f"AI Act     energy of training: {len(statements) - known} statements estimated, {known} known; in --json"
    )
    lines += [f"file       {path}" for path in files]
    return tuple(lines)


def _eu_line(accounts: CarbonAccounts) -> str:
    """Return what a week states of the European scheme, in short."""
    found = {one.name: one.value for one in eu_indicators(accounts) if one.value is not None}
    ratios = ", ".join(f"{name} {exact(found[name])}" for name in ("PUE", "WUE", "REF", "ERF") if name in found)
    return f"2024/1364, of this week: {ratios}; the report and --json have all indicators"


def _run_line(run: RunFigures) -> str:
    sci = "" if run.sci is None else f", {wording.number(run.sci.mid_g_per_mtoken)} g per million tokens"
    return (
        f"run        {run.subject}: {wording.energy(run.load_kwh)}, {wording.carbon(run.location_kg)} location, "
        f"{wording.carbon(run.market_kg)} market{sci}"
    )


def _range(low: float, mid: float, high: float) -> str:
    return f"{exact(mid)} ({exact(low)} to {exact(high)})"
