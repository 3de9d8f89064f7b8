"""Runs as rows of a CSV file: the columns are the keys of a [[run]] table, an empty cell is a key left out.

`stages` is written `name=tokens@deadline`, several joined by ";", such as
`pretrain=1.2e12@2024-05-16T18:00; align=3e11@2024-05-19T12:00`.
`flexibility` is a tier such as 2, or `tier=1; max_loss_share=0.03`. `data` is written `site=north; size_tb=40`.
`after` is written `run`, `run=stage` or `run=stage@lag_h`, several joined by ";", such as `llama-proto=search@2`.
`sizes` is written `gpus=throughput_share`, such as `32=0.55; 96=1.4`, `migration` as `size_tb=2; rate_gb_per_s=5`.
`pools` and `power_limits_w` are joined by ";". `tokens_per_gpu_s` is a number or `H100-SXM=945; H200-SXM=1040`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import datetime
from typing import Any

from planner.config import model
from planner.config.draft import Placed, read_table
from planner.config.faults import FaultList, did_you_mean

COLUMNS = tuple(key for key in model.RunTable.model_fields if key != "recipe")
"""Keys of [[run]] but recipes, which only tables take."""


def read_runs(text: str, faults: FaultList) -> list[Placed[model.RunTable]]:
    """Return the runs of a CSV text; faults carry the row's line in the file."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    runs: list[Placed[model.RunTable]] = []
    try:
        header = [name.strip() for name in next(rows, [])]
        if not _sound_header(header, faults):
            return []
        for cells in rows:
            if not any(cell.strip() for cell in cells):
                continue
            path = (f"row {rows.line_num}",)
            faults.lines[path] = rows.line_num
            if len(cells) != len(header):
                faults.add(
                    path, f"has {len(cells)} cells; the header has {len(header)}", "quote cells that hold commas"
                )
                continue
            values = _values(dict(zip(header, cells, strict=True)), path[0], faults)
            run = read_table(model.RunTable, values, path, faults) if values is not None else None
            if run is not None:
                runs.append(run)
    except csv.Error as error:
        faults.lines[("row",)] = rows.line_num
        faults.add(("row",), f"is not sound CSV: {error}", 'close each quote; write " inside quotes twice')
    return runs


def _sound_header(header: list[str], faults: FaultList) -> bool:
    before = len(faults.found)
    faults.lines["header",] = 1
    for name in header:
        if name not in COLUMNS:
            faults.add(("header", name), "unknown column", did_you_mean(name, COLUMNS))
        elif header.count(name) > 1:
            faults.add(("header", name), f"stands {header.count(name)} times", "keep one column of that name")
    for name, info in model.RunTable.model_fields.items():
        if info.is_required() and name not in header:
            faults.add(("header", name), f"column is missing ({info.description})", f"add a column {name}")
    return len(faults.found) == before


def _values(cells: dict[str, str], row: str, faults: FaultList) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    sound = True
    for column, cell in cells.items():
        text = cell.strip()
        if not text:
            continue
        try:
            values[column] = _READERS.get(column, _number)(text)
        except ValueError as error:
            faults.add((row, column), f"{text[:60]!r} {error}", _FORMS.get(column, "write a plain number such as 64"))
            sound = False
    return values if sound else None


def _number(text: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ValueError("is no number") from None


def _instant(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text) if "T" in text or " " in text else _no_instant()
    except ValueError:
        raise ValueError("is no date-time") from None


def _no_instant() -> datetime:
    raise ValueError


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _numbers(text: str) -> list[float | int]:
    return [_number(part) for part in _texts(text)]


def _rates(text: str) -> float | dict[str, float]:
    if "=" not in text:
        return _number(text)
    pairs = [part.rpartition("=") for part in _texts(text)]
    return {name.strip(): _number(value.strip()) for name, _, value in pairs}


def _flexibility(text: str) -> dict[str, float | int]:
    if "=" not in text:
        return {"tier": _number(text)}
    pairs = [part.partition("=") for part in _texts(text)]
    return {name.strip(): _number(value.strip()) for name, _, value in pairs}


def _pairs(text: str) -> dict[str, float | int]:
    pairs = [part.partition("=") for part in _texts(text)]
    return {name.strip(): _number(value.strip()) for name, _, value in pairs}


def _after(text: str) -> list[dict[str, Any]]:
    waits: list[dict[str, Any]] = []
    for part in _texts(text):
        named, _, lag = part.partition("@")
        run, _, stage = named.partition("=")
        one: dict[str, Any] = {"run": run.strip()}
        one |= {"stage": stage.strip()} if stage.strip() else {}
        one |= {"lag_h": _number(lag.strip())} if lag.strip() else {}
        waits.append(one)
    return waits


def _stages(text: str) -> list[dict[str, Any]]:
    stages = []
    for part in _texts(text):
        name, equals, rest = part.rpartition("=")
        tokens, at, deadline = rest.partition("@")
        if not equals or not at:
            raise ValueError("is no list of stages")
        stages.append({"name": name.strip(), "tokens": _number(tokens.strip()), "deadline": _instant(deadline.strip())})
    return stages


def _sizes(text: str) -> list[dict[str, Any]]:
    pairs = [part.partition("=") for part in _texts(text)]
    return [{"gpus": _number(gpus.strip()), "throughput_share": _number(share.strip())} for gpus, _, share in pairs]


def _migration(text: str) -> dict[str, Any]:
    pairs = [part.partition("=") for part in _texts(text)]
    found = {name.strip(): value.strip() for name, _, value in pairs}
    return {name: value if name == "lies_in" else _number(value) for name, value in found.items()}


def _data(text: str) -> dict[str, Any]:
    pairs = [part.partition("=") for part in _texts(text)]
    found = {name.strip(): value.strip() for name, _, value in pairs}
    return {name: value if name == "site" else _number(value) for name, value in found.items()}


_READERS: dict[str, Callable[[str], Any]] = {
    "name": str,
    "running_in": str,
    "data": _data,
    "sizes": _sizes,
    "migration": _migration,
    "sweep": str,
    "sweep_workload": str,
    "goodput": _pairs,
    "stages": _stages,
    "after": _after,
    "pools": _texts,
    "power_limits_w": _numbers,
    "tokens_per_gpu_s": _rates,
    "earliest_start": _instant,
    "flexibility": _flexibility,
}

_FORMS = {
    "data": "write key=value joined by ;, such as site=north; size_tb=40",
    "sizes": "write gpus=throughput_share joined by ;, such as 32=0.55; 96=1.4",
    "migration": "write key=value joined by ;, such as size_tb=2; rate_gb_per_s=5",
    "stages": "write name=tokens@deadline; ..., such as pretrain=1.2e12@2024-05-16T18:00",
    "after": "write run=stage@lag_h joined by ;, such as llama-proto=search@2",
    "power_limits_w": "write watts joined by ;, such as 500; 700",
    "tokens_per_gpu_s": "write a number, or one per GPU type: H100-SXM=945; H200-SXM=1040",
    "earliest_start": "write it as 2024-05-13T06:00",
    "goodput": "write key=value joined by ;, such as failures_per_gpu_day=5e-4; parameters=7e10",
    "flexibility": "write a tier such as 2, or tier=1; max_loss_share=0.03",
}
