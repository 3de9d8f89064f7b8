"""A calibration for people and for the site file."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from thermal.calibrate import SIGNALS
from thermal.catalogue import catalogue, describe

if TYPE_CHECKING:
    from thermal.calibrate import Calibration, Estimate, Sample, Score, Telemetry
    from thermal.description import CoolingPlant


def calibration_lines(found: Calibration, telemetry: Telemetry) -> list[str]:
    """Return what a calibration found, as lines of text."""
    lines = ["Energy balance:"]
    lines += [f"  {b.sentence}" for b in found.balances]
    if not found.balances:
        lines.append("  not checked: no loop has readings of flow and both temperatures")
    lines += ["", f"Settings, fitted to {found.fitted.days} days of {telemetry.source}:"]
    lines += _aligned([["", "before", "fitted", "95 % within", ""], *(_estimate_row(e) for e in found.estimates)])
    errors = [e for e in found.sensor_errors if f"{e.value:.2g}" not in {"0", "-0"}]
    lines += ["", "Instruments' own errors, as the fit has them (shown minus true):"]
    lines += _aligned([[e.signal, f"{e.value:+.2f} K" if e.unit else f"{100 * e.value:+.1f} %"] for e in errors])
    if found.sequence is not None:
        lines += ["", "Control sequence:", f"  {found.sequence.sentence}"]
    lines += ["", f"On the {found.fitted.days} days that were fitted:", *_sample_lines(found.fitted)]
    if found.held_out is None:
        lines += ["", "There is one day only: nothing shows how the fit does on others."]
    else:
        lines += ["", f"On {found.held_out.days} days that were not fitted:", *_sample_lines(found.held_out)]
    return lines


def cooling_toml(block: str, plant: CoolingPlant) -> bytes:
    """Return a plant as the [block.cooling] table of a site file: what differs from the defaults or has a source."""
    told = {p.setting for p in plant.provenance}
    usual = {s.name: s.default for s in catalogue(plant.kind)}
    lines = [
        f"# The fitted cooling plant of block {json.dumps(block, ensure_ascii=False)}: put this table in the place of",
        "# its [block.cooling] in the site file.",
        "[block.cooling]",
        f'kind = "{plant.kind}"',
        f"rated_it_kw = {_toml(plant.rated_it_kw)}",
    ]
    for d in describe(plant):
        if d.name in told:
            source = json.dumps(d.source, ensure_ascii=False)
            lines.append(f'{d.name} = {{ value = {_toml(d.value)}, grade = "{d.grade}", source = {source} }}')
        elif d.value != usual[d.name]:
            lines.append(f"{d.name} = {_toml(d.value)}")
    return ("\n".join(lines) + "\n").encode()


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.5g}" if "e" not in f"{value:.5g}" else repr(value)
    return json.dumps(value, ensure_ascii=False)


def _estimate_row(e: Estimate) -> list[str]:
    unit = f" {e.known.unit}" if e.known.unit else ""
    note = "" if e.told else "not identifiable from these readings: moved with the others, stays assumed"
    if e.at_bound:
        note = f"{note}{'; ' if note else ''}at the end of its physical span"
    within = "unknown" if math.isinf(e.within) else f"{e.within:.2g}"
    return [e.known.setting, f"{e.before:.4g}", f"{e.value:.4g}", within + unit, note]


def _sample_lines(sample: Sample) -> list[str]:
    rows = [["", "before", "", "fitted", "", "noise alone"], ["", *(["CV-RMSE", "NMBE"] * 2), "CV-RMSE"]]
    rows += [[b.signal, *_pair(b), *_pair(a), _floor(a)] for b, a in zip(sample.before, sample.after, strict=True)]
    lines = _aligned(rows)
    if math.isfinite(sample.pue_within_after_pct):
        lines.append(
            f"  PUE within 0.01 on {sample.pue_within_before_pct:.1f} % of the hours before, "
            f"{sample.pue_within_after_pct:.1f} % fitted"
        )
    return lines


def _pair(score: Score) -> list[str]:
    """Return the measures of Guideline 14, or of a temperature its root mean square error and mean, in kelvin."""
    if score.signal in SIGNALS and SIGNALS[score.signal].unit == "C":
        return [f"{score.rmse:.2f} K", f"{score.mean_error:+.2f} K"]
    if math.isnan(score.cv_rmse_pct):
        return ["-", "-"]
    return [f"{score.cv_rmse_pct:.1f} %", f"{score.nmbe_pct:+.1f} %"]


def _floor(score: Score) -> str:
    return "-" if math.isnan(score.floor_pct) else f"{score.floor_pct:.1f} %"


def _aligned(rows: list[list[str]]) -> list[str]:
    if not rows:
        return ["  none"]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for first, *middle, last in rows:
        cells = [f"{first:<{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(middle, widths[1:-1], strict=True)), last]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines
