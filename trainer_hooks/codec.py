"""Run calendar records to JSON documents and back, one function per record and way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from trainer_hooks.contract import (
    CHECKPOINTS,
    RUN_SCHEMA,
    SCHEMA,
    STATES,
    BlockPlan,
    Calendar,
    CarbonBudgetPlan,
    Checkpoint,
    ContractPlan,
    GeneratorPlan,
    PpaPlan,
    RunCalendar,
    RunEntry,
    Shortfall,
    State,
    Window,
)
from trainer_hooks.strictjson import Node, number_text, time_text

SERIES = (
    "it_kw",
    "cooling_kw",
    "facility_kw",
    "import_kw",
    "solar_kw",
    "charge_kw",
    "discharge_kw",
    "battery_kwh",
)
OPTIONAL_SERIES = ("wind_kw", "export_kw", "cold_kwh_th", "fill_kw_th", "draw_kw_th", "heat_sold_kw_th", "heat_pump_kw")
"""Series of wind, export, a tank and heat sold: written only where a block has them."""
PPA_SERIES = ("volume_kw", "used_kw", "sold_kw", "curtailed_kw")
"""What an agreement delivers, and the three ways its energy goes."""


def run_document(run: RunCalendar) -> dict[str, Any]:
    """Turn a run's windows into the JSON object of `runs/<run>.json`."""
    return {
        "schema": RUN_SCHEMA,
        "calendar_id": run.calendar_id,
        "issued_at": time_text(run.issued_at),
        "valid_from": time_text(run.valid_from),
        "valid_until": time_text(run.valid_until),
        "site": run.site,
        "run": run.run,
        "windows": [_window_document(window) for window in run.windows],
    }


def _window_document(window: Window) -> dict[str, Any]:
    return {
        "start": time_text(window.start),
        "end": time_text(window.end),
        "state": window.state,
        "pool": window.pool,
        "block": window.block,
        "gpus": window.gpus,
        "gpu_power_limit_w": _optional(window.gpu_power_limit_w),
        "checkpoint": window.checkpoint,
        "tokens": number_text(window.tokens),
        "energy_kwh": number_text(window.energy_kwh),
        "kgco2e": number_text(window.kgco2e),
        "why": window.why,
    }


def calendar_document(calendar: Calendar) -> dict[str, Any]:
    """Turn the header into the JSON object of `calendar.json`."""
    return {
        "schema": SCHEMA,
        "calendar_id": calendar.calendar_id,
        "issued_at": time_text(calendar.issued_at),
        "valid_from": time_text(calendar.valid_from),
        "valid_until": time_text(calendar.valid_until),
        "site": calendar.site,
        "timezone": calendar.timezone,
        "slot_minutes": calendar.slot_minutes,
        "n_slots": calendar.n_slots,
        "status": calendar.status,
        "certified_gap": _optional(calendar.certified_gap),
        "notes": list(calendar.notes),
        "inputs": {
            name: {key: calendar.inputs[name][key] for key in sorted(calendar.inputs[name])}
            for name in sorted(calendar.inputs)
        },
        "shortfalls": [
            {
                "run": short.run,
                "stage": short.stage,
                "deadline": time_text(short.deadline),
                "tokens_short": number_text(short.tokens_short),
                "hours_short": number_text(short.hours_short),
                "sentence": short.sentence,
            }
            for short in calendar.shortfalls
        ],
        "blocks": [
            {
                "block": plan.block,
                **{name: _series(getattr(plan, name)) for name in SERIES},
                "supply_setpoint_c": _series(plan.supply_setpoint_c),
                **{name: _series(getattr(plan, name)) for name in OPTIONAL_SERIES if getattr(plan, name)},
                **({"generators": [_generator_document(g) for g in plan.generators]} if plan.generators else {}),
            }
            for plan in calendar.blocks
        ],
        **({"ppas": [_ppa_document(plan) for plan in calendar.ppas]} if calendar.ppas else {}),
        "runs": [{"run": entry.run, "file": entry.file, "sha256": entry.sha256} for entry in calendar.runs],
        **({"contracts": [_contract_document(plan) for plan in calendar.contracts]} if calendar.contracts else {}),
        **({} if calendar.carbon_budget is None else {"carbon_budget": _budget_document(calendar.carbon_budget)}),
    }


def _generator_document(plan: GeneratorPlan) -> dict[str, Any]:
    return {
        "generator": plan.generator,
        "units_on": list(plan.units_on),
        "generation_kw": _series(plan.generation_kw),
    }


def _ppa_document(plan: PpaPlan) -> dict[str, Any]:
    return {"ppa": plan.ppa, **{name: _series(getattr(plan, name)) for name in PPA_SERIES}}


def _contract_document(plan: ContractPlan) -> dict[str, Any]:
    return {
        "contract": plan.contract,
        "bought_share": number_text(plan.bought_share),
        "take_kw": _series(plan.take_kw),
        "why": plan.why,
    }


def _budget_document(plan: CarbonBudgetPlan) -> dict[str, Any]:
    return {
        "most_kg": number_text(plan.most_kg),
        "planned_kg": number_text(plan.planned_kg),
        "sentence": plan.sentence,
    }


def _optional(number: float | None) -> float | None:
    return None if number is None else number_text(number)


def _series(numbers: Iterable[float | None]) -> list[float | None]:
    return [_optional(number) for number in numbers]


def run_from(document: Node) -> RunCalendar:
    """Read a run's windows from its JSON object.

    Raises:
        CalendarError: Another major version, or a key that is missing or of the wrong type.
    """
    _expect_schema(document, RUN_SCHEMA)
    return RunCalendar(
        calendar_id=document.text("calendar_id"),
        issued_at=document.time("issued_at"),
        valid_from=document.time("valid_from"),
        valid_until=document.time("valid_until"),
        site=document.text("site"),
        run=document.text("run"),
        windows=tuple(_window_from(node.expect_object()) for node in document.list("windows")),
    )


def _window_from(node: Node) -> Window:
    return Window(
        start=node.time("start"),
        end=node.time("end"),
        state=cast("State", _one_of(node, "state", STATES)),
        pool=node.optional_text("pool"),
        block=node.optional_text("block"),
        gpus=node.integer("gpus"),
        gpu_power_limit_w=node.optional_number("gpu_power_limit_w"),
        checkpoint=cast("Checkpoint", _one_of(node, "checkpoint", CHECKPOINTS)),
        tokens=node.number("tokens"),
        energy_kwh=node.number("energy_kwh"),
        kgco2e=node.number("kgco2e"),
        why=node.text("why"),
    )


def calendar_from(document: Node) -> Calendar:
    """Read the header from its JSON object.

    Raises:
        CalendarError: Another major version, or a key that is missing or of the wrong type.
    """
    _expect_schema(document, SCHEMA)
    return Calendar(
        calendar_id=document.text("calendar_id"),
        issued_at=document.time("issued_at"),
        valid_from=document.time("valid_from"),
        valid_until=document.time("valid_until"),
        site=document.text("site"),
        timezone=document.text("timezone"),
        slot_minutes=document.integer("slot_minutes"),
        n_slots=document.integer("n_slots"),
        inputs={
            name: {key: value.as_text() for key, value in facts.expect_object().items()}
            for name, facts in document.object("inputs").items()
        },
        status=document.text("status"),
        certified_gap=document.optional_number("certified_gap"),
        shortfalls=tuple(_shortfall_from(node.expect_object()) for node in document.list("shortfalls")),
        blocks=tuple(_block_from(node.expect_object()) for node in document.list("blocks")),
        runs=tuple(_entry_from(node.expect_object()) for node in document.list("runs")),
        notes=tuple(node.as_text() for node in document.list("notes")),
        ppas=tuple(_ppa_from(node.expect_object()) for node in document.optional_list("ppas")),
        contracts=tuple(_contract_from(node.expect_object()) for node in document.optional_list("contracts")),
        carbon_budget=_budget_from(document.object("carbon_budget")) if "carbon_budget" in document.value else None,
    )


def _shortfall_from(node: Node) -> Shortfall:
    return Shortfall(
        run=node.text("run"),
        stage=node.text("stage"),
        deadline=node.time("deadline"),
        tokens_short=node.number("tokens_short"),
        hours_short=node.number("hours_short"),
        sentence=node.text("sentence"),
    )


def _block_from(node: Node) -> BlockPlan:
    there = dict(node.items())
    names = [*SERIES, *(name for name in OPTIONAL_SERIES if name in there)]
    series = {name: _numbers(node, name) for name in names}
    return BlockPlan(
        block=node.text("block"),
        **series,
        supply_setpoint_c=tuple(
            None if entry.value is None else entry.as_number() for entry in node.list("supply_setpoint_c")
        ),
        generators=tuple(_generator_from(entry.expect_object()) for entry in node.optional_list("generators")),
    )


def _generator_from(node: Node) -> GeneratorPlan:
    return GeneratorPlan(
        generator=node.text("generator"),
        units_on=tuple(_units(entry) for entry in node.list("units_on")),
        generation_kw=_numbers(node, "generation_kw"),
    )


def _units(node: Node) -> int:
    number = node.as_number()
    if number != int(number):
        raise node.fault(f"{number} is no count of units.")
    return int(number)


def _ppa_from(node: Node) -> PpaPlan:
    return PpaPlan(ppa=node.text("ppa"), **{name: _numbers(node, name) for name in PPA_SERIES})


def _budget_from(node: Node) -> CarbonBudgetPlan:
    return CarbonBudgetPlan(node.number("most_kg"), node.number("planned_kg"), node.text("sentence"))


def _contract_from(node: Node) -> ContractPlan:
    return ContractPlan(
        contract=node.text("contract"),
        bought_share=node.number("bought_share"),
        take_kw=_numbers(node, "take_kw"),
        why=node.text("why"),
    )


def _numbers(node: Node, key: str) -> tuple[float, ...]:
    return tuple(entry.as_number() for entry in node.list(key))


def _entry_from(node: Node) -> RunEntry:
    return RunEntry(run=node.text("run"), file=node.text("file"), sha256=node.text("sha256"))


def _one_of(node: Node, key: str, allowed: tuple[str, ...]) -> str:
    text = node.text(key)
    if text not in allowed:
        raise node.child(key).fault(f"{text[:40]!r} is not one of {', '.join(allowed)}.")
    return text


def _expect_schema(document: Node, schema: str) -> None:
    found = document.text("schema")
    if not re.fullmatch(re.escape(schema) + r"(\.\d{1,9})*", found, re.ASCII):
        raise document.child("schema").fault(f"{found[:60]!r} is not {schema!r}, which this reader knows.")
