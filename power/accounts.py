"""The hourly carbon account of a site: load, location-based, market-based with contracts, hourly match.

Average carbon intensity makes the inventory. Marginal intensity stands beside it in figures of its own and is never
added to it or taken from it. Figures of one account have one basis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from power.carbon import carbon_kg
from power.factors import require_basis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from power.factors import FactorSet

ON_SITE: Final = "on-site"
"""Boundary of what is generated behind the site's own meter."""

_NOISE_KW = 1e-5  # sums of series that files carry to six decimals


@dataclass(frozen=True)
class ContractHours:
    """What one contract or one plant behind the meter supplies.

    Args:
        name: Such as "ppa-north".
        technology: As in the factor set, such as "wind".
        factor_gco2_per_kwh: Emissions of a kWh from it, gCO2e/kWh.
        basis: "direct" or "lifecycle".
        boundary: `ON_SITE`, or the grid zone in which its energy is delivered.
        kw: Contracted supply per slot, whether the site takes it or not; on site, what the site used, kW, shape (T,).
    """

    name: str
    technology: str
    factor_gco2_per_kwh: float
    basis: str
    boundary: str
    kw: npt.NDArray[np.float64]


@dataclass(frozen=True)
class GridHours:
    """What a kWh from the grid stands for, arrays of shape (T,).

    Args:
        zone: Grid zone of the site: its boundary of deliverability.
        basis: "direct" or "lifecycle", of all three intensities.
        average_gco2_per_kwh: Average carbon intensity, gCO2e/kWh.
        residual_gco2_per_kwh: That of the residual mix: what is left when all contracted energy is taken out.
        marginal_gco2_per_kwh: That of the plant that answers a change of load, or None where it is not known.
        cfe_share: Share of grid energy free of carbon.
    """

    zone: str
    basis: str
    average_gco2_per_kwh: npt.NDArray[np.float64]
    residual_gco2_per_kwh: npt.NDArray[np.float64]
    marginal_gco2_per_kwh: npt.NDArray[np.float64] | None
    cfe_share: npt.NDArray[np.float64]


@dataclass(frozen=True)
class SiteAccount:
    """The account of a site, one value per slot, arrays of shape (T,).

    load_kwh = import_kwh + onsite_kwh, and import_kwh = matched_kwh + unmatched_kwh.

    Args:
        factors: The factor set.
        grid: What a kWh from the grid stands for.
        contracts: Contracts and plants behind the meter, in the order in which they are matched.
        slot_h: Length of a slot, h.
        it_kwh: IT energy.
        facility_kwh: IT and cooling energy.
        load_kwh: All energy that the site takes: from the grid and from behind its meter.
        import_kwh: Energy from the grid.
        onsite_kwh: Energy used from plants behind the meter.
        supplied_kwh: Contracted or generated energy per contract, shape (C, T).
        used_kwh: What of it the load of the same slot takes, shape (C, T).
        matched_kwh: Grid energy that deliverable contracts cover in the same slot.
        cfe_kwh: Energy free of carbon: from behind the meter, from matched contracts, and the grid's share of the rest.
        location_kg: Grid energy at the average intensity, kgCO2e.
        market_kg: Matched energy at its contract's factor and the rest at the residual mix, kgCO2e.
        onsite_kg: Energy from behind the meter at its own factor, kgCO2e; part of neither of the two above.
        marginal_kg: Grid energy at the marginal intensity, kgCO2e, or None; beside the inventory, no part of it.
    """

    factors: FactorSet
    grid: GridHours
    contracts: tuple[ContractHours, ...]
    slot_h: float
    it_kwh: npt.NDArray[np.float64]
    facility_kwh: npt.NDArray[np.float64]
    load_kwh: npt.NDArray[np.float64]
    import_kwh: npt.NDArray[np.float64]
    onsite_kwh: npt.NDArray[np.float64]
    supplied_kwh: npt.NDArray[np.float64]
    used_kwh: npt.NDArray[np.float64]
    matched_kwh: npt.NDArray[np.float64]
    cfe_kwh: npt.NDArray[np.float64]
    location_kg: npt.NDArray[np.float64]
    market_kg: npt.NDArray[np.float64]
    onsite_kg: npt.NDArray[np.float64]
    marginal_kg: npt.NDArray[np.float64] | None

    @property
    def unmatched_kwh(self) -> npt.NDArray[np.float64]:
        """Grid energy that no contract covers in its slot, kWh, shape (T,)."""
        return self.import_kwh - self.matched_kwh

    @property
    def cfe_score(self) -> float | None:
        """Share of the load free of carbon hour by hour, or None without load."""
        return cfe_score(float(self.cfe_kwh.sum()), float(self.load_kwh.sum()))

    @property
    def renewable_kwh(self) -> float:
        """Used energy of renewable plants and deliverable contracts, kWh."""
        renewable = [c.technology in self.factors.renewable for c in self.contracts]
        return float(self.used_kwh[np.array(renewable, dtype=np.bool_)].sum())


def cfe_score(cfe_kwh: float, load_kwh: float) -> float | None:
    """Return the share of a load that is free of carbon slot by slot, 0 to 1, or None without load.

    Args:
        cfe_kwh: Energy free of carbon that met the load in its own slot, kWh.
        load_kwh: The load, kWh.

    Source:
        Google, 24/7 Carbon-Free Energy: Methodologies and Metrics (2021): the excess of a slot counts zero.
    """
    return cfe_kwh / load_kwh if load_kwh > 0.0 else None


def site_account(
    factors: FactorSet,
    grid: GridHours,
    contracts: Sequence[ContractHours],
    *,
    it_kw: npt.NDArray[np.float64],
    facility_kw: npt.NDArray[np.float64],
    import_kw: npt.NDArray[np.float64],
    slot_h: float,
) -> SiteAccount:
    """Return the account of a site, slot by slot.

    Plants behind the meter come first. Then each contract delivered in the site's own grid zone covers grid energy of
    the same slot in the order given, as far as it reaches: used = min(contract, what is left), excess counts zero. A
    contract delivered elsewhere covers nothing here.

    Args:
        factors: The factor set.
        grid: What a kWh from the grid stands for.
        contracts: Contracts and plants behind the meter.
        it_kw: IT power, kW, shape (T,).
        facility_kw: IT and cooling power, kW, shape (T,).
        import_kw: Power from the grid, kW, shape (T,).
        slot_h: Length of a slot, h.

    Raises:
        MixedBasis: A factor or intensity has another basis than the factor set.
        ValueError: Power is negative, or a series has another length.

    Source:
        GHG Protocol Scope 2 Guidance (2015) for both methods; its revision in consultation (2025) for the match hour by
        hour within a zone.
    """
    require_basis(
        factors.basis,
        {f"the carbon intensity of {grid.zone}": grid.basis} | {f"contract {c.name!r}": c.basis for c in contracts},
    )
    ordered = tuple(sorted(contracts, key=lambda c: c.boundary != ON_SITE))  # a stable sort keeps the given order
    powers = {"import": import_kw, "IT power": it_kw, **{f"contract {c.name!r}": c.kw for c in ordered}}
    for subject, kw in powers.items():
        if kw.shape != import_kw.shape:
            raise ValueError(f"{subject} has {kw.shape} slots, the import {import_kw.shape}")
        if kw.size and float(kw.min()) < -_NOISE_KW:
            raise ValueError(f"{subject} is {float(kw.min()):g} kW in a slot; an account knows no negative power")
    supplied_kw = np.array([c.kw for c in ordered]).reshape(len(ordered), import_kw.size)
    used_kw = np.zeros_like(supplied_kw)
    left_kw = np.maximum(import_kw, 0.0)
    for i, contract in enumerate(ordered):
        if contract.boundary == ON_SITE:
            used_kw[i] = supplied_kw[i]
        elif contract.boundary == grid.zone:
            used_kw[i] = np.minimum(supplied_kw[i], left_kw)
            left_kw = left_kw - used_kw[i]
    onsite = np.array([c.boundary == ON_SITE for c in ordered], dtype=np.bool_)
    free = np.array([c.technology in factors.carbon_free for c in ordered], dtype=np.bool_)
    factor = np.array([c.factor_gco2_per_kwh for c in ordered]).reshape(-1, 1)
    onsite_kw = used_kw[onsite].sum(axis=0)
    return SiteAccount(
        factors=factors,
        grid=grid,
        contracts=ordered,
        slot_h=slot_h,
        it_kwh=it_kw * slot_h,
        facility_kwh=facility_kw * slot_h,
        load_kwh=(import_kw + onsite_kw) * slot_h,
        import_kwh=import_kw * slot_h,
        onsite_kwh=onsite_kw * slot_h,
        supplied_kwh=supplied_kw * slot_h,
        used_kwh=used_kw * slot_h,
        matched_kwh=used_kw[~onsite].sum(axis=0) * slot_h,
        cfe_kwh=(used_kw[free].sum(axis=0) + left_kw * grid.cfe_share) * slot_h,
        location_kg=carbon_kg(grid.average_gco2_per_kwh, import_kw, slot_h),
        market_kg=(used_kw * factor)[~onsite].sum(axis=0) * slot_h / 1000.0
        + carbon_kg(grid.residual_gco2_per_kwh, left_kw, slot_h),
        onsite_kg=(used_kw * factor)[onsite].sum(axis=0) * slot_h / 1000.0,
        marginal_kg=None
        if grid.marginal_gco2_per_kwh is None
        else carbon_kg(grid.marginal_gco2_per_kwh, import_kw, slot_h),
    )


def market_by_volume_kg(account: SiteAccount) -> float:
    """Return the market-based figure of the whole span by volume alone, as the guidance of 2015 allows, kgCO2e.

    Each grid contract, wherever and whenever it delivers, covers import up to the span's total, in the order given; the
    rest stands at the mean residual factor of the import.
    """
    import_kwh = float(account.import_kwh.sum())
    left_kwh, kg = import_kwh, 0.0
    for contract, supplied_kwh in zip(account.contracts, account.supplied_kwh.sum(axis=1).tolist(), strict=True):
        if contract.boundary != ON_SITE:
            covered_kwh = min(supplied_kwh, left_kwh)
            kg += covered_kwh * contract.factor_gco2_per_kwh / 1000.0
            left_kwh -= covered_kwh
    residual_kg = float((account.import_kwh * account.grid.residual_gco2_per_kwh).sum()) / 1000.0
    return kg + (residual_kg * left_kwh / import_kwh if import_kwh > 0.0 else 0.0)
