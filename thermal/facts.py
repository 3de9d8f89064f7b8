"""What is known of a plant's setting beside its value: unit, allowed span, source and grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

GRADES = ("measured", "datasheet", "assumed")


class Fact(NamedTuple):
    """One setting's facts.

    Args:
        unit: Its unit; "" for a plain number, a choice or a switch.
        lowest: Lowest value allowed.
        highest: Highest value allowed.
        source: Where the default comes from.
        grade: Of the default: "measured", "datasheet" (read in the source) or "assumed".
        choices: The words allowed, where the setting is a word.
    """

    unit: str
    lowest: float
    highest: float
    source: str
    grade: str
    choices: tuple[str, ...] = ()


def number(default: float, unit: str, lowest: float, highest: float, source: str, grade: str = "assumed") -> Any:
    """Return a dataclass field for a number."""
    return field(default=default, metadata={"fact": Fact(unit, lowest, highest, source, grade)})


def choice(default: str, choices: tuple[str, ...], source: str, grade: str = "assumed") -> Any:
    """Return a dataclass field for one of several words."""
    return field(default=default, metadata={"fact": Fact("", 0.0, 0.0, source, grade, choices)})


def switch(default: bool, source: str, grade: str = "assumed") -> Any:
    """Return a dataclass field that is true or false."""
    return field(default=default, metadata={"fact": Fact("", 0.0, 1.0, source, grade)})


def facts(part: Any) -> Mapping[str, Fact]:
    """Return the facts of a part's settings by name, in the order they stand in; other fields are left out.

    Args:
        part: A dataclass of settings, or an instance of one.
    """
    return MappingProxyType({name: fact for name, (fact, _) in _settings(_class(part)).items()})


def check_facts(part: Any, prefix: str) -> None:
    """Refuse a part whose settings have the wrong kind or are out of their spans (ValueError).

    Args:
        part: An instance of a dataclass of settings.
        prefix: What stands before its settings' names in a site file.
    """
    for own_name, (fact, default) in _settings(_class(part)).items():
        check_value(prefix + own_name, getattr(part, own_name), default, fact)


def check_value(name: str, value: Any, default: Any, fact: Fact) -> None:
    """Refuse a value that has the wrong kind or is out of its span (ValueError).

    Args:
        name: The setting's name in a site file.
        value: The value.
        default: The setting's default, whose kind is the one wanted.
        fact: The setting's facts.
    """
    if fact.choices:
        if value not in fact.choices:
            raise ValueError(f"{name} is {value!r}; it is one of {', '.join(fact.choices)}")
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}; write true or false")
    else:
        _check_number(name, value, fact)
        if isinstance(default, int) and not isinstance(value, int):
            raise ValueError(f"{name} is {value!r}; a whole number is wanted")


def _check_number(name: str, value: Any, fact: Fact) -> None:
    unit = f" {fact.unit}" if fact.unit else ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} is {value!r}; a number{f' of{unit}' if unit else ''} is wanted")  # noqa: TRY004 - a value of a file
    if not fact.lowest <= value <= fact.highest:
        raise ValueError(
            f"{name} is {value:g}{unit}, outside {fact.lowest:g} to {fact.highest:g}{unit}; give a value within them"
        )


def _class(part: Any) -> type:
    return part if isinstance(part, type) else type(part)


@cache  # a fit makes thousands of plants of the same few classes
def _settings(part: type) -> Mapping[str, tuple[Fact, Any]]:
    """Return facts and default of each of a class's settings."""
    return MappingProxyType({f.name: (f.metadata["fact"], f.default) for f in fields(part) if "fact" in f.metadata})
