"""From telemetry to a plant that behaves as the site's own does, with what it proves on days that were not fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thermal.calibrate.balance import Balance, check_balance
from thermal.calibrate.fit import Estimate, Fit, joint, staged
from thermal.calibrate.leakage import SETTING, leakage
from thermal.calibrate.parameters import changed, one_stage, stages
from thermal.calibrate.score import Score, pue_share_within, scores
from thermal.calibrate.sequence import SETTING as SEQUENCE
from thermal.calibrate.sequence import SequenceEvidence, sequence_evidence
from thermal.description import Provenance
from thermal.units_out import ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from thermal.calibrate.residuals import SensorError
    from thermal.calibrate.telemetry import Telemetry
    from thermal.description import CoolingPlant
    from thermal.units_out import Running

HELD_OUT_EVERY = 4


@dataclass(frozen=True)
class Sample:
    """Scores of the plant before and after the fit on some of the days.

    Args:
        days: Number of days.
        before: Scores with the site's own values.
        after: Scores with the fitted values.
        pue_within_before_pct: Share of hours whose PUE the model meets within 0.01 before the fit, %; not a number
            where all power of cooling is not metered.
        pue_within_after_pct: The same after it, %.
    """

    days: int
    before: tuple[Score, ...]
    after: tuple[Score, ...]
    pue_within_before_pct: float
    pue_within_after_pct: float


@dataclass(frozen=True)
class Calibration:
    """A plant fitted to telemetry.

    Args:
        plant: The fitted plant; fitted values have grade "measured" and say where they come from.
        estimates: What the readings say of each setting; what they do not tell moved along with what they do. Leakage
            is among them where there are readings of work and supply temperature.
        balances: The energy balance of each loop that has flow and both temperatures.
        sensor_errors: What the fit takes for the instruments' own errors.
        fitted: Scores on the days that were fitted.
        held_out: Scores on the days that were not; None where there is only one day.
        sequence: What the readings say of the control sequence; None where the plant has none, for want of chillers, or
            where chosen settings alone were fitted. Where it supports the other sequence, the fit is not to be used.
    """

    plant: CoolingPlant
    estimates: tuple[Estimate, ...]
    balances: tuple[Balance, ...]
    sensor_errors: tuple[SensorError, ...]
    fitted: Sample
    held_out: Sample | None
    sequence: SequenceEvidence | None


def calibrate(
    plant: CoolingPlant,
    telemetry: Telemetry,
    *,
    settings: Sequence[str] | None = None,
    running: Running = ALL,
) -> Calibration:
    """Fit a plant's settings to telemetry: pump following first, then heat exchangers, fans, chillers, leakage.

    Every fourth day, or the last where there are fewer, is held out of the fit and only scored.

    Args:
        plant: The plant with the site's own values.
        telemetry: The readings.
        settings: Settings to fit; by default those of `thermal.calibrate.parameters.stages` and the leakage.
        running: Units that ran.

    Returns:
        The calibration.

    Raises:
        EnergyBalanceError: The heat that a loop carries and the power that makes it disagree.
        ValueError: There is nothing to compare the plant with, or a name in `settings` is no number of the plant.
    """
    balances = check_balance(plant, telemetry, running)
    held = held_out(telemetry.days)
    to_fit = telemetry.at(~held)
    steps = stages(plant) if settings is None else (one_stage(plant, settings),)
    begun = staged(plant, to_fit, steps, running)
    found = joint(plant, begun, to_fit, [name for step in steps for name in step.settings], running)
    estimates = found.estimates
    other_days = telemetry.at(held) if held.any() else None
    leaks, sequence = None, None
    if settings is None:
        leaks = leakage(found.plant, to_fit)
        sequence = sequence_evidence(found, to_fit, other_days, running)
    if leaks is not None:
        estimates = (*estimates, leaks)
    return Calibration(
        plant=_with_provenance(found.plant, estimates, sequence, to_fit),
        estimates=estimates,
        balances=balances,
        sensor_errors=found.sensor_errors,
        fitted=_sample(plant, found, to_fit, running),
        held_out=None if other_days is None else _sample(plant, found, other_days, running),
        sequence=sequence,
    )


def held_out(days: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which readings belong to days that are not fitted: every fourth, or the last where there are fewer.

    Args:
        days: Number of the day of each reading, shape (N,).

    Returns:
        Shape (N,); none of a single day's.
    """
    known = np.unique(days)
    if len(known) == 1:
        return np.zeros(days.shape, dtype=np.bool_)
    chosen = known[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY] if len(known) >= HELD_OUT_EVERY else known[-1:]
    return np.isin(days, chosen)


def _sample(before: CoolingPlant, found: Fit, telemetry: Telemetry, running: Running) -> Sample:
    errors = {e.signal: e.value for e in found.sensor_errors}
    return Sample(
        days=len(np.unique(telemetry.days)),
        before=scores(before, telemetry, running),
        after=scores(found.plant, telemetry, running, errors),
        pue_within_before_pct=100.0 * pue_share_within(before, telemetry, running),
        pue_within_after_pct=100.0 * pue_share_within(found.plant, telemetry, running, errors),
    )


def _with_provenance(
    plant: CoolingPlant, estimates: tuple[Estimate, ...], sequence: SequenceEvidence | None, telemetry: Telemetry
) -> CoolingPlant:
    """Return the plant with the fitted values' origin, and everything else as it was."""
    seen = f"{telemetry.source}, {telemetry.span}"
    fresh = {}
    for e in estimates:
        setting, low, high = e.known.setting, e.value - e.within, e.value + e.within
        if e.told:
            interval = f"95 % interval {low:.3g} to {high:.3g} {e.known.unit}".rstrip()
            fresh[setting] = Provenance(setting, "measured", f"fitted to {seen}, {interval}")
        elif setting != SETTING:
            fresh[setting] = Provenance(setting, "assumed", f"not identifiable from {seen}; moved with the fit")
    if sequence is not None and sequence.supported == sequence.stated:
        fresh[SEQUENCE] = Provenance(SEQUENCE, "measured", f"fits {seen} clearly better than the other")
    kept = tuple(p for p in plant.provenance if p.setting not in fresh)
    leaks = {e.known.setting: e.value for e in estimates if e.known.setting == SETTING and e.told}
    return changed(plant, leaks, (*kept, *fresh.values()))
