"""Numbers, times and texts as people read them; the only place where kW become MW."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from thermal.derating import AIR, LIQUID

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_THIN = "\u202f"
_THE_SAME = "the same"


def number(value: float, digits: int = 3) -> str:
    """Return `value` with `digits` significant digits, thousands set apart, never with an exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace(",", _THIN)
    places = digits
    while places > 0 and abs(round(value, places)) >= 10 ** (digits - places):
        places -= 1
    return f"{value:,.{places}f}".replace(",", _THIN)


def count(value: int) -> str:
    """Return a whole number with its thousands set apart."""
    return f"{value:,}".replace(",", _THIN)


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in units[:-1]:
        if abs(value) >= factor:
            return f"{number(value / factor)} {unit}"
    factor, unit = units[-1]
    return f"{number(value / factor)} {unit}"


def energy(kwh: float) -> str:
    """Return an energy given in kWh as GWh, MWh or kWh."""
    return _scaled(kwh, ((1e6, "GWh"), (1e3, "MWh"), (1, "kWh")))


def power(kw: float) -> str:
    """Return a power given in kW as MW or kW."""
    return _scaled(kw, ((1e3, "MW"), (1, "kW")))


def carbon(kg: float) -> str:
    """Return emissions given in kg CO2e as t or kg CO2e."""
    return _scaled(kg, ((1e3, "t CO2e"), (1, "kg CO2e")))


def water(litres: float) -> str:
    """Return water given in litres as m3 or L."""
    return _scaled(litres, ((1e3, "m³"), (1, "L")))


def tokens(count: float) -> str:
    """Return a count of tokens with the field's letters: K, M, B (1e9), T (1e12)."""
    for factor, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if abs(count) >= factor:
            return f"{number(count / factor)}{_THIN}{letter}"
    return number(count)


def money(amount: float, currency: str) -> str:
    """Return an amount with its ISO 4217 currency, whole units from 100 on and for nothing."""
    text = f"{amount:,.0f}" if abs(amount) >= 100 or amount == 0 else f"{amount:,.2f}"
    return f"{text.replace(',', _THIN)} {currency}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent, such as 0.123 as "12.3 %"."""
    return f"{100 * share:.{digits}f} %"


def change(saved_pct: float) -> str:
    """Return a saving in per cent as words: "12.3 % less", "4.0 % more", or "the same"."""
    if abs(saved_pct) < 0.05:
        return _THE_SAME
    return f"{abs(saved_pct):.1f} % {'less' if saved_pct > 0 else 'more'}"


def difference(planned: float, actual: float) -> str:
    """Return by how much a figure came out otherwise than planned, such as "1.9 % more"; "" without a plan above 0."""
    return change(100.0 * (1.0 - actual / planned)) if planned > 0.0 else ""


def hours(value: float) -> str:
    """Return a count of hours: whole where it is whole, else with a tenth."""
    return f"{value:.0f} h" if abs(value - round(value)) < 0.05 else f"{value:.1f} h"


def compared(saved_pct: float, other: str) -> str:
    """Return a saving against another way of working as words: "12.3 % less than asap", "the same as asap"."""
    words = change(saved_pct)
    return f"{words} {'as' if words == _THE_SAME else 'than'} {other}"


def duration(hours: float) -> str:
    """Return a length of time as days and hours, hours, or minutes, with its sign."""
    sign = "\u2212" if hours < 0 else ""
    minutes = round(abs(hours) * 60)
    days, rest = divmod(minutes, 24 * 60)
    whole_hours, left = divmod(rest, 60)
    if days:
        return f"{sign}{days} d {whole_hours} h"
    if whole_hours:
        return f"{sign}{whole_hours} h {left} min" if left else f"{sign}{whole_hours} h"
    return f"{sign}{left} min"


def local(t: datetime, tz: ZoneInfo) -> str:
    """Return an instant in site time, such as "Mon 13 May 06:00"; the offset is shown where clocks change that day."""
    there = t.astimezone(tz)
    text = f"{there:%a} {there.day} {there:%b %H:%M}"
    neighbours = {(t + timedelta(hours=h)).astimezone(tz).utcoffset() for h in (-3, 0, 3)}
    return f"{text} {there:%z}" if len(neighbours) > 1 else text


def limit_cause(cause: str) -> str:
    """Return what keeps IT power down (`thermal.limit.PlanLimit`) as people read it."""
    return f"{cause} at its limit" if cause in {LIQUID, AIR} else cause
