"""Everything the plan of one horizon is made from, as one frozen object.

A `Week` is all that `optimize`, the baselines and the judge are given: no clock, file or network hides behind it.
Arrays have one value per slot of `Week.grid` and are read-only.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from planner.objective import BY_PRICE
from planner.pool import idle_it_kw
from planner.precedence import promised_start
from planner.timegrid import TimeGrid, iso, zone
from power.blocks import capacity_kw, import_limit_kw
from power.contracts import volume_kw
from power.later import LATER
from power.quarters import Quarters, quarters
from power.renewables import solar_power_kw
from power.tariff import DemandRegister, Rates, demand_registers, rates
from power.wind import wind_power_kw
from thermal.plant import cooling
from thermal.reserve import NOTHING, Reserve

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from planner.band import Band
    from planner.geography import OtherSite
    from planner.heat import HeatSale
    from planner.objective import Objective
    from planner.pool import Pool
    from planner.run import Run, Stage
    from planner.uncertainty import Uncertainty
    from power.accounting import Accounting
    from power.battery import Battery
    from power.blocks import PowerBlock
    from power.contracts import EnergyContract
    from power.export import GridExport
    from power.generation import Generator
    from power.ppa import Ppa
    from power.renewables import SolarArray
    from power.tariff import Tariff
    from power.wind import WindTurbines
    from thermal.plant import CoolingPlant

BESIDE = ("accounting", "bands")
"""Fields of a week that decide nothing, so that its digest leaves them out."""
NEWER = ("objective", "uncertainty", "others", "zone")
"""Fields that joined after weeks had been digested: at their default they are left out too."""


@dataclass(frozen=True)
class Signals:
    """What the grid and the weather do in each slot (forecast or actual), arrays of shape (T,).

    Args:
        ci_gco2_per_kwh: Average carbon intensity of grid energy, gCO2e/kWh.
        ci_basis: "direct" or "lifecycle"; one basis for the whole plan.
        price_per_kwh: Energy price, money per kWh; may be negative.
        dry_bulb_c: Outdoor dry-bulb temperature, deg C.
        wet_bulb_c: Outdoor wet-bulb temperature, deg C.
        ghi_w_per_m2: Global horizontal irradiance, W/m2.
        wind_speed_m_per_s: Wind speed at the height that each wind asset names, m/s, or None where nothing asks for it.
    """

    ci_gco2_per_kwh: npt.NDArray[np.float64]
    ci_basis: str
    price_per_kwh: npt.NDArray[np.float64]
    dry_bulb_c: npt.NDArray[np.float64]
    wet_bulb_c: npt.NDArray[np.float64]
    ghi_w_per_m2: npt.NDArray[np.float64]
    wind_speed_m_per_s: npt.NDArray[np.float64] | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


@dataclass(frozen=True)
class Provenance:
    """Where one signal of the week came from.

    Args:
        signal: Name of the field in `Signals`.
        source: Provider and zone, such as "demo demo-central" or "csv price.csv".
        unit: Unit as delivered.
        basis: Such as "direct", "lifecycle", "marginal", or "" where it has no meaning.
        licence: Licence of the data.
        issued_at: When the provider issued it, UTC, or None where it does not say.
        flags: Flag -> count of slots that carry it (estimated, filled, stale, profile, synthetic, ...).
        sha256: Digest of the values used.
    """

    signal: str
    source: str
    unit: str
    basis: str
    licence: str
    issued_at: datetime | None
    flags: tuple[tuple[str, int], ...]
    sha256: str


@dataclass(frozen=True)
class Block:
    """A power block with what stands behind its meter.

    Args:
        power: Capacity, service dates, deratings, ramp.
        plant: Its cooling plant.
        solar: Its solar array, or None.
        battery: Its battery, or None.
        idle_powered: Per slot, whether GPUs without a job stay powered (they are powered down where the capacity or the
            cooling of the slot could not even carry all of them idle), shape (T,) of bool.
        reserve: What its cooling keeps in hand.
        heat: Who buys its heat, or None.
        wind: Its wind turbines, or None.
        generators: Its groups of generators.
        export: Its right to export, or None.
        site: Name of its site where that is another than the one that the week is named after, else "".
    """

    power: PowerBlock
    plant: CoolingPlant
    solar: SolarArray | None
    battery: Battery | None
    idle_powered: npt.NDArray[np.bool_]
    reserve: Reserve = NOTHING
    heat: HeatSale | None = None
    wind: WindTurbines | None = field(default=None, metadata=LATER)
    generators: tuple[Generator, ...] = field(default=(), metadata=LATER)
    export: GridExport | None = field(default=None, metadata=LATER)
    site: str = field(default="", metadata=LATER)

    @property
    def name(self) -> str:
        """The block's name."""
        return self.power.name

    @property
    def has_tank(self) -> bool:
        """Whether a tank stands beside its facility loop."""
        return self.plant.loop is not None and self.plant.loop.store.volume_m3 > 0.0


@dataclass(frozen=True)
class Prices:
    """What the plan pays for things that have no tariff.

    Args:
        currency: ISO 4217 code of all money.
        carbon_per_t: Money per tonne CO2e.
        water_per_m3: Money per cubic metre.
        lateness_per_gpu_h: Money per GPU-hour of work missing at a deadline, and again for each further day that it is
            missing, times the run's lateness weight.
    """

    currency: str
    carbon_per_t: float
    water_per_m3: float
    lateness_per_gpu_h: float


@dataclass(frozen=True)
class Week:
    """All inputs of one horizon.

    Args:
        site: Name of the site.
        timezone: IANA name of site time.
        grid: The slots.
        issued_at: When the plan is made, UTC; part of the inputs.
        signals: Grid and weather per slot.
        provenance: One entry per signal.
        blocks: Power blocks.
        pools: GPU pools.
        runs: Training runs.
        tariff: Contract for energy.
        prices: Prices of carbon, water and lateness.
        labels: Sentences that every output must show, such as that a source is synthetic.
        ppas: Power purchase agreements.
        contracts: Energy contracts in force and on offer.
        objective: What the plan makes small, beside the prices.
        uncertainty: Paths and heat that the plan looks at beside the forecast, or None for the forecast alone.
        others: Further sites; blocks name theirs.
        zone: Grid zone of the site that the week is named after, told where there are others.
        accounting: What carbon accounts are kept by, or None for none; it decides nothing, so the digest leaves it out.
        bands: What is not known of signals that were forecast here; for people, no plan depends on it.
    """

    site: str
    timezone: str
    grid: TimeGrid
    issued_at: datetime
    signals: Signals
    provenance: tuple[Provenance, ...]
    blocks: tuple[Block, ...]
    pools: tuple[Pool, ...]
    runs: tuple[Run, ...]
    tariff: Tariff
    prices: Prices
    labels: tuple[str, ...] = ()
    ppas: tuple[Ppa, ...] = field(default=(), metadata=LATER)
    contracts: tuple[EnergyContract, ...] = field(default=(), metadata=LATER)
    objective: Objective = field(default=BY_PRICE, metadata=LATER)
    uncertainty: Uncertainty | None = field(default=None, metadata=LATER)
    others: tuple[OtherSite, ...] = field(default=(), metadata=LATER)
    zone: str = field(default="", metadata=LATER)
    accounting: Accounting | None = None
    bands: tuple[Band, ...] = ()

    @cached_property
    def in_heat(self) -> Week | None:
        """The same week in the heat that its limits hold in too, or None where it looks at the forecast alone."""
        heat = None if self.uncertainty is None else self.uncertainty.heat
        if heat is None:
            return None
        hot = replace(self.signals, dry_bulb_c=heat.dry_bulb_c, wet_bulb_c=heat.wet_bulb_c)
        return replace(self, signals=hot, uncertainty=None)

    @cached_property
    def tz(self) -> ZoneInfo:
        """Site time zone."""
        return zone(self.timezone)

    @cached_property
    def quarters(self) -> Quarters:
        """The slots' quarter hours in site time."""
        return quarters(self.grid.starts, self.grid.slot, self.tz)

    @cached_property
    def demand_registers(self) -> tuple[DemandRegister, ...]:
        """The peaks that are billed in this horizon's months."""
        return demand_registers(self.tariff, self.quarters)

    def here(self, block: Block) -> Week:
        """Return the week as a block's own site sees it: with that site's signals, tariff and time."""
        return self.seen_from(block.site)

    def seen_from(self, site: str) -> Week:
        """Return the week as a site sees it: its own, or for "" the one that it is named after."""
        return self._seen_from[site] if self.others and site else self

    @cached_property
    def _seen_from(self) -> dict[str, Week]:
        return {
            one.name: replace(
                self, signals=one.signals, tariff=one.tariff, timezone=one.timezone, others=(), uncertainty=None
            )
            for one in self.others
        }

    def contract_kw(self, contract: EnergyContract) -> npt.NDArray[np.float64]:
        """Return what a contract delivers per slot if it is bought whole, kW, shape (T,)."""
        return volume_kw(contract, self.quarters)

    def rates(self, signals: Signals | None = None) -> Rates:
        """Return what a kWh of import costs in each slot by the tariff; by other signals where given."""
        return rates(self.tariff, (signals or self.signals).price_per_kwh, self.quarters)

    def block(self, name: str) -> Block:
        """Return the block of that name (KeyError if there is none)."""
        return self._block_of[name]

    def pool(self, name: str) -> Pool:
        """Return the pool of that name (KeyError if there is none)."""
        return self._pool_of[name]

    def holds(self, pool: Pool, gpus: int) -> npt.NDArray[np.bool_]:
        """Return per slot whether a pool, or all that it spans, has GPUs in service for a gang, shape (T,)."""
        enough = np.ones(self.grid.n_slots, dtype=bool)
        for name, count in pool.draws(gpus).items():
            enough &= self.pool(name).gpus_in_service(self.grid) >= count
        return enough

    def run(self, name: str) -> Run:
        """Return the run of that name (KeyError if there is none)."""
        return self._run_of[name]

    @cached_property
    def _block_of(self) -> dict[str, Block]:
        return {block.name: block for block in self.blocks}

    @cached_property
    def _pool_of(self) -> dict[str, Pool]:
        return {pool.name: pool for pool in self.pools}

    @cached_property
    def _run_of(self) -> dict[str, Run]:
        return {run.name: run for run in self.runs}

    def capacity_kw(self, block: Block) -> npt.NDArray[np.float64]:
        """Return the facility power that `block` may take per slot, kW, shape (T,)."""
        return capacity_kw(block.power, self.grid.starts, self.grid.slot)

    def import_limit_kw(self, block: Block) -> npt.NDArray[np.float64]:
        """Return the power that `block` may import per slot, kW, shape (T,)."""
        return import_limit_kw(block.power, self.grid.starts, self.grid.slot)

    def firm_kw(self, block: Block) -> npt.NDArray[np.float64]:
        """Return the facility power of `block` that import and generators carry at all times, kW, shape (T,)."""
        return firm_kw(block.power, block.generators, self.grid)

    def plant_powered(self, block: Block) -> npt.NDArray[np.bool_]:
        """Return per slot whether the cooling plant of `block` stands under power, shape (T,).

        It is off where import and generators could not carry even what the plant takes without any IT power, as before
        the block's service begins and in a full outage; no IT power is possible there.
        """
        return stands_powered(block.plant, self.firm_kw(block), self.here(block).signals)

    def solar_kw(self, block: Block, signals: Signals | None = None) -> npt.NDArray[np.float64]:
        """Return the solar power on offer in `block` per slot, kW, shape (T,); by other signals where given."""
        return self._made_kw(block.solar, None, signals or self.here(block).signals)

    def wind_kw(self, block: Block, signals: Signals | None = None) -> npt.NDArray[np.float64]:
        """Return the wind power on offer in `block` per slot, kW, shape (T,); by other signals where given."""
        return self._made_kw(None, block.wind, signals or self.here(block).signals)

    def ppa_kw(self, ppa: Ppa, signals: Signals | None = None) -> npt.NDArray[np.float64]:
        """Return what an agreement delivers per slot, kW, shape (T,); by other signals where given.

        A farm off site is taken to see the site's own weather.
        """
        made_kw = self._made_kw(ppa.solar, ppa.wind, signals)
        if ppa.output_kw is not None:
            made_kw += ppa.output_kw.per_slot(self.grid.start, self.grid.slot_minutes, self.grid.n_slots)
        return ppa.baseload_kw + ppa.share * made_kw

    def _made_kw(
        self, solar: SolarArray | None, wind: WindTurbines | None, signals: Signals | None
    ) -> npt.NDArray[np.float64]:
        seen, made_kw = signals or self.signals, np.zeros(self.grid.n_slots)
        if solar is not None:
            made_kw += solar_power_kw(
                solar, self.grid.start, self.grid.slot_minutes, seen.ghi_w_per_m2, seen.dry_bulb_c
            )
        if wind is not None and seen.wind_speed_m_per_s is not None:
            made_kw += wind_power_kw(wind, seen.wind_speed_m_per_s, seen.dry_bulb_c)
        return made_kw

    def idle_kw(self, block: Block) -> npt.NDArray[np.float64]:
        """Return the IT power of all GPUs of `block` without a job, where they stay powered, kW, shape (T,)."""
        return np.where(block.idle_powered, idle_it_kw(self.pools, block.name, self.grid), 0.0)

    def due_tokens(self, run: Run) -> tuple[tuple[str, datetime, float], ...]:
        """Return what the run must have made by when within this horizon.

        A deadline within the horizon asks for the tokens of all stages up to it. Of the first stage whose deadline lies
        after the horizon, the tokens due at the end of the horizon are its remaining work spread evenly over its
        remaining time: from the latest of the horizon's start, the run's earliest start, the deadline before it and the
        deadlines of what it waits for, with their lags.

        A stage's margin for failures is due with it; whatever is made as margin counts towards the stages after it.

        Returns:
            (stage name, deadline in the horizon, tokens due from the start of the horizon on), by rising deadline;
            tokens already done are taken off, never below zero.
        """
        due: list[tuple[str, datetime, float]] = []
        total = -run.tokens_done
        since = max(self.grid.start, promised_start(self, run))
        for stage in run.stages:
            if stage.deadline <= self.grid.end:
                total += stage.tokens
                before = due[-1][2] if due else 0.0
                due.append(
                    (stage.name, stage.deadline, max(before, total + stage.margin_tokens if total > 0.0 else 0.0))
                )
                since = max(since, stage.deadline)
                continue
            if since < self.grid.end:
                left = min(stage.tokens, total + stage.tokens)
                share = (self.grid.end - since) / (stage.deadline - since)
                before = due[-1][2] if due else 0.0
                due.append((stage.name, self.grid.end, max(before, max(0.0, total) + max(0.0, left) * share)))
            break
        return tuple(due)

    def promised_tokens(self, run: Run) -> tuple[tuple[Stage, float], ...]:
        """Return each stage whose deadline lies in this horizon, with the tokens due then, without any margin."""
        promised: list[tuple[Stage, float]] = []
        total = -run.tokens_done
        for stage in run.stages:
            total += stage.tokens
            if stage.deadline <= self.grid.end:
                promised.append((stage, max(0.0, total)))
        return tuple(promised)

    def work_tokens(self, run: Run) -> float:
        """Return the most tokens the run may make in this horizon: all that is due by its end."""
        due = self.due_tokens(run)
        return due[-1][2] if due else 0.0

    def canonical(self) -> bytes:
        """Return the inputs as canonical JSON, the same bytes for the same inputs on any machine."""
        unused = {f.name for f in fields(self) if f.name in NEWER and _unused(getattr(self, f.name), f.default)}
        beside = {*BESIDE, *unused}
        told = {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.name not in beside}
        return json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @cached_property
    def sha256(self) -> str:
        """Digest of `canonical`, hexadecimal."""
        return hashlib.sha256(self.canonical()).hexdigest()


def firm_kw(power: PowerBlock, generators: Iterable[Generator], grid: TimeGrid) -> npt.NDArray[np.float64]:
    """Return the facility power that import and generators carry at all times (`Week.firm_kw`), kW, shape (T,).

    Args:
        power: The block.
        generators: Those behind its meter.
        grid: The slots.
    """
    steady_kw = import_limit_kw(power, grid.starts, grid.slot)
    for group in generators:
        steady_kw = steady_kw + group.units_available(grid.starts, grid.slot) * group.unit_kw
    return np.minimum(capacity_kw(power, grid.starts, grid.slot), steady_kw)


def stands_powered(
    plant: CoolingPlant, capacity_kw: npt.NDArray[np.float64], signals: Signals
) -> npt.NDArray[np.bool_]:
    """Return per slot whether a cooling plant stands under power (`Week.plant_powered`), shape (T,).

    Args:
        plant: The plant.
        capacity_kw: Facility power that its block may have at all times, kW, shape (T,).
        signals: The weather.
    """
    standing = cooling(plant, 0.0, signals.dry_bulb_c, signals.wet_bulb_c).cooling_kw
    return np.asarray(standing <= capacity_kw)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        told = (
            f for f in fields(value) if not (f.metadata.get("later") and _unused(getattr(value, f.name), f.default))
        )
        return {f.name: _plain(getattr(value, f.name)) for f in told}
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value


def _unused(value: Any, default: Any) -> bool:
    """Return whether a field that joined later holds its default; series never do."""
    return not isinstance(value, np.ndarray) and bool(value == default)
