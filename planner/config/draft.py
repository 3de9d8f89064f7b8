"""A site file as far as it could be read: each table on its own, so that one fault does not hide the others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from planner.config import model
from planner.config.faults import FaultList, did_you_mean
from planner.config.lines import KeyPath

M = TypeVar("M", bound=BaseModel)

_UNITS = (
    ("_kw_per_min", "kW/min"),
    ("_per_kw_month", "per kW and month"),
    ("_per_gpu_h", "per GPU-hour"),
    ("_per_gpu_s", "per GPU and second"),
    ("_w_per_gpu", "W per GPU"),
    ("_per_kwh", "per kWh"),
    ("_per_m3", "per m3"),
    ("_per_t", "per t"),
    ("_per_k", "1/K"),
    ("_minutes", "min"),
    ("_min", "min"),
    ("_kwh", "kWh"),
    ("_kw", "kW"),
    ("_w", "W"),
    ("_h", "h"),
    ("_s", "s"),
    ("_c", "degC"),
)


@dataclass(frozen=True)
class Placed(Generic[M]):
    """A table that was read, with its place.

    Args:
        path: Its key path.
        table: Its values.
        faults: The list that faults of this table go to: that of the site file or of the CSV.
    """

    path: KeyPath
    table: M
    faults: FaultList

    def fault(self, key: KeyPath, what: str, fix: str) -> None:
        """Note a fault of the key `key` of this table."""
        self.faults.add((*self.path, *key), what, fix)


@dataclass
class Draft:
    """All tables that could be read.

    Args:
        faults: Faults of the site file.
        raw: The file's values.
    """

    faults: FaultList
    raw: dict[str, Any]
    single: dict[str, Placed[Any]] = field(default_factory=dict)
    blocks: list[Placed[model.BlockTable]] = field(default_factory=list)
    pools: list[Placed[model.PoolTable]] = field(default_factory=list)
    runs: list[Placed[model.RunTable]] = field(default_factory=list)
    gpus: dict[str, Placed[model.GpuTable]] = field(default_factory=dict)


def read_tables(raw: dict[str, Any], faults: FaultList) -> Draft:
    """Return the tables of a parsed file; every fault of a single table goes to `faults`."""
    draft = Draft(faults, raw)
    known = model.SiteFile.model_fields
    for key in raw:
        if key not in known:
            faults.add((key,), "unknown table or key", did_you_mean(key, known))
    for key, info in known.items():
        kind = info.annotation
        if key not in raw:
            if info.is_required():
                faults.add((key,), f"is missing ({info.description})", f"add {_header(key)}")
            elif isinstance(info.default, model.Table):
                draft.single[key] = Placed((key,), info.default, faults)
        elif isinstance(kind, type) and issubclass(kind, model.Table):
            table = read_table(kind, raw[key], (key,), faults)
            if table is not None:
                draft.single[key] = table
    draft.blocks = _read_list(model.BlockTable, "block", draft)
    draft.pools = _read_list(model.PoolTable, "pool", draft)
    draft.runs = _read_list(model.RunTable, "run", draft)
    own = raw.get("gpu", {})
    if not isinstance(own, dict):
        faults.add(("gpu",), f"is {_kind(own)}; tables [gpu.NAME] are wanted", "write [gpu.NAME]")
        own = {}
    for name, entry in own.items():
        gpu = read_table(model.GpuTable, entry, ("gpu", name), faults)
        if gpu is not None:
            draft.gpus[name] = gpu
    return draft


def read_table(kind: type[M], value: Any, path: KeyPath, faults: FaultList) -> Placed[M] | None:
    """Return one table read by its model, or None after noting each of its faults."""
    try:
        return Placed(path, kind.model_validate(value), faults)
    except ValidationError as error:
        for entry in error.errors(include_url=False):
            _explain(kind, entry, path, faults)
    return None


def unit_of(key: str) -> str:
    """Return the unit that a key's name ends in, such as kW, or ""."""
    return next((unit for suffix, unit in _UNITS if key.endswith(suffix)), "")


def _read_list(kind: type[M], key: str, draft: Draft) -> list[Placed[M]]:
    entries = draft.raw.get(key, [])
    if not isinstance(entries, list):
        draft.faults.add((key,), f"is {_kind(entries)}; a list of tables is wanted", f"write [[{key}]]")
        return []
    placed = (read_table(kind, entry, (key, i), draft.faults) for i, entry in enumerate(entries))
    return [table for table in placed if table is not None]


def _header(key: str) -> str:
    return f"a [[{key}]] table" if key in {"block", "pool", "run"} else f"a [{key}] table"


def _explain(kind: type[BaseModel], entry: Any, path: KeyPath, faults: FaultList) -> None:
    loc: KeyPath = tuple(p for p in entry["loc"] if not (isinstance(p, str) and p.startswith("<")))
    table = _model_at(kind, entry["loc"][:-1])
    key = str(next((p for p in reversed(loc) if isinstance(p, str)), path[-1] if path else ""))
    what, fix = _sentence(entry, key, table)
    faults.add((*path, *loc), what, fix)


def _model_at(kind: type[BaseModel], loc: KeyPath) -> type[BaseModel]:
    """Return the model of the table in which a fault at `loc` lies."""
    here = kind
    for part in loc:
        if isinstance(part, int):
            continue
        info = here.model_fields.get(part)
        if info is None:
            member = next((m for m in _models(here) if f"<{m.__name__}>" == part), None)
            here = member or here
            continue
        models = _models(info.annotation)
        if models:
            here = models[0]
    return here


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for argument in getattr(annotation, "__args__", ()) for m in _models(argument)]


def _sentence(entry: Any, key: str, table: type[BaseModel]) -> tuple[str, str]:
    """Return what is wrong and what mends it, for one fault as the validator names it."""
    value, limits, unit = entry["input"], entry.get("ctx", {}), unit_of(key)
    info = table.model_fields.get(key)
    meaning = f" ({info.description})" if info is not None and info.description else ""
    amount = f"{value!r} {unit}".rstrip()
    match entry["type"]:
        case "missing":
            return f"is missing{meaning}", f"add {key} = ..."
        case "extra_forbidden":
            if key in {"runs_csv"}:
                return "stands inside a table", f"move {key} to the top of the file, above the first table"
            return "unknown key", did_you_mean(key, table.model_fields)
        case "greater_than_equal":
            return f"{amount} is below {limits['ge']:g}, the least allowed{meaning}", f"raise {key} to {limits['ge']:g}"
        case "greater_than":
            return f"{amount} is not above {limits['gt']:g}{meaning}", f"set {key} above {limits['gt']:g}"
        case "less_than_equal":
            return f"{amount} is above {limits['le']:g}, the most allowed{meaning}", f"lower {key} to {limits['le']:g}"
        case "less_than":
            return f"{amount} is not below {limits['lt']:g}{meaning}", f"set {key} below {limits['lt']:g}"
        case "finite_number":
            return f"{value!r} is no finite number{meaning}", f"set {key} to a number"
        case "literal_error":
            wanted = limits["expected"].replace("'", '"')
            return f"{value!r} is not allowed{meaning}", _literal_fix(value, wanted)
        case "string_pattern_mismatch":
            return f"{value!r} does not have the form of{meaning or ' this key'}", f"such as {key} = {_EXAMPLES[key]}"
        case "string_too_short" | "too_short":
            return f"is empty{meaning}", f"give {key} at least one entry" if isinstance(value, list) else f"name {key}"
        case "string_too_long":
            return f"has {len(value)} characters; at most {limits['max_length']}", f"shorten {key}"
        case "union_tag_invalid" | "union_tag_not_found":
            return _unknown_provider(value, limits)
        case "datetime_type":
            return _no_instant(value, meaning)
        case other:
            return (
                f"is {_kind(value)}; {_WANTED.get(other, 'another kind of value')} is wanted{meaning}",
                _type_fix(other, value),
            )


_EXAMPLES = {"currency": '"EUR"'}

_WANTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def _kind(value: Any) -> str:
    match value:
        case bool():
            return f"{str(value).lower()}, a truth value"
        case int() | float():
            return f"{value!r}, a number"
        case str():
            return f"{value[:60]!r}, a text"
        case datetime():
            return f"{value.isoformat()}, a date-time"
        case date():
            return f"{value.isoformat()}, a date"
        case list():
            return "a list"
        case dict():
            return "a table"
    return f"a {type(value).__name__}"


def _literal_fix(value: Any, wanted: str) -> str:
    names = re.findall(r'"([^"]+)"', wanted)
    return did_you_mean(value, names) if names and isinstance(value, str) else f"write {wanted}"


def _unknown_provider(value: Any, limits: dict[str, Any]) -> tuple[str, str]:
    names = re.findall(r"<([^>]+)>", limits.get("expected_tags", ""))
    if not isinstance(value, dict) or "provider" not in value:
        return "names no provider", "add provider = ..., one of: " + ", ".join(names)
    return f"provider {value['provider']!r} is not known", did_you_mean(str(value["provider"]), names)


def _no_instant(value: Any, meaning: str) -> tuple[str, str]:
    if isinstance(value, date):
        return (
            f"{value.isoformat()} is a date without a time{meaning}",
            f"write the instant, such as {value.isoformat()}T18:00:00",
        )
    unquoted = f"write it without quotes, such as {value}" if isinstance(value, str) and value[:2].isdigit() else ""
    return f"is {_kind(value)}; a date-time is wanted{meaning}", unquoted or "write it as 2024-05-17T18:00:00"


def _type_fix(kind: str, value: Any) -> str:
    if kind in {"float_type", "int_type"} and isinstance(value, str):
        return "write the number without quotes and without unit"
    if kind == "int_from_float":
        return f"write {round(value)}"
    if kind == "string_type":
        return "put it in quotes"
    return f"write {_WANTED.get(kind, 'a value of that kind')}"
