"""Small weeks for tests: every part has a default, so that a test states only what it is about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from planner.pool import Pool
from planner.run import PoolOption, Run, Stage
from planner.timegrid import TimeGrid
from planner.week import Block, Prices, Signals, Week
from power.battery import Battery
from power.blocks import PowerBlock
from power.gpu import GpuType, OperatingPoint
from power.renewables import SolarArray
from power.tariff import Tariff
from thermal.plant import CoolingPlant, dry_cooler

START = datetime(2024, 5, 13, tzinfo=UTC)
IDLE_W = 150.0
POINTS = (
    OperatingPoint(gpu_power_limit_w=350.0, it_w_per_gpu=650.0, relative_throughput=0.70),
    OperatingPoint(gpu_power_limit_w=500.0, it_w_per_gpu=840.0, relative_throughput=0.88),
    OperatingPoint(gpu_power_limit_w=700.0, it_w_per_gpu=1100.0, relative_throughput=1.0),
)
FULL_POWER = POINTS[-1:]


def at(hours: float, start: datetime = START) -> datetime:
    """The instant `hours` after the start of the horizon."""
    return start + timedelta(hours=hours)


def battery(energy_kwh: float = 200.0, power_kw: float = 100.0, **changes) -> Battery:
    """A battery that starts and must end half full."""
    given = {
        "energy_kwh": energy_kwh,
        "charge_kw": power_kw,
        "discharge_kw": power_kw,
        "charge_efficiency": 0.95,
        "discharge_efficiency": 0.95,
        "min_share": 0.1,
        "max_share": 0.9,
        "initial_share": 0.5,
        "final_share": 0.5,
        "wear_cost_per_kwh": 0.01,
    }
    return Battery(**(given | changes))


def solar(peak_kw: float) -> SolarArray:
    """A solar array that gives `peak_kw` at most."""
    return SolarArray("roof", peak_kw, peak_kw, system_efficiency=0.9, temp_coefficient_per_k=-0.004)


def make_block(
    name: str = "hall",
    capacity_kw: float = 1000.0,
    *,
    n_slots: int,
    plant: CoolingPlant | None = None,
    solar: SolarArray | None = None,
    battery: Battery | None = None,
    idle_powered: bool | np.ndarray = True,
    **power,
) -> Block:
    """A block whose plant is rated for its whole capacity unless another is given."""
    powered = np.broadcast_to(np.asarray(idle_powered, dtype=bool), n_slots).copy()
    powered.setflags(write=False)
    return Block(
        power=PowerBlock(name, capacity_kw, **power),
        plant=plant or dry_cooler(capacity_kw),
        solar=solar,
        battery=battery,
        idle_powered=powered,
    )


def make_pool(
    name: str = "a1",
    gpus: int = 512,
    block: str = "hall",
    *,
    commissioning: tuple[tuple[datetime, int], ...] | None = None,
    idle_w: float = IDLE_W,
    points: tuple[OperatingPoint, ...] = POINTS,
    split: tuple[tuple[str, float], ...] = (),
) -> Pool:
    """A pool in service since long before the horizon unless its commissioning is given."""
    since = commissioning or ((datetime(2020, 1, 1, tzinfo=UTC), gpus),)
    return Pool(name, block, GpuType("H100", idle_w, points), f"island-{name}", since, split)


def make_run(
    name: str = "r1",
    gpus: int = 256,
    work_h: float = 4.0,
    deadline_h: float = 8.0,
    *,
    tokens_per_gpu_s: float = 1000.0,
    pools: tuple[str, ...] = ("a1",),
    points: tuple[OperatingPoint, ...] = POINTS,
    start: datetime = START,
    earliest_h: float = 0.0,
    **changes,
) -> Run:
    """A run with one stage: `work_h` hours of the whole gang at full speed, due `deadline_h` after the start."""
    tokens = work_h * 3600.0 * gpus * tokens_per_gpu_s
    given = {
        "name": name,
        "gpus": gpus,
        "stages": (Stage("train", tokens, at(deadline_h, start)),),
        "options": tuple(PoolOption(p, tokens_per_gpu_s, points) for p in pools),
        "earliest_start": at(earliest_h, start),
        "priority": 3,
        "checkpoint_s": 0.0,
        "reload_s": 0.0,
        "min_run_h": 1.0,
        "min_pause_h": 1.0,
        "max_pauses": 10,
        "on_off_grid_h": 1.0,
    }
    return Run(**(given | changes))


def tiny_week(
    *,
    n_slots: int = 8,
    slot_minutes: int = 60,
    start: datetime = START,
    timezone: str = "Europe/Berlin",
    price_per_kwh: float | list[float] | np.ndarray = 0.08,
    ci_gco2_per_kwh: float | list[float] | np.ndarray = 300.0,
    dry_bulb_c: float | list[float] | np.ndarray = 15.0,
    wet_bulb_c: float | list[float] | np.ndarray = 10.0,
    ghi_w_per_m2: float | list[float] | np.ndarray = 0.0,
    blocks: tuple[Block, ...] | None = None,
    pools: tuple[Pool, ...] | None = None,
    runs: tuple[Run, ...] | None = None,
    tariff: Tariff | None = None,
    prices: Prices | None = None,
) -> Week:
    """One block of 1,000 kW, one pool of 512 GPUs, one run of 256 GPUs and 4 h of work; eight hours; flat signals."""

    def series(value: float | list[float] | np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), n_slots).copy()

    return Week(
        site="tiny",
        timezone=timezone,
        grid=TimeGrid(start, slot_minutes, n_slots),
        issued_at=start - timedelta(hours=12),
        signals=Signals(
            ci_gco2_per_kwh=series(ci_gco2_per_kwh),
            ci_basis="lifecycle",
            price_per_kwh=series(price_per_kwh),
            dry_bulb_c=series(dry_bulb_c),
            wet_bulb_c=series(wet_bulb_c),
            ghi_w_per_m2=series(ghi_w_per_m2),
        ),
        provenance=(),
        blocks=blocks or (make_block(n_slots=n_slots),),
        pools=pools or (make_pool(),),
        runs=runs if runs is not None else (make_run(start=start),),
        tariff=tariff or Tariff(),
        prices=prices or Prices("EUR", carbon_per_t=80.0, water_per_m3=2.0, lateness_per_gpu_h=3.0),
        labels=("synthetic test data",),
    )


def random_week(
    seed: int,
    *,
    n_runs: int = 3,
    n_slots: int = 8,
    slot_minutes: int = 60,
    n_pools: int = 1,
    on_off_grid_h: float = 1.0,
    negative_prices: bool = False,
    fill: float = 0.7,
) -> Week:
    """A week drawn from `seed`: gangs of several sizes that want `fill` of the GPU-hours, prices and carbon that move.

    Solar, a battery, a ramp limit, a demand charge, start and stop costs and a second stage each come in by chance.
    """
    rng = np.random.default_rng(seed)
    hours = n_slots * slot_minutes / 60
    sizes = rng.choice([64, 128, 256, 512], n_runs, p=[0.3, 0.3, 0.25, 0.15])
    work_h = rng.uniform(0.2, 0.6, n_runs) * hours
    gpus = int(max(sizes.max(), np.ceil((sizes * work_h).sum() / hours / fill / n_pools)))
    step = np.arange(n_slots) * slot_minutes / 60
    price = 0.07 + 0.04 * np.sin(2 * np.pi * (step - 8) / 24) + rng.normal(0, 0.02, n_slots)
    if negative_prices:
        price[rng.random(n_slots) < 0.3] = -0.06
    pools = tuple(make_pool(f"a{i + 1}", gpus, f"hall-{i + 1}") for i in range(n_pools))
    capacity_kw = gpus * 1.1 * rng.uniform(0.95, 1.2)
    blocks = tuple(
        make_block(
            f"hall-{i + 1}",
            capacity_kw,
            n_slots=n_slots,
            solar=solar(0.3 * capacity_kw) if rng.random() < 0.5 else None,
            battery=battery(capacity_kw * 0.4, capacity_kw * 0.15) if rng.random() < 0.4 else None,
            ramp_kw_per_min=float(sizes.max()) * 0.08 if rng.random() < 0.4 else None,
        )
        for i in range(n_pools)
    )
    runs = []
    for i in range(n_runs):
        first = float(rng.integers(0, max(1, int(hours * 0.25))))
        last = min(hours, first + work_h[i] * rng.uniform(1.4, 2.5) + on_off_grid_h)
        pick = tuple(p.name for p in pools) if rng.random() < 0.5 else (pools[int(rng.integers(n_pools))].name,)
        run = make_run(
            f"r{i + 1}",
            int(sizes[i]),
            float(work_h[i]),
            float(last),
            tokens_per_gpu_s=float(rng.integers(300, 3000)),
            pools=pick,
            earliest_h=first,
            priority=int(rng.integers(1, 6)),
            checkpoint_s=float(rng.choice([0, 120, 600])),
            reload_s=float(rng.choice([0, 300, 900])),
            min_run_h=float(rng.choice([1, 2])) * on_off_grid_h,
            min_pause_h=float(rng.choice([1, 2])) * on_off_grid_h,
            max_pauses=int(rng.integers(0, 4)),
            on_off_grid_h=on_off_grid_h,
        )
        if rng.random() < 0.4:
            whole = run.stages[0]
            half = replace(whole, name="warm-up", tokens=whole.tokens * 0.3, deadline=at((first + last) / 2))
            run = replace(run, stages=(half, replace(whole, tokens=whole.tokens * 0.7)))
        runs.append(run)
    return tiny_week(
        n_slots=n_slots,
        slot_minutes=slot_minutes,
        price_per_kwh=price,
        ci_gco2_per_kwh=np.clip(rng.normal(300, 80, n_slots), 20, 800),
        dry_bulb_c=15 + 8 * np.sin(2 * np.pi * (step - 9) / 24),
        ghi_w_per_m2=np.clip(800 * np.sin(2 * np.pi * (step - 6) / 24), 0, None),
        blocks=blocks,
        pools=pools,
        runs=tuple(runs),
        tariff=Tariff(demand_charge_per_kw_month=float(rng.choice([0.0, 2.0]))),
    )
