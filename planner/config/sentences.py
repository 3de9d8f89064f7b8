"""One sentence and one mend for each fault that the validator finds in a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pydantic import BaseModel

from planner.config.faults import did_you_mean

_UNITS = (
    ("_kw_per_min", "kW/min"),
    ("_per_kw_month", "per kW and month"),
    ("_per_gpu_h", "per GPU-hour"),
    ("_per_gpu_s", "per GPU and second"),
    ("_per_gpu_day", "per GPU and day"),
    ("_gb_per_s", "GB/s"),
    ("_bytes", "bytes"),
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
)

_WANTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "datetime_type": "a date-time",
}

_NUMBERS = ("float_type", "int_type")
TOP_KEYS = ("runs_csv",)
"""Keys that stand above all tables; put at a file's end they would fall into its last table."""


@dataclass(frozen=True)
class Found:
    """What the validator found.

    Args:
        key: Name of the key.
        value: Its value; of a missing key, the table's.
        limits: The validator's limits.
        table: Model of the table in which the key stands.
    """

    key: str
    value: Any
    limits: dict[str, Any]
    table: type[BaseModel]

    @property
    def meaning(self) -> str:
        """What the key is, in brackets, or ""."""
        info = self.table.model_fields.get(self.key)
        return f" ({info.description})" if info is not None and info.description else ""

    @property
    def amount(self) -> str:
        """The value with its unit."""
        return f"{self.value!r} {unit_of(self.key)}".rstrip()

    def limit(self, name: str) -> str:
        """Return a limit with the key's unit."""
        return f"{self.limits[name]:g} {unit_of(self.key)}".rstrip()


def sentence(kind: str, found: Found) -> tuple[str, str]:
    """Return what is wrong and what mends it.

    Args:
        kind: The validator's name of the fault.
        found: The fault.
    """
    return _SENTENCES.get(kind, _wrong_kind)(kind, found)


def unit_of(key: str) -> str:
    """Return the unit that a key's name ends in, such as kW, or ""."""
    return next((unit for suffix, unit in _UNITS if key.endswith(suffix)), "")


def kind_of(value: Any) -> str:
    """Return a value with its kind in words, such as "'20', a text"."""
    match value:
        case list():
            return "a list"
        case dict():
            return "a table"
        case datetime() | date():
            return value.isoformat()
        case str():
            return f"{value[:60]!r}, a text"
    return f"{str(value).lower()}, a truth value" if isinstance(value, bool) else f"{value!r}, a number"


def _missing(_: str, found: Found) -> tuple[str, str]:
    return f"is missing{found.meaning}", f"add {found.key} = ..."


def _unknown(_: str, found: Found) -> tuple[str, str]:
    if found.key in TOP_KEYS:
        return "stands inside a table", f"move {found.key} to the top of the file, above the first table"
    return "unknown key", did_you_mean(found.key, found.table.model_fields)


def _too_low(kind: str, found: Found) -> tuple[str, str]:
    if kind == "greater_than":
        return (
            f"{found.amount} is not above {found.limit('gt')}{found.meaning}",
            f"set {found.key} above {found.limit('gt')}",
        )
    return (
        f"{found.amount} is below {found.limit('ge')}{found.meaning}",
        f"set {found.key} to {found.limit('ge')} or more",
    )


def _too_high(kind: str, found: Found) -> tuple[str, str]:
    if kind == "less_than":
        return (
            f"{found.amount} is not below {found.limit('lt')}{found.meaning}",
            f"set {found.key} below {found.limit('lt')}",
        )
    return (
        f"{found.amount} is above {found.limit('le')}{found.meaning}",
        f"set {found.key} to {found.limit('le')} or less",
    )


def _not_finite(_: str, found: Found) -> tuple[str, str]:
    return (
        f"{found.value!r} is no finite number{found.meaning}",
        f"give {found.key} a number, or leave it out if it may be",
    )


def _not_allowed(_: str, found: Found) -> tuple[str, str]:
    wanted = str(found.limits["expected"]).replace("'", '"')
    names = re.findall(r'"([^"]+)"', wanted)
    fix = did_you_mean(found.value, names) if names and isinstance(found.value, str) else f"write {wanted}"
    return f"{found.value!r} is not allowed{found.meaning}", fix


def _bad_form(_: str, found: Found) -> tuple[str, str]:
    info = found.table.model_fields.get(found.key)
    examples = (info.examples if info is not None else None) or []
    if not examples:
        return f"{found.value!r} holds a control character{found.meaning}", "use plain printable characters"
    return f"{found.value!r} has not the form wanted{found.meaning}", f'write it like {found.key} = "{examples[0]}"'


def _too_short(_: str, found: Found) -> tuple[str, str]:
    if not isinstance(found.value, list):
        return f"is empty{found.meaning}", f"give {found.key} a text"
    least, n = found.limits["min_length"], len(found.value)
    if least == 1:
        return f"is empty{found.meaning}", f"give {found.key} at least one entry"
    few = f"has {n} {'entry' if n == 1 else 'entries'}, fewer than {least}"
    return f"{few}{found.meaning}", f"give {found.key} at least {least} entries"


def _too_long(_: str, found: Found) -> tuple[str, str]:
    most = found.limits["max_length"]
    parts = "entries" if isinstance(found.value, list) else "characters"
    return f"has {len(found.value)} {parts}, more than {most}{found.meaning}", f"shorten it to {most}"


def _no_instant(kind: str, found: Found) -> tuple[str, str]:
    value = found.value
    if isinstance(value, date):
        return f"{value.isoformat()} is a date without a time{found.meaning}", f"such as {value.isoformat()}T18:00:00"
    if isinstance(value, str) and value[:4].isdigit():
        return f"is {kind_of(value)}; a date-time is wanted{found.meaning}", f"write it without quotes: {value}"
    return _wrong_kind(kind, found)


def _wrong_kind(kind: str, found: Found) -> tuple[str, str]:
    wanted = _WANTED.get(kind, "another value")
    what = f"is {kind_of(found.value)}; {wanted} is wanted{found.meaning}"
    if kind in _NUMBERS and isinstance(found.value, str):
        return what, "write the number without quotes and without a unit"
    if kind == "string_type":
        return what, "put it in quotes"
    return what, f"write {'2024-05-17T18:00:00' if kind == 'datetime_type' else wanted}"


_SENTENCES: dict[str, Callable[[str, Found], tuple[str, str]]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "greater_than": _too_low,
    "greater_than_equal": _too_low,
    "less_than": _too_high,
    "less_than_equal": _too_high,
    "finite_number": _not_finite,
    "literal_error": _not_allowed,
    "string_pattern_mismatch": _bad_form,
    "string_too_short": _too_short,
    "too_short": _too_short,
    "string_too_long": _too_long,
    "too_long": _too_long,
    "datetime_type": _no_instant,
}
