"""Setpoint requests and capacity limits in the shape of NVIDIA DSX Exchange: content for the site's own sender.

A setpoint goes to the building system as a request on the point that it has declared for this integration; a capacity
limit is the data of a load target. Envelopes, signatures and the connection to the broker are the sender's: they need
keys, and the clock of the moment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from planner.cold_flows import planned_flows
from planner.errors import ConfigError
from planner.timegrid import iso
from thermal.limit import it_limit_kw

if TYPE_CHECKING:
    from planner.week import Block, Week
    from trainer_hooks.contract import BlockPlan, Calendar

SCHEMA = "gridpace.dsx-requests/1"
REQUEST = "LiquidTemperatureSpRequest"
LOAD_TARGET = "grid.loadtarget.set.v1"
GOOD = 1
LEAST_KW = 0.001  # a load target has to be above 0
DIGITS = 3
AUTHORITY = (
    "Setpoints are requests: the building system keeps authority, and may refuse, clamp or fall back. Publish each one "
    "as its time comes, only on a point whose metadata name this integration, and read the accepted setpoint back."
)
BOUNDARY = (
    "Load targets limit IT power to what the block's cooling carries with the site's own reserve in hand, and with the "
    "tank as the calendar uses it. Grid and contract limits are not in them."
)


def dsx_json(week: Week, calendar: Calendar, *, integration: str, tags: Mapping[str, str]) -> bytes:
    """Return the requests and limits of a calendar's slots as JSON, UTF-8.

    Args:
        week: The inputs that the calendar was made from.
        calendar: Its header.
        integration: Name under which the building system knows this integration.
        tags: Block -> tag path of its setpoint request in the building system; a block without one gets
            "<site>/<block>", which stands in for it.
    """
    plans = {plan.block: plan for plan in calendar.blocks}
    blocks = [(block, plans[block.name]) for block in week.blocks if block.name in plans]
    document = {
        "schema": SCHEMA,
        "calendar_id": calendar.calendar_id,
        "site": calendar.site,
        "issued_at": iso(calendar.issued_at),
        "valid_from": iso(calendar.valid_from),
        "valid_until": iso(calendar.valid_until),
        "authority": AUTHORITY,
        "boundary": BOUNDARY,
        "setpoint_requests": [
            _request(week, block, plan, integration, tags) for block, plan in blocks if block.plant.loop is not None
        ],
        "capacity_limits": [_limits(week, block, plan, integration) for block, plan in blocks],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def read_tags(given: Sequence[str], blocks: Sequence[str]) -> dict[str, str]:
    """Return the tag path of each block as typed: "block=path".

    Args:
        given: What was typed.
        blocks: Names of the calendar's blocks.

    Raises:
        ConfigError: A text has another shape, names no such block, or its path is none that a topic may carry.
    """
    tags: dict[str, str] = {}
    for text in given:
        block, sign, path = text.partition("=")
        if not sign or block not in blocks:
            raise ConfigError(
                f"--tag {text!r} names no block of the calendar", fix=f"write BLOCK=PATH; blocks: {', '.join(blocks)}"
            )
        if not path or set(path) & set("+#\0") or path.startswith("/") or path.endswith("/"):
            raise ConfigError(
                f"--tag {text!r}: {path!r} is no tag path",
                fix="write it as in the point's metadata, such as hall-a/cdu",
            )
        tags[block] = path
    return tags


def _request(week: Week, block: Block, plan: BlockPlan, integration: str, tags: Mapping[str, str]) -> dict[str, Any]:
    stands_in = f"{quote(week.site, safe='')}/{quote(block.name, safe='')}"
    return {
        "block": block.name,
        "objectType": "CDU",
        "pointType": REQUEST,
        "engUnit": "C",
        "processArea": "Secondary Supply",
        "topic": f"BMS/v1/{integration}/Value/CDU/{REQUEST}/{tags.get(block.name, stands_in)}",
        "tagPathKnown": block.name in tags,
        "highest_value": block.plant.supply_limit_c,
        "messages": [
            {"value": round(setpoint, DIGITS), "timestamp": _epoch_ms(start), "quality": GOOD}
            for start, setpoint in zip(week.grid.starts, plan.supply_setpoint_c, strict=True)
            if setpoint is not None
        ],
    }


def _limits(week: Week, block: Block, plan: BlockPlan, integration: str) -> dict[str, Any]:
    signals = week.here(block).signals
    dry_c, wet_c = signals.dry_bulb_c, signals.wet_bulb_c
    tank_kw = planned_flows(plan).tank_kw
    allowed_kw = it_limit_kw(block.plant, block.reserve, week.plant_powered(block), dry_c, wet_c, tank_kw)
    return {
        "block": block.name,
        "topic": f"grid/v1/isv/{integration}/loadtarget/set",
        "type": LOAD_TARGET,
        "subject": "loadtarget",
        "data": {
            "targets": [
                {
                    "interval": {"start_time": iso(start), "end_time": iso(start + week.grid.slot)},
                    "feed_tags": [block.name],
                    "load_constraint": {"value": max(round(float(kw), DIGITS), LEAST_KW), "unit": "kilowatt"},
                    "strategy": {"best_effort": False},
                }
                for start, kw in zip(week.grid.starts, allowed_kw, strict=True)
            ]
        },
    }


def _epoch_ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)
