"""Curves of an ENTSO-E market document: left-closed UTC rows, with the gaps that its curve type means."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from planner.sources.rows import NoValues, to_number
from planner.sources.shape import changed, instant

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    import numpy.typing as npt

_RESOLUTIONS = {f"PT{minutes}M": timedelta(minutes=minutes) for minutes in (1, 5, 15, 30, 60)} | {
    "PT1H": timedelta(hours=1),
    "P1D": timedelta(days=1),
}
_FIXED = "A01"  # a position that is missing has no value
_VARIABLE = "A03"  # a position that is missing repeats the one before it, to the period's end
_NOTHING = "999"
_LONGEST = timedelta(days=400)  # the platform gives a year at most
_POSITION = re.compile(r"[0-9]{1,9}")
_PLAIN = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?")  # nearly all cells; a year of a mix has 100,000


@dataclass(frozen=True)
class Curve:
    """One TimeSeries of a document.

    Args:
        psr: Type of plant, such as "B16", or "".
        generated: Whether it is generation; else consumption (a pump's), where the document tells them apart.
        sequence: Number of the auction, 1 where the document names none.
        contract: Kind of the market: "A01" day-ahead, "A07" intraday, "" where the document names none.
        unit: Unit as the document writes it: "MAW" (megawatt) or currency/MWH.
        resolution: Length of its rows.
        rows: Columns t_start, t_end (datetime64 UTC), value (NaN never: what is missing has no row).
    """

    psr: str
    generated: bool
    sequence: int
    contract: str
    unit: str
    resolution: timedelta
    rows: pd.DataFrame


def curves(root: Element, subject: str) -> list[Curve]:
    """Return the curves of a document.

    Args:
        root: Its root.
        subject: Source, signal and zone, for errors.

    Raises:
        NoValues: It says that there is nothing (also with a good status), or holds no curve.
        SchemaChanged: It has not the agreed shape.
    """
    kind = _local(root)
    if kind == "Acknowledgement_MarketDocument":
        code, text = _text(root, "Reason/code"), _text(root, "Reason/text")
        if code == _NOTHING and "No matching data" in text:
            raise NoValues(f"{subject}: the answer is that there is none", why=text[:200], fix="check the span")
        raise changed(subject, f"it is a refusal: {code} {text[:200]}")
    if kind not in {"Publication_MarketDocument", "GL_MarketDocument"}:
        raise changed(subject, f"it is a {kind}")
    found = [curve for series in _all(root, "TimeSeries") for curve in _curves(series, subject)]
    if not found:
        raise NoValues(f"{subject}: the document has no series", fix="check the zone and the span")
    return found


def count_series(root: Element) -> int:
    """Return how many series a document holds, by which its provider counts pages."""
    return len(_all(root, "TimeSeries"))


def _curves(series: Element, subject: str) -> list[Curve]:
    curve_type = _text(series, "curveType") or _FIXED
    if curve_type not in {_FIXED, _VARIABLE}:
        raise changed(subject, f"its curve type is {curve_type!r}; known are {_FIXED} and {_VARIABLE}")
    currency = _text(series, "currency_Unit.name")
    unit = _text(series, "quantity_Measure_Unit.name")
    if currency:
        unit = f"{currency}/{_text(series, 'price_Measure_Unit.name')}"
    sequence = _text(series, "classificationSequence_AttributeInstanceComponent.position") or "1"
    if not _POSITION.fullmatch(sequence):
        raise changed(subject, f"the number of its auction is {sequence!r}")
    consumed = _find(series, "outBiddingZone_Domain.mRID") is not None
    generated = _find(series, "inBiddingZone_Domain.mRID") is not None or not consumed
    psr, contract = _text(series, "MktPSRType/psrType"), _text(series, "contract_MarketAgreement.type")
    return [
        Curve(psr, generated, int(sequence), contract, unit, *_period(period, curve_type, subject))
        for period in _all(series, "Period")
    ]


def _period(period: Element, curve_type: str, subject: str) -> tuple[timedelta, pd.DataFrame]:
    start, end = (instant(_text(period, f"timeInterval/{edge}"), subject) for edge in ("start", "end"))
    name = _text(period, "resolution")
    step = _RESOLUTIONS.get(name)
    if step is None or not timedelta(0) < end - start <= _LONGEST or (end - start) % step:
        span = f"{start:%Y-%m-%dT%H:%MZ} to {end:%Y-%m-%dT%H:%MZ}"
        raise changed(subject, f"its period from {span} is in steps of {name!r}")
    values, given = _values(period, start, step, (end - start) // step, subject)
    if curve_type == _VARIABLE:
        last = np.maximum.accumulate(np.where(given > 0, np.arange(len(values)), -1))
        values = np.where(last >= 0, values[last], math.nan)
    # What was delivered twice stays so, to be flagged with all other duplicates.
    places = np.repeat(np.arange(len(values)), np.maximum(given, 1))
    places = places[~np.isnan(values[places])]
    starts = np.datetime64(start.replace(tzinfo=None), "us") + places * np.timedelta64(step)
    ends = starts + np.timedelta64(step)
    columns = {"t_start": pd.DatetimeIndex(starts, tz="UTC"), "t_end": pd.DatetimeIndex(ends, tz="UTC")}
    return step, pd.DataFrame({**columns, "value": values[places]})


def _values(
    period: Element, start: datetime, step: timedelta, count: int, subject: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the value of each position, NaN where it is null or not given, and whether it is given once or twice."""
    names: dict[str, str] = {}
    told: list[str] = []
    cells: list[str] = []
    for point in _all(period, "Point"):
        texts: dict[str, str | None] = {}
        for child in point:
            name = names.get(child.tag) or names.setdefault(child.tag, _local(child))
            texts[name] = child.text
        told.append((texts.get("position") or "").strip())
        cells.append((texts.get("price.amount") or texts.get("quantity") or "").strip())
    since = f"{start:%Y-%m-%dT%H:%MZ}"
    strange = next((text for text in told if not _POSITION.fullmatch(text)), None)
    if strange is not None:
        raise changed(subject, f"a position of the period from {since} is {strange!r}")
    places = np.array(told, dtype=np.int64) - 1
    outside = places[(places < 0) | (places >= count)]
    if outside.size:
        raise changed(subject, f"position {outside[0] + 1} lies outside the {count} of the period from {since}")

    def when(place: int) -> str:
        return f"{start + place * step:%Y-%m-%dT%H:%MZ}"

    amounts = np.empty(len(cells))
    for i, cell in enumerate(cells):
        try:
            amounts[i] = float(cell) if _PLAIN.fullmatch(cell) else to_number(cell)
        except ValueError:
            raise changed(subject, f"the value of {when(int(places[i]))} is {cell!r}") from None
    values = np.full(count, math.nan)
    values[places[::-1]] = amounts[::-1]  # of several the first
    differing = np.flatnonzero((values[places] != amounts) & ~(np.isnan(values[places]) & np.isnan(amounts)))
    if differing.size:
        i, place = int(differing[0]), int(places[differing[0]])
        both = f"{values[place]:g} and {amounts[i]:g}"
        raise changed(subject, f"position {place + 1} ({when(place)}) is both {both}")
    return values, np.minimum(np.bincount(places, minlength=count), 2)


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _all(element: Element, name: str) -> list[Element]:
    return [child for child in element if _local(child) == name]


def _find(element: Element, path: str) -> Element | None:
    here: Any = element
    for name in path.split("/"):
        here = next((child for child in here if _local(child) == name), None)
        if here is None:
            return None
    found: Element = here
    return found


def _text(element: Element, path: str) -> str:
    found = _find(element, path)
    return "" if found is None or found.text is None else found.text.strip()
