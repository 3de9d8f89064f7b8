"""What a site file may say: one model per table, with the unit and the limits of each key.

Key names end in their unit. The JSON schema that editors read is made from these models.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

When = Annotated[
    datetime,
    WithJsonSchema({"type": "string"}),
]
"""A TOML date-time: with an offset, or without one in the site's time zone."""

Name = Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")]
Power = Annotated[float, Field(gt=0, le=1e8)]
Energy = Annotated[float, Field(gt=0, le=1e9)]
Money = Annotated[float, Field(ge=0, le=1e9)]
Signed = Annotated[float, Field(ge=-1e9, le=1e9)]
Hours = Annotated[float, Field(gt=0, le=1e4)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
Rate = Annotated[float, Field(gt=0, le=1e9)]
Tokens = Annotated[float, Field(gt=0, le=1e20)]
Gpus = Annotated[int, Field(ge=1, le=10_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Efficiency = Annotated[float, Field(gt=0, le=1)]
WattsPerGpu = Annotated[float, Field(gt=0, le=20_000)]

Rates = Annotated[
    Annotated[Rate, Tag("<number>")] | Annotated[dict[str, Rate], Tag("<table>")],
    Discriminator(lambda value: "<table>" if isinstance(value, dict) else "<number>"),
]


class Table(BaseModel):
    """A table of the file: unknown keys, wrong types, nan and inf are faults."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class ProviderTable(Table):
    """A provider of series; its own options, which it reads and checks itself, stand beside these keys."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, frozen=True)

    provider: Literal[
        "csv",
        "demo",
        "electricity-maps",
        "eia",
        "energy-charts",
        "entsoe",
        "open-meteo",
        "uk-carbon-intensity",
        "watttime",
    ] = Field(description="name of the provider")
    zone: str | None = Field(default=None, description="zone as the provider names it; the site's zone where left out")
    fallback: list[ProviderTable] = Field(
        default=[], description="providers that are asked in turn where it has nothing fresh"
    )


class SiteTable(Table):
    """Where the site is."""

    name: Name = Field(description="name of the site")
    timezone: str = Field(description="IANA time zone of the site, such as Europe/Berlin")
    latitude: float = Field(ge=-90, le=90, description="degrees north")
    longitude: float = Field(ge=-180, le=180, description="degrees east")
    zone: Name = Field(description="grid zone, as the carbon and price sources name it")
    currency: str = Field(pattern="^[A-Z]{3}$", examples=["EUR"], description="ISO 4217 code of all money in this file")


class HorizonTable(Table):
    """Which week is planned, and how finely."""

    slot_minutes: Literal[15, 30, 60] = Field(default=60, description="length of a slot, min")
    week: str | None = Field(default=None, description="ISO week such as 2024-W20; the coming one where left out")
    on_off_grid_h: Hours | None = Field(
        default=None,
        description="grid of starts and stops for runs that name none, h; fitted to each run where left out",
    )


class PlanTable(Table):
    """How hard the planner tries."""

    gap_target: float = Field(default=0.01, gt=0, le=0.5, description="certified gap at which the planner stops, share")
    time_limit_s: float = Field(default=45.0, ge=1, le=86_400, description="longest planning time, s")


class CarbonTable(Table):
    """Which carbon is counted."""

    basis: Literal["direct", "lifecycle"] = Field(default="direct", description="basis of the carbon intensity")


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


class MaintenanceTable(Table):
    """A span in which a block may take less."""

    start: When = Field(description="first instant")
    end: When = Field(description="first instant after it")
    capacity_kw: float = Field(ge=0, le=1e8, default=0.0, description="facility power that remains allowed, kW")
    reason: str = Field(default="maintenance", description="for people")


class SolarTable(Table):
    """A solar array behind the block's meter."""

    name: Name = Field(default="solar", description="name of the array")
    peak_kw: Power = Field(description="DC power at standard test conditions, kW")
    inverter_kw: Power | None = Field(default=None, description="largest AC power, kW; peak_kw where left out")
    system_efficiency: Efficiency = Field(default=0.83, description="AC over DC energy apart from temperature, share")
    temp_coefficient_per_k: float = Field(
        default=-0.0035, ge=-0.01, le=0, description="change of power per kelvin, 1/K"
    )


class BatteryTable(Table):
    """A battery behind the block's meter; the shares are of energy_kwh."""

    energy_kwh: Energy = Field(description="usable nameplate energy, kWh")
    charge_kw: Power = Field(description="largest AC charging power, kW")
    discharge_kw: Power = Field(description="largest AC discharging power, kW")
    charge_efficiency: Efficiency = Field(default=0.922, description="stored over AC energy taken, share")
    discharge_efficiency: Efficiency = Field(
        default=0.922, description="AC energy given over energy taken from store, share"
    )
    min_share: Share = Field(default=0.1, description="lowest state allowed")
    max_share: Share = Field(default=0.9, description="highest state allowed")
    initial_share: Share = Field(default=0.5, description="state at the start of the horizon")
    final_share: Share = Field(default=0.5, description="lowest state allowed at the end of the horizon")
    wear_cost_per_kwh: Money = Field(description="replacement cost, money per AC kWh discharged")


class CoolingTable(Table):
    """The block's cooling plant; any setting of its kind may stand beside these, as a value or as a graded one."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, frozen=True)

    kind: Literal["dry_cooler", "tower_chiller", "room_air"] = Field(
        description="dry_cooler, a warm-water loop with dry coolers; tower_chiller, a loop with wet towers and trim "
        "chillers; or room_air, an air-cooled room"
    )
    rated_it_kw: Power = Field(description="IT power that the plant is built for, kW")


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
    capacity_kw: float = Field(ge=1, le=1e8, description="largest facility power and grid import, kW (1 MW = 1000)")
    available_from: When | None = Field(default=None, description="first instant of service")
    available_until: When | None = Field(default=None, description="first instant after service")
    ramp_kw_per_min: Power | None = Field(default=None, description="fastest change of IT power, kW per minute")
    ramp_window_min: float = Field(default=15.0, gt=0, le=60, description="minutes over which starts are staggered")
    cooling: CoolingTable = Field(description="its cooling plant")
    cooling_n1: bool = Field(
        default=False, description="whether IT power stays within what the plant carries with its worst unit out"
    )
    ride_through_restart_s: Annotated[float, Field(gt=0, le=86_400)] | None = Field(
        default=None,
        description="time until lost heat rejection is back, s, within which chip cases must not reach their limit",
    )
    solar: SolarTable | None = Field(default=None, description="its solar array")
    battery: BatteryTable | None = Field(default=None, description="its battery")
    maintenance: list[MaintenanceTable] = Field(default=[], description="spans with less capacity")


class CommissioningTable(Table):
    """A step in which GPUs come on line."""

    since: When = Field(description="first instant of service")
    count: int = Field(ge=0, le=10_000_000, description="GPUs in service from then on")


class PoolTable(Table):
    """GPUs of one type in one block on one fabric."""

    name: Name = Field(description="name of the pool")
    block: str = Field(description="name of its block")
    gpu: str = Field(description="GPU type, from the catalogue or a [gpu.NAME] table")
    count: Gpus | None = Field(default=None, description="GPUs in service; or give commissioning")
    in_service_from: When | None = Field(default=None, description="first instant of service of `count`")
    commissioning: list[CommissioningTable] = Field(default=[], description="GPUs in service in steps, by rising time")
    island: Name | None = Field(default=None, description="fabric island; the pool's name where left out")


class OperatingPointTable(Table):
    """A measured point of a power-limit sweep."""

    gpu_power_limit_w: WattsPerGpu = Field(description="limit set on the GPU, W")
    it_w_per_gpu: WattsPerGpu = Field(description="IT power per GPU with its share of the node, W")
    relative_throughput: Efficiency = Field(description="tokens per second over those at the highest limit")


class GpuTable(Table):
    """A GPU type of your own, or in place of the catalogue's."""

    idle_w_per_gpu: WattsPerGpu = Field(description="IT power per GPU without a job, W")
    points: list[OperatingPointTable] = Field(min_length=1, description="operating points, by rising limit")


class StageTable(Table):
    """A piece of a run's work."""

    name: Name = Field(description="name of the stage")
    tokens: Tokens = Field(description="tokens of this stage")
    deadline: When = Field(description="when the tokens up to and with this stage are due")


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


class SourcesTable(Table):
    """Where the series come from; the bundled synthetic demo where left out."""

    carbon: ProviderTable | None = Field(default=None, description="carbon intensity")
    price: ProviderTable | None = Field(default=None, description="energy price")
    weather: ProviderTable | None = Field(default=None, description="dry bulb, wet bulb and sun")


class SiteFile(Table):
    """A gridpace site file."""

    runs_csv: str | None = Field(
        default=None, description="CSV file with more runs, beside this file; stands above all tables"
    )
    site: SiteTable = Field(description="where the site is")
    horizon: HorizonTable = Field(default=HorizonTable(), description="which week, how finely")
    plan: PlanTable = Field(default=PlanTable(), description="how hard the planner tries")
    carbon: CarbonTable = Field(default=CarbonTable(), description="which carbon is counted")
    prices: PricesTable = Field(description="prices of carbon, lateness and water")
    tariff: TariffTable = Field(default=TariffTable(), description="the contract for grid energy")
    sources: SourcesTable = Field(default=SourcesTable(), description="where the series come from")
    gpu: dict[str, GpuTable] = Field(default={}, description="GPU types of your own")
    block: list[BlockTable] = Field(min_length=1, description="power blocks")
    pool: list[PoolTable] = Field(min_length=1, description="GPU pools")
    run: list[RunTable] = Field(default=[], description="training runs")
