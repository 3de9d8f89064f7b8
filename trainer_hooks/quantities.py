"""Quantities typed as options of a command, within the limits that mean something."""

from __future__ import annotations

import argparse

LONGEST_S = 7 * 86400.0
"""Longest time that an option may name, s: a week."""


def seconds(text: str) -> float:
    """Read a time, s, from 0 to a week.

    Raises:
        ArgumentTypeError: It is none.
    """
    return _within(text, 0.0, LONGEST_S, "number of seconds")


def share(text: str) -> float:
    """Read a share above 0 and up to 1.

    Raises:
        ArgumentTypeError: It is none.
    """
    return _within(text, 1e-6, 1.0, "share")


def count(text: str) -> int:
    """Read a whole number from 0 to a thousand million.

    Raises:
        ArgumentTypeError: It is none.
    """
    value = _within(text, 0.0, 1e9, "whole number")
    if value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(value)


def _within(text: str, low: float, high: float, kind: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is no {kind} from {low:g} to {high:,.0f}")
    return value
