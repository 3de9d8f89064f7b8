"""What the judge finds: figures per run and block, totals, and every promise broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Violation:
    """A promise that the calendar breaks; one per kind and subject, told at its worst instant.

    Args:
        kind: One word for machines, such as "capacity".
        subject: Run, block, pool or file that it is about.
        at: The worst instant, UTC, or None where time plays no part.
        value: What the calendar does.
        limit: What it may do.
        unit: Unit of both, "" for names.
        sentence: The same for people.
    """

    kind: str
    subject: str
    at: datetime | None
    value: float | str
    limit: float | str
    unit: str
    sentence: str


@dataclass(frozen=True)
class StageResult:
    """How one promise of work went.

    Args:
        stage: Name of the stage.
        deadline: When the tokens are due, UTC; the horizon's end for a stage that is due later.
        due_tokens: Tokens due by then, counted from the horizon's start.
        tokens: Tokens made by then.
        reached_at: When the due tokens are made, UTC, or None if not in the horizon.
        margin_h: Hours from then to the deadline, negative if late, or None if not in the horizon.
        met: Whether the tokens are there by the deadline.
        announced: Whether the calendar itself names the shortfall.
        promised_probability: The chance, reckoned, that the tokens due without their margin are there in time, or None
            where nothing is said of failures.
        simulated_probability: The share of simulated weeks in which they are, or None where none were simulated.
        asked_probability: The chance that the site file asks for, or None.
    """

    stage: str
    deadline: datetime
    due_tokens: float
    tokens: float
    reached_at: datetime | None
    margin_h: float | None
    met: bool
    announced: bool
    promised_probability: float | None = None
    simulated_probability: float | None = None
    asked_probability: float | None = None


@dataclass(frozen=True)
class RunResult:
    """One run in the horizon.

    Args:
        run: Name of the run.
        pool: Pool it runs in, the first where it moves, or None if it does not run.
        tokens: Useful tokens.
        energy_kwh: IT energy of the gang, kWh.
        carbon_kg: The run's share of the site's carbon by IT energy, kgCO2e.
        hours: Hours running.
        pauses: Count of pauses between two spells; a change of pool or of GPUs counts too.
        stages: Promises of work, by rising deadline.
        moves: How often it goes on in another pool or with another count of GPUs.
    """

    run: str
    pool: str | None
    tokens: float
    energy_kwh: float
    carbon_kg: float
    hours: float
    pauses: int
    stages: tuple[StageResult, ...]
    moves: int = 0

    @property
    def tokens_per_joule(self) -> float:
        """Useful tokens per joule of the gang's IT energy; 0 if it does not run."""
        return self.tokens / (self.energy_kwh * 3.6e6) if self.energy_kwh > 0.0 else 0.0


@dataclass(frozen=True)
class BlockResult:
    """One block per slot, slot means in kW (states in kWh at the slot's end), each of shape (T,).

    Args:
        block: Name of the block.
        it_kw: IT power.
        cooling_kw: Cooling power.
        facility_kw: Power of IT, cooling and heat pumps.
        import_kw: Grid import.
        solar_kw: Solar power used.
        curtailed_kw: Solar and wind power on offer and not used.
        charge_kw: Battery charging, AC.
        discharge_kw: Battery discharging, AC.
        battery_kwh: Stored energy.
        capacity_kw: Facility power and import allowed.
        w_max_kw: IT power that the cooling allows, with its worst unit out where the site asks for that.
        water_l: Water used in the slot, L.
        wind_kw: Wind power used.
        generation_kw: Power of generators.
        generation_kg: Their carbon in the slot, kgCO2e.
        export_kw: Export to the grid.
        fill_kw_th: Heat rejected to fill the tank with cold.
        draw_kw_th: Heat of the racks that goes into the tank.
        cold_kwh_th: Cold in the tank, kWh of heat.
        heat_sold_kw_th: Heat sold.
        heat_pump_kw: Power of the heat pumps.
    """

    block: str
    it_kw: npt.NDArray[np.float64]
    cooling_kw: npt.NDArray[np.float64]
    facility_kw: npt.NDArray[np.float64]
    import_kw: npt.NDArray[np.float64]
    solar_kw: npt.NDArray[np.float64]
    curtailed_kw: npt.NDArray[np.float64]
    charge_kw: npt.NDArray[np.float64]
    discharge_kw: npt.NDArray[np.float64]
    battery_kwh: npt.NDArray[np.float64]
    capacity_kw: npt.NDArray[np.float64]
    w_max_kw: npt.NDArray[np.float64]
    water_l: npt.NDArray[np.float64]
    wind_kw: npt.NDArray[np.float64]
    generation_kw: npt.NDArray[np.float64]
    generation_kg: npt.NDArray[np.float64]
    export_kw: npt.NDArray[np.float64]
    fill_kw_th: npt.NDArray[np.float64]
    draw_kw_th: npt.NDArray[np.float64]
    cold_kwh_th: npt.NDArray[np.float64]
    heat_sold_kw_th: npt.NDArray[np.float64]
    heat_pump_kw: npt.NDArray[np.float64]


@dataclass(frozen=True)
class ContractResult:
    """What one energy contract comes to.

    Args:
        contract: Name of the contract.
        bought_share: Share of it that is bought.
        volume_kwh: Energy that it delivers, by that share.
        take_kwh: Energy taken of it.
        paid_kwh: Energy paid for: what is taken, or the minimum take where that is more.
        cost: Money paid for it.
        why: For people: why an offer is bought or not; "" for contracts in force.
    """

    contract: str
    bought_share: float
    volume_kwh: float
    take_kwh: float
    paid_kwh: float
    cost: float
    why: str


@dataclass(frozen=True)
class CostTerms:
    """Money of the horizon, by what it is for.

    Args:
        energy: Grid energy at the tariff beyond what contracts cover, and adders on all of it.
        demand: What the horizon adds to the months' demand charges.
        water: Water.
        wear: Battery wear.
        carbon: Carbon at the plan's price; decides, but is paid to nobody.
        lateness: Work missing at deadlines at the plan's price; decides, but is paid to nobody.
        contracts: Energy contracts.
        generation: Fuel and starts of generators.
        export: Export to the grid; below zero where it earns.
        ppa: What power purchase agreements add to the bill of the import.
        stored: What batteries with a free end hold at the end, at its worth, below zero; decides, but nobody pays it.
        heat: What is paid for heat sold, below zero.
        transfer: Bringing the data of runs to other sites, and their state to other pools.
        over_budget: Carbon beyond the budget at what that costs besides; decides, but is paid to nobody.
    """

    energy: float
    demand: float
    water: float
    wear: float
    carbon: float
    lateness: float
    contracts: float = 0.0
    generation: float = 0.0
    export: float = 0.0
    ppa: float = 0.0
    stored: float = 0.0
    heat: float = 0.0
    transfer: float = 0.0
    over_budget: float = 0.0

    @property
    def paid(self) -> float:
        """Money really paid: all but carbon, lateness and what is stored; export and heat sold are taken off."""
        return (
            self.energy
            + self.contracts
            + self.ppa
            + self.generation
            + self.export
            + self.demand
            + self.water
            + self.wear
            + self.heat
            + self.transfer
        )

    @property
    def objective(self) -> float:
        """All terms together: what the plan makes small."""
        return self.paid + self.carbon + self.lateness + self.stored + self.over_budget


@dataclass(frozen=True)
class SiteResult:
    """One of several sites.

    Args:
        site: Its name.
        zone: Grid zone.
        energy_kwh: Facility energy.
        it_energy_kwh: IT energy, idle GPUs included.
        import_kwh: Energy bought from its grid.
        carbon_kg: Carbon of that import by its own grid, and that of its generators, kgCO2e.
        energy_cost: Energy bought, with adders, less what is earned by export, money.
        mean_gco2_per_kwh: Mean carbon intensity of its grid in the horizon, gCO2e/kWh.
        mean_price_per_kwh: Mean price of a kWh there with adders, money per kWh.
        brought_tb: Data that was brought there, TB.
    """

    site: str
    zone: str
    energy_kwh: float
    it_energy_kwh: float
    import_kwh: float
    carbon_kg: float
    energy_cost: float
    mean_gco2_per_kwh: float
    mean_price_per_kwh: float
    brought_tb: float


@dataclass(frozen=True)
class Evaluation:
    """The verdict on a calendar.

    Args:
        energy_kwh: Facility energy: IT, cooling and heat pumps, whatever it came from.
        import_kwh: Energy bought from the grid.
        it_energy_kwh: IT energy, idle GPUs included.
        solar_kwh: Solar energy used.
        curtailed_kwh: Solar and wind energy on offer and not used.
        carbon_kg: Location-based carbon of the import, and that of generators, kgCO2e; exported energy earns none.
        terms: Money by what it is for.
        water_l: Water used, L.
        tokens: Useful tokens of all runs.
        peak_kw: Highest import of the site, slot mean.
        battery_change_kwh: Stored energy at the end less that at the start.
        slot_h: Length of a slot, h.
        runs: One result per run of the week.
        blocks: One result per block of the week.
        violations: Every promise broken.
        contracts: One result per energy contract of the week.
        wind_kwh: Wind energy used.
        generation_kwh: Energy of generators.
        generation_carbon_kg: Their carbon, part of `carbon_kg`, kgCO2e.
        export_kwh: Energy exported.
        heat_sold_kwh_th: Heat sold, kWh of heat.
        heat_pump_kwh: Energy of the heat pumps.
        cold_change_kwh_th: Cold in the tanks at the end less that at the start, kWh of heat.
        sites: One result per site, where the week has several.
        transfer_kg: Carbon of bringing data to other sites and state to other pools, part of `carbon_kg`, kgCO2e.
        transfer_kwh: Energy of the network for that, part of no other figure, kWh.
    """

    energy_kwh: float
    import_kwh: float
    it_energy_kwh: float
    solar_kwh: float
    curtailed_kwh: float
    carbon_kg: float
    terms: CostTerms
    water_l: float
    tokens: float
    peak_kw: float
    battery_change_kwh: float
    slot_h: float
    runs: tuple[RunResult, ...]
    blocks: tuple[BlockResult, ...]
    violations: tuple[Violation, ...]
    contracts: tuple[ContractResult, ...] = ()
    wind_kwh: float = 0.0
    generation_kwh: float = 0.0
    generation_carbon_kg: float = 0.0
    export_kwh: float = 0.0
    heat_sold_kwh_th: float = 0.0
    heat_pump_kwh: float = 0.0
    cold_change_kwh_th: float = 0.0
    sites: tuple[SiteResult, ...] = ()
    transfer_kg: float = 0.0
    transfer_kwh: float = 0.0

    @property
    def cost(self) -> float:
        """Money really paid (`CostTerms.paid`)."""
        return self.terms.paid

    @property
    def erf(self) -> float:
        """Energy reuse factor: heat sold over facility energy; 0 if there is none."""
        return self.heat_sold_kwh_th / self.energy_kwh if self.energy_kwh > 0.0 else 0.0

    @property
    def ere(self) -> float:
        """Energy reuse effectiveness: facility energy less heat sold, over IT energy; 1 if there is none."""
        return (self.energy_kwh - self.heat_sold_kwh_th) / self.it_energy_kwh if self.it_energy_kwh > 0.0 else 1.0

    @property
    def pue(self) -> float:
        """Facility energy over IT energy; 1 if there is none."""
        return self.energy_kwh / self.it_energy_kwh if self.it_energy_kwh > 0.0 else 1.0

    @property
    def deadlines(self) -> int:
        """Count of promises of work in the horizon."""
        return sum(len(run.stages) for run in self.runs)

    @property
    def deadlines_missed(self) -> int:
        """Count of promises of work that are not kept, announced or not."""
        return sum(not stage.met for run in self.runs for stage in run.stages)

    @property
    def clean(self) -> bool:
        """Whether no promise is broken (a shortfall that the calendar names is no broken promise)."""
        return not self.violations
