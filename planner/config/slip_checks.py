"""Whether the powers of contracts, agreements and contracted demand are of the site's size, or written in MW."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.config.block_checks import UNIT_SLIP

if TYPE_CHECKING:
    from planner.config.draft import Draft, Placed

MEND = "write both in kW (1 MW = 1000)"
CONTRACT_SLIP = 2000.0
"""A contract or agreement may be a small part of a site, but hardly this many times smaller."""


def check_slips(draft: Draft) -> None:
    """Note contracts, baseload agreements and contracted demand that stand in MW or W beside blocks in kW."""
    if not all(block.sound("capacity_kw") for block in draft.blocks):
        return
    site_kw = sum(block.table.capacity_kw for block in draft.blocks)
    if site_kw <= 0.0:
        return
    for contract in draft.contracts:
        _check_bought(contract, "kw", contract.table.kw, site_kw)
    for agreement in draft.ppas:
        if agreement.table.baseload_kw is not None:
            _check_bought(agreement, "baseload_kw", agreement.table.baseload_kw, site_kw)
    tariff = draft.single.get("tariff")
    contracted = None if tariff is None else tariff.table.contracted
    if tariff is not None and contracted is not None:
        kw = contracted.contract_kw
        if kw * UNIT_SLIP <= site_kw or kw >= UNIT_SLIP * site_kw:
            tariff.fault(("contracted", "contract_kw"), _told(kw, site_kw), MEND)


def _check_bought(placed: Placed[Any], key: str, kw: float, site_kw: float) -> None:
    if kw * CONTRACT_SLIP <= site_kw or kw >= UNIT_SLIP * site_kw:
        placed.fault((key,), _told(kw, site_kw), MEND)


def _told(kw: float, site_kw: float) -> str:
    return f"{kw:g} kW beside blocks of {site_kw:g} kW: W, kW and MW are mixed up"
