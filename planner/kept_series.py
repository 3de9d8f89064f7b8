"""The series that a plan was made from, kept beside its calendar.

Forecasts change within the hour and are overtaken by the week itself. A calendar can be judged, and its report made
again, only by what its plan knew; the digests in the calendar's header say that these are those series.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.band import Band
from planner.errors import ConfigError
from planner.outlook import Gathered, series_digest
from planner.timegrid import iso
from planner.week import Provenance, Signals
from trainer_hooks.errors import CalendarError
from trainer_hooks.strictjson import parse_object, read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from planner.week import Week
    from trainer_hooks.contract import Calendar
    from trainer_hooks.strictjson import Node

SCHEMA = "gridpace.series/1"
_FOLDER = "series"
_DIGITS = 6  # of bands: what is not known needs no more
_LIMIT_BYTES = 64 * 1024 * 1024
_OPTIONAL = tuple(field.name for field in fields(Signals) if field.default is None)
_ARRAYS = tuple(field.name for field in fields(Signals) if field.name != "ci_basis")


def series_file(home: Path, calendar_id: str) -> Path:
    """Return where the series of a calendar stand in the output folder of its week."""
    return home / _FOLDER / f"{calendar_id}.json"


def series_json(week: Week) -> bytes:
    """Return the series of a week with where they come from, as JSON: one value per slot and signal, every digit."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "slot_minutes": week.grid.slot_minutes,
        "start": iso(week.grid.start),
        **_series_json(week.signals, week.provenance),
        "labels": list(week.labels),
    }
    if week.others:
        document["others"] = [
            {"site": other.name, **_series_json(other.signals, other.provenance), "labels": []} for other in week.others
        ]
    if week.bands:
        document["bands"] = [_band_json(band) for band in week.bands]
    return json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"


def _series_json(signals: Signals, provenance: Sequence[Provenance]) -> dict[str, Any]:
    return {
        "ci_basis": signals.ci_basis,
        "signals": {name: values.tolist() for name in _ARRAYS if (values := getattr(signals, name)) is not None},
        "provenance": [
            {
                "signal": entry.signal,
                "source": entry.source,
                "unit": entry.unit,
                "basis": entry.basis,
                "licence": entry.licence,
                "issued_at": None if entry.issued_at is None else iso(entry.issued_at),
                "flags": dict(entry.flags),
                "sha256": entry.sha256,
            }
            for entry in provenance
        ],
    }


def read_series(file: Path, calendar: Calendar) -> Gathered | None:
    """Return the series that a calendar was made from, or None where none are kept.

    Args:
        file: Their file, from `series_file`.
        calendar: The header, which has the digest of each.

    Raises:
        ConfigError: The file is damaged, or holds other series than the header names.
    """
    if not file.is_file():
        return None
    try:
        content = read_bytes(file, _LIMIT_BYTES)
    except CalendarError as error:
        raise ConfigError(f"{error.what}: {error.why}", fix=_mend(file)) from error
    return series_from(content, file, calendar)


def series_from(content: bytes, file: Path, calendar: Calendar) -> Gathered:
    """Return the series that a calendar was made from, of their file's content; errors as for `read_series`.

    Args:
        content: What `series_json` made.
        file: Where it stands, or would stand, for errors.
        calendar: The header, which has the digest of each.
    """
    try:
        document = parse_object(content, str(file))
        schema = document.text("schema")
        if schema != SCHEMA:
            raise document.child("schema").fault(f"{schema[:60]!r} is not {SCHEMA!r}, which this reader knows.")
        gathered = _gathered(document)
    except CalendarError as error:
        raise ConfigError(f"{error.what}: {error.why}", fix=_mend(file)) from error
    named_series = [(gathered, entry, "") for entry in gathered.provenance]
    named_series += [(one, entry, f" of {name}") for name, one in gathered.others.items() for entry in one.provenance]
    for one, entry, of in named_series:
        values = getattr(one.signals, entry.signal, None) if entry.signal in _ARRAYS else None
        named = calendar.inputs.get(f"signal {entry.signal}{of}", {}).get("sha256")
        if values is None or len(values) != calendar.n_slots or series_digest(values) != named:
            raise ConfigError(
                f"{file}: {entry.signal}{of} is not the series that calendar {calendar.calendar_id} was made from",
                why="its digest is not the one in the calendar's header",
                fix=_mend(file),
            )
    return gathered


def _gathered(document: Node) -> Gathered:
    values = document.object("signals")
    bands = document.list("bands") if "bands" in document.value else ()
    others = [node.expect_object() for node in document.list("others")] if "others" in document.value else []
    return Gathered(
        signals=Signals(
            **{
                name: np.array([node.as_number() for node in values.list(name)])
                for name in _ARRAYS
                if name not in _OPTIONAL or name in values.value
            },
            ci_basis=document.text("ci_basis"),
        ),
        provenance=tuple(_provenance(node.expect_object()) for node in document.list("provenance")),
        labels=tuple(node.as_text() for node in document.list("labels")),
        bands=tuple(_band(node.expect_object(), len(values.list(_ARRAYS[0]))) for node in bands),
        others={node.text("site"): _gathered(node) for node in others},
    )


def _band_json(band: Band) -> dict[str, Any]:
    return {
        "signal": band.signal,
        "model": band.model,
        "origin": iso(band.origin),
        "quantiles": [
            {"level": level, "values": _rounded(row)} for level, row in zip(band.levels, band.quantiles, strict=True)
        ],
        "paths": [{"values": _rounded(row)} for row in band.paths],
    }


def _rounded(values: npt.NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]


def _band(node: Node, n_slots: int) -> Band:
    quantiles, paths = ([row.expect_object() for row in node.list(name)] for name in ("quantiles", "paths"))
    return Band(
        signal=node.text("signal"),
        model=node.text("model"),
        origin=node.time("origin"),
        levels=tuple(row.number("level") for row in quantiles),
        quantiles=np.array([_values(row, n_slots) for row in quantiles]),
        paths=np.array([_values(row, n_slots) for row in paths]),
    )


def _values(row: Node, n_slots: int) -> list[float]:
    values = [cell.as_number() for cell in row.list("values")]
    if len(values) != n_slots:
        raise row.child("values").fault(f"there are {len(values)} values for {n_slots} slots.")
    return values


def _provenance(node: Node) -> Provenance:
    flags = node.object("flags")
    return Provenance(
        signal=node.text("signal"),
        source=node.text("source"),
        unit=node.text("unit"),
        basis=node.text("basis"),
        licence=node.text("licence"),
        issued_at=None if node.optional_text("issued_at") is None else node.time("issued_at"),
        flags=tuple((name, flags.integer(name)) for name in flags.value),
        sha256=node.text("sha256"),
    )


def _mend(file: Path) -> str:
    return f"restore {file.name} from where it was written, or take it away: the sources are then asked again"
