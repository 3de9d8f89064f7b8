"""What a site's carbon accounts are kept by: the table [accounts], checked and resolved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.config import model
from planner.config.factors import DEFAULT_SERVER, DEFAULT_SETS, factor_sets, servers
from planner.config.faults import FaultList, did_you_mean, shown_path
from planner.config.fields import MOST_GCO2_PER_KWH
from planner.config.files import read_user_text
from planner.config.hourly_csv import read_hourly
from planner.errors import ConfigError
from power.accounting import Accounting
from power.embodied import Embodied, Server
from power.hourly import HourlyValues

if TYPE_CHECKING:
    from planner.config.draft import Draft, Placed

OWN_SERVER = "site-file"
LIMITS = {
    "residual_gco2_per_kwh": (0.0, MOST_GCO2_PER_KWH),
    "marginal_gco2_per_kwh": (0.0, MOST_GCO2_PER_KWH),
    "grid_cfe_share": (0.0, 1.0),
}
"""Figure of the grid that may come by the hour -> lowest and highest value."""


def read_accounting(draft: Draft, folder: Path) -> tuple[Accounting | None, FaultList | None]:
    """Return what the site's accounts are kept by, noting every fault.

    Args:
        draft: The tables that could be read.
        folder: Folder of the site file.

    Returns:
        The accounting, or None where a fault forbids it, and the faults of the file of hours where one is named.
    """
    needed = {"accounts": (), "carbon": ("basis",), "site": ("zone",)}
    if not all(key in draft.single and draft.single[key].sound(*keys) for key, keys in needed.items()):
        return None, None
    placed = draft.single["accounts"]
    table: model.AccountsTable = placed.table
    basis: str = draft.single["carbon"].table.basis
    known = factor_sets()
    name = table.factor_set or DEFAULT_SETS[basis]
    if name not in known:
        placed.fault(("factor_set",), f"{name!r} is no factor set", did_you_mean(name, known))
        return None, None
    if known[name].basis != basis:
        placed.fault(
            ("factor_set",),
            f"{name!r} is {known[name].basis}, but [carbon] basis is {basis}: the two are never mixed",
            f"write one of {basis}: {', '.join(sorted(n for n, s in known.items() if s.basis == basis))}",
        )
        return None, None
    _check_contracts(draft, basis)
    hours, faults = _hours(placed, folder)
    given: dict[str, float | HourlyValues | None] = {
        column: hours.get(column, getattr(table, column)) for column in LIMITS
    }
    for column in hours:
        if getattr(table, column) is not None:
            placed.fault((column,), f"stands here and in {table.hours}", "give it once")
    zone: str = draft.single["site"].table.zone
    return Accounting(zone, known[name], _server(placed), **given), faults


def _check_contracts(draft: Draft, basis: str) -> None:
    for contract in draft.contracts:
        given = contract.table.basis
        if given is not None and given != basis:
            contract.fault(
                ("basis",),
                f"the factor is {given}, but [carbon] basis is {basis}: the two are never mixed",
                f"give the contract's {basis} factor",
            )


def _hours(placed: Placed[model.AccountsTable], folder: Path) -> tuple[dict[str, HourlyValues], FaultList | None]:
    named = placed.table.hours
    if named is None:
        return {}, None
    path = folder / named
    faults = FaultList(shown_path(path), {})
    try:
        text = read_user_text(path, "file of hours")
    except ConfigError as error:
        placed.fault(("hours",), error.what, error.fix)
        return {}, None
    return read_hourly(text, named, faults, LIMITS), faults


def _server(placed: Placed[model.AccountsTable]) -> Server:
    own = placed.table.server
    if own is None:
        return servers()[DEFAULT_SERVER]
    if not own.low_kg <= own.mid_kg <= own.high_kg:
        placed.fault(("server", "mid_kg"), f"{own.mid_kg:g} kg is not between low_kg and high_kg", "order the three")
    if not own.low_life_h >= own.mid_life_h >= own.high_life_h:
        placed.fault(
            ("server", "mid_life_h"),
            f"{own.mid_life_h:g} h is not between high_life_h and low_life_h",
            "the low case has the longest service life, the high case the shortest",
        )
    return Server(
        OWN_SERVER,
        own.version,
        own.gpus,
        Embodied(own.low_kg, own.mid_kg, own.high_kg),
        own.low_life_h,
        own.mid_life_h,
        own.high_life_h,
        own.source,
    )
