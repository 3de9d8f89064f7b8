"""Whether the powers of contracts and of contracted demand are of the site's size, or written in MW."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.config.block_checks import UNIT_SLIP

if TYPE_CHECKING:
    from planner.config.draft import Draft

CONTRACT_SLIP = 2000.0
"""A contract may be a small part of a site, but hardly this many times smaller."""


def check_slips(draft: Draft) -> None:
    """Note contracts and contracted demand that stand in MW or W beside blocks in kW."""
    if not all(block.sound("capacity_kw") for block in draft.blocks):
        return
    site_kw = sum(block.table.capacity_kw for block in draft.blocks)
    if site_kw <= 0.0:
        return
    mend = "write both in kW (1 MW = 1000)"
    for contract in draft.contracts:
        kw = contract.table.kw
        if kw * CONTRACT_SLIP <= site_kw or kw >= UNIT_SLIP * site_kw:
            contract.fault(("kw",), f"{kw:g} kW beside blocks of {site_kw:g} kW: W, kW and MW are mixed up", mend)
    tariff = draft.single.get("tariff")
    contracted = None if tariff is None else tariff.table.contracted
    if tariff is not None and contracted is not None:
        kw = contracted.contract_kw
        if kw * UNIT_SLIP <= site_kw or kw >= UNIT_SLIP * site_kw:
            told = f"{kw:g} kW beside blocks of {site_kw:g} kW: W, kW and MW are mixed up"
            tariff.fault(("contracted", "contract_kw"), told, mend)
