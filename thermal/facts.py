"""What is known of a plant's setting beside its value: unit, allowed span, source and grade."""

from __future__ import annotations

from dataclasses import field, fields
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


def facts(part: Any) -> dict[str, Fact]:
    """Return the facts of a part's settings by name, in the order they stand in; other fields are left out.

    Args:
        part: A dataclass of settings, or an instance of one.
    """
    return {f.name: f.metadata["fact"] for f in fields(part) if "fact" in f.metadata}


def check_facts(part: Any, prefix: str) -> None:
    """Refuse a part whose settings have the wrong kind or are out of their spans (ValueError).

    Args:
        part: An instance of a dataclass of settings.
        prefix: What stands before its settings' names in a site file.
    """
    for own_name, fact in facts(part).items():
        check_value(prefix + own_name, getattr(part, own_name), _default(part, own_name), fact)


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


def _default(part: Any, name: str) -> Any:
    return next(f.default for f in fields(part) if f.name == name)
