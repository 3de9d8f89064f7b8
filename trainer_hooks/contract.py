"""The run calendar as frozen records: what planner and training agree on.

Times are timezone-aware UTC, windows and slots are left-closed, power is kW (GPU limits: W), energy kWh.
These classes hold data; `trainer_hooks.calendar` checks, reads and writes them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal

State = Literal["run", "hold", "off"]
Checkpoint = Literal["none", "before", "after"]

SCHEMA = "gridpace.run-calendar/1"
RUN_SCHEMA = "gridpace.run-windows/1"
STATES: tuple[State, ...] = ("run", "hold", "off")
CHECKPOINTS: tuple[Checkpoint, ...] = ("none", "before", "after")


@dataclass(frozen=True)
class Window:
    """One stretch of time in which a run is told one thing.

    Windows of a run are ordered, meet end to start, and together cover the calendar's validity; they need not
    lie on slot boundaries.

    Attributes:
        start: First instant of the window, UTC.
        end: First instant after the window, UTC.
        state: `run` trains; `hold` keeps the GPUs and waits at a step boundary; `off` gives the GPUs back.
        pool: GPU pool the gang sits in; None when the run holds no GPUs.
        block: Power block of that pool; None when the run holds no GPUs.
        gpus: GPUs held in the window; 0 exactly when the state is `off`.
        gpu_power_limit_w: Power limit per GPU, W; None asks for none: the GPU's own limit stands.
        checkpoint: `after` (run windows): save at this window's end, because the pause that follows drops the
            job. `before` (hold and off windows): the job must have saved before this window begins. `none`:
            nothing is asked here. A saved state satisfies both, so a hook saves once at such a boundary.
        tokens: Tokens expected in the window.
        energy_kwh: IT energy expected in the window, kWh.
        kgco2e: Emissions expected in the window, kg CO2e.
        why: One line for people: why the window is what it is.
    """

    start: datetime
    end: datetime
    state: State
    pool: str | None
    block: str | None
    gpus: int
    gpu_power_limit_w: float | None
    checkpoint: Checkpoint
    tokens: float
    energy_kwh: float
    kgco2e: float
    why: str


@dataclass(frozen=True)
class RunCalendar:
    """The windows of one run, with enough of the header to be followed alone."""

    calendar_id: str
    issued_at: datetime
    valid_from: datetime
    valid_until: datetime
    site: str
    run: str
    windows: tuple[Window, ...]

    @cached_property
    def _starts(self) -> tuple[datetime, ...]:
        return tuple(window.start for window in self.windows)

    def window_at(self, time: datetime) -> Window | None:
        """Find the window that holds an instant.

        Args:
            time: Timezone-aware instant.

        Returns:
            The window with start <= time < end, or None outside the calendar's validity.
        """
        position = self.position_at(time)
        return None if position is None else self.windows[position]

    def position_at(self, time: datetime) -> int | None:
        """Find the position in `windows` of the window that holds an instant, as in `window_at`."""
        position = bisect_right(self._starts, time) - 1
        return position if position >= 0 and time < self.windows[position].end else None


@dataclass(frozen=True)
class GeneratorPlan:
    """What one group of generators does in each slot.

    Attributes:
        generator: Name of the group.
        units_on: Units that run.
        generation_kw: Power of the group, slot mean, kW.
    """

    generator: str
    units_on: tuple[int, ...]
    generation_kw: tuple[float, ...]


@dataclass(frozen=True)
class BlockPlan:
    """What one power block does in each slot; every tuple has one entry per slot.

    The series of a tank and of heat sold are empty where the block has none, and are then not written.

    Attributes:
        block: Name of the power block.
        it_kw: Power of the GPUs and their servers, slot mean, kW.
        cooling_kw: Power of pumps, fans and chillers, slot mean, kW.
        facility_kw: IT + cooling + heat pumps, slot mean, kW.
        import_kw: Power drawn from the grid, slot mean, kW.
        solar_kw: On-site solar power used, slot mean, kW.
        charge_kw: Power into the battery, slot mean, kW.
        discharge_kw: Power out of the battery, slot mean, kW.
        battery_kwh: Energy in the battery at the END of the slot, kWh.
        supply_setpoint_c: Requested coolant supply temperature, degrees C; None asks for nothing.
        wind_kw: On-site wind power used, slot mean, kW; empty without wind.
        export_kw: Power given to the grid, slot mean, kW; empty without export.
        generators: One plan per group of on-site generators.
        cold_kwh_th: Cold in the tank at the END of the slot, kWh of heat that it takes up.
        fill_kw_th: Heat rejected to fill the tank with cold, slot mean, kW.
        draw_kw_th: Heat of the racks that goes into the tank, slot mean, kW.
        heat_sold_kw_th: Heat sold, slot mean, kW.
        heat_pump_kw: Power of the heat pumps, slot mean, kW.
    """

    block: str
    it_kw: tuple[float, ...]
    cooling_kw: tuple[float, ...]
    facility_kw: tuple[float, ...]
    import_kw: tuple[float, ...]
    solar_kw: tuple[float, ...]
    charge_kw: tuple[float, ...]
    discharge_kw: tuple[float, ...]
    battery_kwh: tuple[float, ...]
    supply_setpoint_c: tuple[float | None, ...]
    wind_kw: tuple[float, ...] = ()
    export_kw: tuple[float, ...] = ()
    generators: tuple[GeneratorPlan, ...] = ()
    cold_kwh_th: tuple[float, ...] = ()
    fill_kw_th: tuple[float, ...] = ()
    draw_kw_th: tuple[float, ...] = ()
    heat_sold_kw_th: tuple[float, ...] = ()
    heat_pump_kw: tuple[float, ...] = ()


@dataclass(frozen=True)
class ContractPlan:
    """What the site takes of one energy contract; of all blocks together.

    Attributes:
        contract: Name of the contract.
        bought_share: Share of it that is bought; 1 for one in force.
        take_kw: Power taken of it, slot mean, kW, one entry per slot.
        why: One line for people: why an offer is bought or not; empty for a contract in force.
    """

    contract: str
    bought_share: float
    take_kw: tuple[float, ...]
    why: str = ""


@dataclass(frozen=True)
class PpaPlan:
    """Where the energy of one power purchase agreement goes in each slot: volume = used + sold + curtailed.

    Attributes:
        ppa: Name of the agreement.
        volume_kw: What it delivers, slot mean, kW.
        used_kw: What meets the site's import, slot mean, kW.
        sold_kw: What is sold, slot mean, kW.
        curtailed_kw: What is not made, slot mean, kW.
    """

    ppa: str
    volume_kw: tuple[float, ...]
    used_kw: tuple[float, ...]
    sold_kw: tuple[float, ...]
    curtailed_kw: tuple[float, ...]


@dataclass(frozen=True)
class CarbonBudgetPlan:
    """What the plan emits beside the budget it was given.

    Attributes:
        most_kg: The budget, kg CO2e of import and generators.
        planned_kg: What the plan emits, kg CO2e; above the budget where it is missed.
        sentence: The same for people.
    """

    most_kg: float
    planned_kg: float
    sentence: str


@dataclass(frozen=True)
class Shortfall:
    """A promise the plan cannot keep, said by name.

    Attributes:
        run: Run that falls short.
        stage: Stage of that run.
        deadline: When the stage was due, UTC.
        tokens_short: Tokens missing at the deadline.
        hours_short: The same in hours of the whole gang at full speed.
        sentence: The same for people.
    """

    run: str
    stage: str
    deadline: datetime
    tokens_short: float
    hours_short: float
    sentence: str


@dataclass(frozen=True)
class RunEntry:
    """Where one run's windows lie and what their file hashes to.

    Attributes:
        run: Name of the run.
        file: Path inside the calendar's folder, always `runs/<encoded name>.json`.
        sha256: SHA-256 of that file, 64 hexadecimal digits.
    """

    run: str
    file: str
    sha256: str


@dataclass(frozen=True)
class Calendar:
    """The header of a published plan.

    Attributes:
        calendar_id: Hash of all that the plan says and of its inputs; names the folder.
        issued_at: When the plan was made, UTC; one of the inputs.
        valid_from: First instant covered, UTC.
        valid_until: First instant no longer covered, UTC.
        site: Name of the site.
        timezone: IANA name of the site's time zone, for people.
        slot_minutes: Length of a slot, min.
        n_slots: Number of slots from valid_from to valid_until.
        inputs: Name of a resolved input -> facts about it, such as its hash, source or version.
        status: How the solve ended.
        certified_gap: Proven relative distance from the best plan; None if nothing was proven.
        shortfalls: Promises not kept.
        blocks: One plan per power block.
        runs: One entry per run; `write_calendar` fills them in.
        notes: Labels every reader must see, such as "synthetic data".
        ppas: One plan per power purchase agreement delivered to the site; the key is absent where there is none.
        contracts: One plan per energy contract of the site; the key is absent where there is none.
        carbon_budget: What the plan emits beside its budget; the key is absent where it has none.
    """

    calendar_id: str
    issued_at: datetime
    valid_from: datetime
    valid_until: datetime
    site: str
    timezone: str
    slot_minutes: int
    n_slots: int
    inputs: Mapping[str, Mapping[str, str]]
    status: str
    certified_gap: float | None
    shortfalls: tuple[Shortfall, ...]
    blocks: tuple[BlockPlan, ...]
    runs: tuple[RunEntry, ...] = ()
    notes: tuple[str, ...] = ()
    ppas: tuple[PpaPlan, ...] = ()
    contracts: tuple[ContractPlan, ...] = ()
    carbon_budget: CarbonBudgetPlan | None = None
