"""A site file as far as it could be read: each table on its own, so that one fault does not hide the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from planner.config import geography_tables, model, power_tables, supply_tables
from planner.config.faults import FaultList, did_you_mean
from planner.config.lines import KeyPath
from planner.config.sentences import Found, kind_of, sentence
from planner.config.sweeps import Sweeps
from power.hourly import HourlyValues

M = TypeVar("M", bound=BaseModel)

_STAND_INS: dict[type[BaseModel], dict[str, Any]] = {
    model.SiteTable: {
        "name": "?",
        "timezone": "UTC",
        "latitude": 0.0,
        "longitude": 0.0,
        "zone": "?",
        "currency": "XTS",
    },
    geography_tables.OtherSiteTable: {
        "name": "?",
        "timezone": "UTC",
        "latitude": 0.0,
        "longitude": 0.0,
        "zone": "?",
    },
    geography_tables.LinkTable: {"between": ["?", "??"], "rate_gb_per_s": 1.0},
    model.BlockTable: {"name": "?", "capacity_kw": 1.0, "cooling": {"kind": "room_air", "rated_it_kw": 1.0}},
    model.PoolTable: {"name": "?", "block": "?", "gpu": "?"},
    model.SpanTable: {"name": "?", "pools": ["?", "?"], "throughput_share": 1.0},
    supply_tables.PpaTable: {"name": "?", "kind": "as_produced", "strike_per_kwh": 0.0},
    power_tables.ContractTable: {"name": "?", "kw": 1.0, "price_per_kwh": 0.0},
    model.RunTable: {
        "name": "?",
        "gpus": 1,
        "tokens_per_gpu_s": 1.0,
        "stages": [{"name": "?", "tokens": 1e20, "deadline": datetime(2199, 1, 1, tzinfo=UTC)}],
    },
}
"""Values that take the place of wrong ones, so that the other keys of the table can still be checked."""


@dataclass(frozen=True)
class Placed(Generic[M]):
    """A table that was read, with its place.

    Args:
        path: Its key path.
        table: Its values.
        faults: The list that faults of this table go to: that of the site file or of the CSV.
        wrong: Keys whose faults are told already; their values here are defaults or stand-ins.
    """

    path: KeyPath
    table: M
    faults: FaultList
    wrong: frozenset[str] = frozenset()

    def sound(self, *keys: str) -> bool:
        """Return whether all these keys hold what the file says."""
        return not self.wrong.intersection(keys)

    def fault(self, key: KeyPath, what: str, fix: str) -> None:
        """Note a fault of a key of this table, unless a fault of that key is told already."""
        if not key or key[0] not in self.wrong:
            self.faults.add((*self.path, *key), what, fix)


@dataclass
class Draft:
    """All tables that could be read.

    Args:
        faults: Faults of the site file.
        raw: The file's values.
        single: Tables that stand once, by name.
        blocks: Tables [[block]].
        pools: Tables [[pool]].
        spans: Tables [[span]].
        runs: Tables [[run]] and rows of the CSV.
        contracts: Tables [[contract]].
        ppas: Tables [[ppa]].
        other_sites: Tables [[other_site]].
        links: Tables [[link]].
        gpus: Tables [gpu.NAME] by name.
        outputs: Output of farms by the agreement that names a file of it; empty until they are read.
        sweeps: Sweeps of power limits that tables name; empty until they are read.
    """

    faults: FaultList
    raw: dict[str, Any]
    single: dict[str, Placed[Any]] = field(default_factory=dict)
    blocks: list[Placed[model.BlockTable]] = field(default_factory=list)
    pools: list[Placed[model.PoolTable]] = field(default_factory=list)
    spans: list[Placed[model.SpanTable]] = field(default_factory=list)
    runs: list[Placed[model.RunTable]] = field(default_factory=list)
    contracts: list[Placed[power_tables.ContractTable]] = field(default_factory=list)
    ppas: list[Placed[supply_tables.PpaTable]] = field(default_factory=list)
    other_sites: list[Placed[geography_tables.OtherSiteTable]] = field(default_factory=list)
    links: list[Placed[geography_tables.LinkTable]] = field(default_factory=list)
    gpus: dict[str, Placed[model.GpuTable]] = field(default_factory=dict)
    outputs: dict[str, HourlyValues] = field(default_factory=dict)
    sweeps: Sweeps = field(default_factory=lambda: Sweeps({}, ()))

    def names(self, key: str) -> set[str]:
        """Return the names of all [[block]], [[pool]] or [[run]] tables, also of those with faults."""
        entries = self.raw.get(key)
        if not isinstance(entries, list):
            return set()
        return {e["name"] for e in entries if isinstance(e, dict) and isinstance(e.get("name"), str)}

    def pools_named(self, names: Sequence[str] | None) -> list[Placed[model.PoolTable]]:
        """Return the [[pool]] tables that names stand for, those of spans among them; all where None."""
        if names is None:
            return list(self.pools)
        parts = {name for span in self.spans if span.table.name in names for name in span.table.pools}
        return [pool for pool in self.pools if pool.table.name in parts.union(names)]

    def gpu_names(self) -> set[str]:
        """Return the names of all [gpu.NAME] tables, also of those with faults."""
        own = self.raw.get("gpu")
        return set(own) if isinstance(own, dict) else set()


def read_tables(raw: dict[str, Any], faults: FaultList) -> Draft:
    """Return the tables of a parsed file; every fault within a table goes to `faults`."""
    draft = Draft(faults, raw)
    known = model.SiteFile.model_fields
    for key in raw:
        if key not in known:
            faults.add((key,), "unknown table or key", did_you_mean(key, known))
    for key, info in known.items():
        if key in raw or not info.is_required():
            continue
        header = f"[[{key}]]" if key in {"block", "pool"} else f"[{key}]"
        faults.add((key,), f"is missing ({info.description})", f"add a table {header}")
    _read_single(draft)
    draft.blocks = _read_list(model.BlockTable, "block", draft)
    draft.pools = _read_list(model.PoolTable, "pool", draft)
    draft.spans = _read_list(model.SpanTable, "span", draft)
    draft.runs = _read_list(model.RunTable, "run", draft)
    draft.contracts = _read_list(power_tables.ContractTable, "contract", draft)
    draft.ppas = _read_list(supply_tables.PpaTable, "ppa", draft)
    draft.other_sites = _read_list(geography_tables.OtherSiteTable, "other_site", draft)
    draft.links = _read_list(geography_tables.LinkTable, "link", draft)
    own = raw.get("gpu", {})
    if not isinstance(own, dict):
        faults.add(("gpu",), f"is {kind_of(own)}; tables are wanted", "write [gpu.NAME]")
        return draft
    for name, entry in own.items():
        gpu = read_table(model.GpuTable, entry, ("gpu", name), faults)
        if gpu is not None:
            draft.gpus[name] = gpu
    return draft


def read_table(kind: type[M], value: Any, path: KeyPath, faults: FaultList) -> Placed[M] | None:
    """Return one table read by its model, noting each of its faults.

    A table with faults is returned with defaults and stand-ins for what is wrong, or as None where there are none.
    """
    try:
        return Placed(path, kind.model_validate(value), faults)
    except ValidationError as error:
        entries = error.errors(include_url=False)
    for entry in entries:
        _explain(kind, entry, path, faults)
    if not isinstance(value, dict):
        return None
    wrong = frozenset(str(entry["loc"][0]) for entry in entries)
    stand_ins = {key: put for key, put in _STAND_INS.get(kind, {}).items() if key in wrong}
    kept = {key: one for key, one in value.items() if key not in wrong}
    try:
        return Placed(path, kind.model_validate(kept | stand_ins), faults, wrong)
    except ValidationError:
        return None


def _read_single(draft: Draft) -> None:
    for key, info in model.SiteFile.model_fields.items():
        kind = info.annotation
        if not (isinstance(kind, type) and issubclass(kind, model.Table)):
            continue
        if key in draft.raw:
            table = read_table(kind, draft.raw[key], (key,), draft.faults)
            if table is not None:
                draft.single[key] = table
        elif isinstance(info.default, model.Table):
            draft.single[key] = Placed((key,), info.default, draft.faults)


def _read_list(kind: type[M], key: str, draft: Draft) -> list[Placed[M]]:
    entries = draft.raw.get(key, [])
    if not isinstance(entries, list):
        draft.faults.add((key,), f"is {kind_of(entries)}; a list of tables is wanted", f"write [[{key}]]")
        return []
    placed = (read_table(kind, entry, (key, i), draft.faults) for i, entry in enumerate(entries))
    return [table for table in placed if table is not None]


def _explain(kind: type[BaseModel], entry: Any, path: KeyPath, faults: FaultList) -> None:
    loc: KeyPath = tuple(p for p in entry["loc"] if not (isinstance(p, str) and p.startswith("<")))
    key = str(next((p for p in reversed((*path, *loc)) if isinstance(p, str)), ""))
    found = Found(key, entry["input"], entry.get("ctx", {}), _model_at(kind, loc))
    what, fix = sentence(entry["type"], found)
    faults.add((*path, *loc), what, fix)


def _model_at(kind: type[BaseModel], loc: KeyPath) -> type[BaseModel]:
    """Return the model of the table in which the key at `loc` stands."""
    here = kind
    for part in loc[:-1]:
        info = here.model_fields.get(part) if isinstance(part, str) else None
        inner = _models(info.annotation) if info is not None else []
        here = inner[0] if inner else here
    return here


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for argument in getattr(annotation, "__args__", ()) for m in _models(argument)]
