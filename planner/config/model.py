"""What a site file may say: one model per table, with the unit and the limits of each key.

Key names end in their unit. The JSON schema that editors read is made from these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from planner.config import (
    fields,
    gang_tables,
    geography_tables,
    move_tables,
    objective_table,
    power_tables,
    service_table,
    source_tables,
    supply_tables,
    uncertainty_table,
)
from planner.config.fields import (
    Chance,
    Efficiency,
    Gpus,
    Hours,
    Intensity,
    Money,
    Name,
    Power,
    Rates,
    Seconds,
    Share,
    Signed,
    Tokens,
    WattsPerGpu,
    When,
)

Table = fields.Table
UncertaintyTable = uncertainty_table.UncertaintyTable
RollingTable = uncertainty_table.RollingTable
ProviderTable = source_tables.ProviderTable
SourcesTable = source_tables.SourcesTable
GoodputTable = gang_tables.GoodputTable
GpuTable = gang_tables.GpuTable
OperatingPointTable = gang_tables.OperatingPointTable
RunGoodputTable = gang_tables.RunGoodputTable
BatteryTable = supply_tables.BatteryTable
SolarTable = supply_tables.SolarTable


class SiteTable(Table):
    """Where the site is."""

    name: Name = Field(description="name of the site")
    timezone: str = Field(description="IANA time zone of the site, such as Europe/Berlin")
    latitude: float = Field(ge=-90, le=90, description="degrees north")
    longitude: float = Field(ge=-180, le=180, description="degrees east")
    zone: Name = Field(description="grid zone, as the carbon and price sources name it")
    currency: str = Field(pattern="^[A-Z]{3}$", examples=["EUR"], description="ISO 4217 code of all money in this file")


class HorizonTable(Table):
    """Which week or month is planned, and how finely."""

    slot_minutes: Literal[15, 30, 60] = Field(default=60, description="length of a slot, min")
    week: str | None = Field(default=None, description="ISO week such as 2024-W20; the coming one where left out")
    month: str | None = Field(default=None, description="month such as 2024-05 that is planned instead of a week")
    on_off_grid_h: Hours | None = Field(
        default=None,
        description="grid of starts and stops for runs that name none, h; fitted to each run where left out",
    )


class PlanTable(Table):
    """How hard the planner tries."""

    gap_target: float = Field(default=0.01, gt=0, le=0.5, description="certified gap at which the planner stops, share")
    time_limit_s: float = Field(default=45.0, ge=1, le=86_400, description="longest planning time, s")
    method: Literal["auto", "gangs", "scale"] = Field(
        default="auto",
        description="`gangs` plans every gang by itself, `scale` classes of like runs; "
        "`auto` takes `scale` beyond 40 runs",
    )
    windows_h: float | None = Field(
        default=None,
        ge=4,
        le=744,
        description="hours kept of each window where a month is planned window by window; 72 where left out and needed",
    )
    uncertainty: UncertaintyTable | None = Field(
        default=None, description="how far it looks at what forecasts do not know; not at all where left out"
    )
    rolling: RollingTable | None = Field(
        default=None, description="how plans go on from the one in force; as in [plan.rolling] where left out"
    )


class ForecastTable(Table):
    """What forecasts are made from."""

    history_days: int = Field(
        default=730,
        ge=28,
        le=1461,
        description="how far before the week forecasts look, days; 28 asks providers on the network for no more than "
        "a plan needs",
    )


class CarbonTable(Table):
    """Which carbon is counted."""

    basis: Literal["direct", "lifecycle"] = Field(default="direct", description="basis of the carbon intensity")


class ServerTable(Table):
    """What making a server emits, with its range, and how long it serves."""

    gpus: Annotated[int, Field(ge=1, le=1000)] = Field(description="GPUs in it")
    low_kg: Annotated[float, Field(gt=0, le=1e6)] = Field(description="emissions of making it, cradle to gate, kg")
    mid_kg: Annotated[float, Field(gt=0, le=1e6)] = Field(description="the same, middle case, kg")
    high_kg: Annotated[float, Field(gt=0, le=1e6)] = Field(description="the same, high case, kg")
    low_life_h: Annotated[float, Field(gt=0, le=1e6)] = Field(description="service life of low case: the longest, h")
    mid_life_h: Annotated[float, Field(gt=0, le=1e6)] = Field(description="service life of the middle case, h")
    high_life_h: Annotated[float, Field(gt=0, le=1e6)] = Field(description="service life of high case: the shortest, h")
    source: Name = Field(description="where the figures come from")
    version: Name = Field(default="1", description="version of these figures; raise it with every change")


class AccountsTable(Table):
    """What the carbon accounts are kept by; nothing here changes a plan."""

    factor_set: str | None = Field(
        default=None, description="factor set of the basis of [carbon]; that of IPCC 2014 where left out"
    )
    residual_gco2_per_kwh: Intensity | None = Field(
        default=None, description="intensity of the residual mix, g/kWh; the average stands in where left out"
    )
    marginal_gco2_per_kwh: Intensity | None = Field(
        default=None, description="marginal intensity, g/kWh; reported beside the account, no part of it"
    )
    grid_cfe_share: Share | None = Field(
        default=None, description="share of grid energy free of carbon; none is credited where left out"
    )
    hours: str | None = Field(
        default=None, description="CSV file beside this one with start_utc and any of the three above per hour"
    )
    server: ServerTable | None = Field(default=None, description="server of your own; hgx-8gpu where left out")


class PricesTable(Table):
    """What is paid for things that have no tariff."""

    carbon_per_t: Money = Field(description="money per tonne CO2e")
    lateness_per_gpu_h: Money = Field(
        gt=0, description="money per GPU-hour missing at a deadline, and again for each further day"
    )
    water_per_m3: Money = Field(default=0.0, description="money per cubic metre of water")


class TariffTable(Table):
    """The contract for grid energy."""

    energy_per_kwh: Signed | None = Field(
        default=None, description="flat energy price, money per kWh; the price source's series where left out"
    )
    adder_per_kwh: Signed = Field(default=0.0, description="fees on top of the energy price, money per kWh")
    demand_charge_per_kw_month: Money = Field(
        default=0.0, description="money per kW of each calendar month's highest import"
    )
    month_to_date_peak_kw: float = Field(
        ge=0, le=1e8, default=0.0, description="highest import already billed this month, kW"
    )
    demand_interval_min: Literal[15, 30, 60] = Field(
        default=15, description="minutes over which demand is measured; longer slots stand for theirs"
    )
    period: list[power_tables.PeriodTable] = Field(default=[], description="hours with rates of their own")
    contracted: power_tables.ContractedDemandTable | None = Field(default=None, description="contracted demand")


class MaintenanceTable(Table):
    """A span in which a block may take less."""

    start: When = Field(description="first instant")
    end: When = Field(description="first instant after it")
    capacity_kw: float = Field(ge=0, le=1e8, default=0.0, description="facility power that remains allowed, kW")
    reason: str = Field(default="maintenance", description="for people")


class CoolingTable(Table):
    """The block's cooling plant; any setting of its kind may stand beside these, as a value or as a graded one."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, frozen=True)

    kind: Literal["dry_cooler", "tower_chiller", "room_air"] = Field(
        description="dry_cooler, a warm-water loop with dry coolers; tower_chiller, a loop with wet towers and trim "
        "chillers; or room_air, an air-cooled room"
    )
    rated_it_kw: Power = Field(description="IT power that the plant is built for, kW")


class HeatTable(Table):
    """Who buys the block's heat; the heat pumps that give it stand in [block.cooling]."""

    price_per_kwh: Money = Field(description="what is paid for heat sold, money per kWh of heat")
    demand_kw: Power = Field(description="most that the buyer takes, kW of heat")
    hour_share: list[Share] | None = Field(
        default=None,
        min_length=24,
        max_length=24,
        description="share of it taken in each hour of the day, site time, 24 of them; all of it where left out",
    )
    months: list[Annotated[int, Field(ge=1, le=12)]] | None = Field(
        default=None, min_length=1, description="calendar months in which it is taken, 1 to 12; all where left out"
    )
    supply_c: float | None = Field(
        default=None,
        ge=30,
        le=120,
        description="temperature that the buyer asks for, C; the heat pumps' own where left out",
    )


class GradedTable(Table):
    """A plant's setting with where its value comes from."""

    value: Any = Field(description="the value")
    grade: Literal["measured", "datasheet", "assumed"] = Field(
        default="assumed", description="how well it is known; measured and datasheet name their source"
    )
    source: Name | None = Field(default=None, description="the measurement, the sheet or the reason")


class BlockTable(Table):
    """A part of the site behind one grid connection."""

    name: Name = Field(description="name of the block")
    site: Name | None = Field(default=None, description="name of its [[other_site]]; that of [site] where left out")
    capacity_kw: float = Field(ge=1, le=1e8, description="largest facility power and grid import, kW (1 MW = 1000)")
    available_from: When | None = Field(default=None, description="first instant of service")
    available_until: When | None = Field(default=None, description="first instant after service")
    ramp_kw_per_min: Power | None = Field(default=None, description="fastest change of IT power, kW per minute")
    ramp_window_min: float = Field(default=15.0, gt=0, le=60, description="minutes over which starts are staggered")
    ramp_fall_kw_per_min: Power | None = Field(
        default=None, description="fastest fall of IT power, kW per minute; ramp_kw_per_min where left out"
    )
    cooling: CoolingTable = Field(description="its cooling plant")
    cooling_n1: bool = Field(
        default=False, description="whether IT power stays within what the plant carries with its worst unit out"
    )
    ride_through_restart_s: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        default=None,
        description="time until lost heat rejection is back, s, within which chip cases must not reach their limit",
    )
    solar: SolarTable | None = Field(default=None, description="its solar array")
    wind: supply_tables.WindTable | None = Field(default=None, description="its wind turbines")
    battery: BatteryTable | None = Field(default=None, description="its battery")
    generator: list[supply_tables.GeneratorTable] = Field(default=[], description="its groups of generators")
    export: supply_tables.ExportTable | None = Field(default=None, description="its right to export")
    grid_kw: Power | None = Field(
        default=None, description="largest grid import where it is less than capacity_kw, kW; the rest is made here"
    )
    heat: HeatTable | None = Field(default=None, description="who buys its heat")
    maintenance: list[MaintenanceTable] = Field(default=[], description="spans with less capacity")
    connection: power_tables.ConnectionTable | None = Field(
        default=None, description="feeders, transformers, steps and calls"
    )


class CommissioningTable(Table):
    """A step in which GPUs come on line."""

    since: When = Field(description="first instant of service")
    count: int = Field(ge=0, le=10_000_000, description="GPUs in service from then on")


class AvailabilityTable(Table):
    """A step of the share of installed GPUs that are sound."""

    since: When = Field(description="first instant at which it holds")
    share: Efficiency = Field(description="share of the GPUs in service that work, rounded down to whole GPUs")


class PoolPartTable(Table):
    """The part of a pool that stands in one of several blocks."""

    block: str = Field(description="name of the block")
    share: Efficiency = Field(description="share of the pool's GPUs, and of every gang, in it")


class PoolTable(Table):
    """GPUs of one type in one block on one fabric."""

    name: Name = Field(description="name of the pool")
    block: str = Field(description="name of its block")
    gpu: str = Field(description="GPU type, from the catalogue or a [gpu.NAME] table")
    count: Gpus | None = Field(default=None, description="GPUs in service; or give commissioning")
    in_service_from: When | None = Field(default=None, description="first instant of service of `count`")
    commissioning: list[CommissioningTable] = Field(default=[], description="GPUs in service in steps, by rising time")
    availability: list[AvailabilityTable] = Field(
        default=[], description="share of them that are sound, in steps by rising time; 1 before the first"
    )
    island: Name | None = Field(default=None, description="fabric island; the pool's name where left out")
    split: list[PoolPartTable] = Field(
        default=[], description="for a pool that spans blocks: the share of its GPUs in each, `block` first"
    )
    driver: Name | None = Field(default=None, description="version of its GPU driver, which recipes are compared with")


class SpanTable(Table):
    """Fabric islands, each a pool, that one gang may span."""

    name: Name = Field(description="name by which runs and calendars call it")
    pools: list[str] = Field(min_length=2, description="pools that a gang spans; its GPUs are shared out by their size")
    throughput_share: Efficiency = Field(
        description="measured throughput of a gang that spans them over that of the same gang on one island"
    )


class StageTable(Table):
    """A piece of a run's work."""

    name: Name = Field(description="name of the stage")
    tokens: Tokens = Field(description="tokens of this stage")
    deadline: When = Field(description="when the tokens up to and with this stage are due")
    deadline_confidence: Chance | None = Field(
        default=None, description="chance at which this deadline is to be kept; the run's where left out"
    )
    gpus: Gpus | None = Field(default=None, description="gang size in this stage; the run's where left out")
    pools: list[str] | None = Field(
        default=None, min_length=1, description="pools it may use in this stage; the run's where left out"
    )
    tokens_per_gpu_s: Rates | None = Field(
        default=None, description="useful tokens per second and GPU in this stage; the run's where left out"
    )
    power_limits_w: list[WattsPerGpu] | None = Field(
        default=None, min_length=1, description="GPU power limits in this stage, W; the run's where left out"
    )
    sweep: Name | None = Field(
        default=None, description="file of a sweep of power limits measured on this stage; the run's where left out"
    )
    sweep_workload: Name | None = Field(
        default=None, description="workload of the sweep in this stage; the run's where left out"
    )


class AfterTable(Table):
    """A stage of another run that must be done before a run may start."""

    run: Name = Field(description="name of the run that goes first")
    stage: Name | None = Field(default=None, description="its stage that must be done; its last where left out")
    lag_h: float = Field(ge=0, le=1e4, default=0.0, description="time from then on in which it may not start yet, h")


class FlexibilityTable(Table):
    """How far a run gives way to the grid."""

    tier: Literal[1, 2, 3] | None = Field(
        default=None, description="1 (least) to 3 (most); by the run's priority where left out"
    )
    max_loss_share: Share | None = Field(
        default=None, description="most of its throughput that it may lose over an event; 0.05, 0.2, 0.4 by tier"
    )


class RunTable(Table):
    """A training run: one gang of GPUs, whole or off."""

    name: Name = Field(description="name of the run")
    gpus: Gpus = Field(description="gang size")
    stages: list[StageTable] = Field(min_length=1, description="pieces of work, by rising deadline")
    tokens_per_gpu_s: Rates = Field(description="useful tokens per second and GPU at full power, one or per GPU type")
    pools: list[str] | None = Field(
        default=None, min_length=1, description="pools it may use; all that fit where left out"
    )
    power_limits_w: list[WattsPerGpu] | None = Field(
        default=None, min_length=1, description="GPU power limits it may use, W; all of the GPU type where left out"
    )
    earliest_start: When | None = Field(default=None, description="first instant at which it may run")
    priority: int = Field(default=3, ge=1, le=5, description="1 (first) to 5 (last)")
    checkpoint_s: Seconds = Field(default=120.0, description="time to save before a stop, s")
    reload_s: Seconds = Field(default=600.0, description="time from start to the first token, s")
    min_run_h: float = Field(ge=0, le=1e4, default=2.0, description="shortest spell of running, h")
    min_pause_h: float = Field(ge=0, le=1e4, default=1.0, description="shortest pause, h")
    max_pauses: int = Field(default=7, ge=0, le=1000, description="most pauses in the horizon")
    on_off_grid_h: Hours | None = Field(default=None, description="grid of starts and stops, h")
    tokens_done: float = Field(ge=0, le=1e20, default=0.0, description="tokens made before the horizon")
    running_in: str | None = Field(default=None, description="pool in which it runs as the horizon starts")
    data: geography_tables.DataTable | None = Field(
        default=None, description="where its data lies; everywhere where left out"
    )
    goodput: RunGoodputTable | None = Field(
        default=None, description="how its gang fails and saves; as in [goodput] where left out"
    )
    sweep: Name | None = Field(
        default=None, description="file of a sweep of power limits measured on this run, beside the site file"
    )
    sweep_workload: Name | None = Field(
        default=None, description="workload of the sweep, where its file holds several of them"
    )
    recipe: Name | None = Field(
        default=None, description="file of a recipe, beside this one; gives what the run does not say itself"
    )
    flexibility: FlexibilityTable | None = Field(
        default=None, description="how far it gives way while the grid asks for less; by its priority where left out"
    )
    after: list[AfterTable] = Field(default=[], description="stages of other runs that must be done before it starts")
    sizes: list[move_tables.SizeTable] = Field(
        default=[], description="further counts of GPUs that it may have in turn, with their measured throughput"
    )
    running_gpus: Gpus | None = Field(
        default=None, description="GPUs with which it runs as the horizon starts; its own count where left out"
    )
    migration: move_tables.MigrationTable | None = Field(
        default=None, description="what it takes to go on in another pool; it keeps its pool where left out"
    )


class DemandResponseTable(Table):
    """What the site has agreed to do for the grid."""

    targets: list[Name] = Field(default=[], description="names by which events address the site, beside its own")
    simple_shed_share: list[Share] | None = Field(
        default=None,
        min_length=3,
        max_length=3,
        description="shares of the baseline that SIMPLE levels 1, 2 and 3 ask the site to go without",
    )
    emergency_shed_share: Share | None = Field(
        default=None, description="share of the baseline that the site goes without in a grid emergency"
    )
    lead_s: Seconds = Field(default=60.0, description="time before an event's start at which new limits are set, s")
    max_hold_min: float = Field(
        default=30.0, ge=0, le=1440, description="longest time for which a run may wait with its GPUs held, min"
    )


class SiteFile(Table):
    """A gridpace site file."""

    runs_csv: str | None = Field(
        default=None, description="CSV file with more runs, beside this file; stands above all tables"
    )
    site: SiteTable = Field(description="where the site is")
    horizon: HorizonTable = Field(default=HorizonTable(), description="which week, how finely")
    plan: PlanTable = Field(default=PlanTable(), description="how hard the planner tries")
    forecast: ForecastTable = Field(default=ForecastTable(), description="what forecasts are made from")
    carbon: CarbonTable = Field(default=CarbonTable(), description="which carbon is counted")
    objective: objective_table.ObjectiveTable = Field(
        default=objective_table.ObjectiveTable(), description="what comes first, and the carbon budget"
    )
    accounts: AccountsTable = Field(default=AccountsTable(), description="what the carbon accounts are kept by")
    prices: PricesTable = Field(description="prices of carbon, lateness and water")
    tariff: TariffTable = Field(default=TariffTable(), description="the contract for grid energy")
    sources: SourcesTable = Field(default=SourcesTable(), description="where the series come from")
    goodput: GoodputTable = Field(default=GoodputTable(), description="how gangs fail and save")
    demand_response: DemandResponseTable = Field(
        default=DemandResponseTable(), description="what the site has agreed to do for the grid"
    )
    service: service_table.ServiceTable = Field(
        default=service_table.ServiceTable(), description="how `gridpace serve` runs week by week"
    )
    other_site: list[geography_tables.OtherSiteTable] = Field(default=[], description="further sites")
    link: list[geography_tables.LinkTable] = Field(default=[], description="links between sites for the data of runs")
    gpu: dict[str, GpuTable] = Field(default={}, description="GPU types of your own")
    block: list[BlockTable] = Field(min_length=1, description="power blocks")
    pool: list[PoolTable] = Field(min_length=1, description="GPU pools")
    span: list[SpanTable] = Field(default=[], description="fabric islands that one gang may span")
    contract: list[power_tables.ContractTable] = Field(default=[], description="energy contracts")
    ppa: list[supply_tables.PpaTable] = Field(default=[], description="power purchase agreements")
    run: list[RunTable] = Field(default=[], description="training runs")
