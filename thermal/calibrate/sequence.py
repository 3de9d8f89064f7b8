"""Which control sequence the readings support: fans first, or fans and chillers at the least power.

Under both, the settings of exchangers, fans and chillers are fitted to the same readings, so that neither passes for
the better one by a setting that suits it; pumps know nothing of the sequence and stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.calibrate.descent import loss
from thermal.calibrate.fit import best_point, inflation, thinned, usable
from thermal.calibrate.parameters import changed, parameter, stages
from thermal.calibrate.prediction import PUMP_SIGNALS, inputs, predict
from thermal.calibrate.residuals import Problem
from thermal.calibrate.score import PARTS, scores
from thermal.calibrate.telemetry import INPUTS, Telemetry

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from thermal.calibrate.fit import Fit
    from thermal.calibrate.score import Score
    from thermal.description import CoolingPlant
    from thermal.units_out import Running

SETTING = "sequence"
OTHER = {"site": "optimal", "optimal": "site"}
CARRIERS = ("fan_kw", "chiller_kw")
CLEAR_LOG_ODDS = float(np.log(1_000.0))  # how much likelier the readings must be under one than under the other
CLEAR_SQUARES = 2.0  # times the squared error under the one, or what noise alone leaves, that the other must make
ENOUGH = 240  # readings that both are fitted to
SAME = 0.1  # standard deviations: where no reading's model moves by more, the plant does the same under both


@dataclass(frozen=True)
class SequenceEvidence:
    """What the readings say of the control sequence.

    Args:
        stated: The plant's own: "site" or "optimal".
        log_odds: Natural logarithm of how much likelier the fitted days' readings are under the stated sequence than
            under the other; below 0 they speak against it.
        score: How the power of fans and chillers is met on days that were not fitted, under the stated sequence; None
            where there are no such days or meters, or where the plant does the same under both.
        other_score: The same under the other.
    """

    stated: str
    log_odds: float
    score: Score | None = None
    other_score: Score | None = None

    @property
    def other(self) -> str:
        """The sequence that is not stated."""
        return OTHER[self.stated]

    @property
    def supported(self) -> str | None:
        """The sequence that the readings clearly speak for, or None where they do not tell.

        Clearly: the fitted days' readings are a thousand times likelier under it, and on the days that were not fitted
        the other's squared hourly error is at least twice its own and twice what the sensors' noise alone leaves.
        """
        if self.score is None or self.other_score is None:
            return None
        if self.log_odds >= CLEAR_LOG_ODDS and _far_behind(self.other_score, self.score):
            return self.stated
        if self.log_odds <= -CLEAR_LOG_ODDS and _far_behind(self.score, self.other_score):
            return self.other
        return None

    @property
    def sentence(self) -> str:
        """What the readings say, for people."""
        untold = f'the readings do not tell whether "{self.stated}" or "{self.other}" is followed'
        if self.score is None or self.other_score is None:
            why = "no power of fans or chillers was metered on a day that was not fitted"
            return f"{untold}: {'the plant does the same under both' if self.log_odds == 0.0 else why}"
        likelier = self.stated if self.log_odds > 0.0 else self.other
        noise_pct = min(self.score.floor_pct, self.other_score.floor_pct)
        own_pct, other_pct = self.score.cv_rmse_pct, self.other_score.cv_rmse_pct
        shown = (
            f"on days not fitted, the power of fans and chillers by the hour is met to {own_pct:.1f} % (CV-RMSE) under "
            f'"{self.stated}" and to {other_pct:.1f} % under "{self.other}", where the sensors\' noise alone leaves '
            f'{noise_pct:.1f} %; the fitted days are {_odds(abs(self.log_odds))} times likelier under "{likelier}"'
        )
        return f"{untold}: {shown}" if self.supported is None else f'the readings speak for "{self.supported}": {shown}'


class _End(NamedTuple):
    """Where the fit under one sequence ended."""

    problem: Problem
    point: npt.NDArray[np.float64]


def sequence_evidence(
    found: Fit, fitted: Telemetry, held: Telemetry | None, running: Running
) -> SequenceEvidence | None:
    """Return what the readings say of a plant's control sequence; None where it has none, for want of chillers.

    Args:
        found: The plant fitted under the sequence that it states.
        fitted: The readings that it was fitted to.
        held: Those of the days that it was not fitted to, if there are any.
        running: Units that run.
    """
    if found.plant.loop is None or not found.plant.loop.has_chiller:
        return None
    stated = found.plant.loop.sequence
    plants = [found.plant, changed(found.plant, {SETTING: OTHER[stated]})]
    readings = thinned(fitted, ENOUGH)
    if _alike(plants, readings, running):
        return SequenceEvidence(stated, log_odds=0.0)
    ends = [_end(plant, found, readings, running) for plant in plants]
    told = [] if held is None else [_score(end, held, running) for end in ends]
    return SequenceEvidence(stated, _log_odds(*ends), *told)


def _odds(log_odds: float) -> str:
    return f"{np.exp(log_odds):.1f}" if log_odds < CLEAR_LOG_ODDS else f"10^{log_odds / np.log(10.0):.0f}"


def _far_behind(worse: Score, better: Score) -> bool:
    return worse.cv_rmse_pct**2 >= CLEAR_SQUARES * max(better.cv_rmse_pct, better.floor_pct) ** 2


def _alike(plants: Iterable[CoolingPlant], readings: Telemetry, running: Running) -> bool:
    """Return whether no reading could tell the plants apart."""
    wanted = frozenset(readings.measured) - PUMP_SIGNALS
    one, other = (predict(plant, inputs(readings), wanted, running) for plant in plants)
    return not any((np.abs(one[name] - other[name]) > SAME * readings.spread(name)).any() for name in one)


def _end(plant: CoolingPlant, found: Fit, readings: Telemetry, running: Running) -> _End:
    """Fit a plant under its sequence, from where the fit under the stated one ended."""
    moved = [stage for stage in stages(plant) if PUMP_SIGNALS.isdisjoint(stage.signals)]
    known = tuple(parameter(plant, name) for stage in moved for name in stage.settings)
    signals = usable(plant, readings, frozenset.union(*(stage.signals for stage in moved)), running)
    problem = Problem(plant, readings, known, signals, running, plant, found.sensor_errors)
    return _End(problem, best_point(problem))


def _log_odds(stated: _End, other: _End) -> float:
    """Return the logarithm of the likelihoods' ratio, with the size of the errors and their persistence in it.

    A reading counts under both with the wider of the two noises that the models leave it.
    """
    residuals = [end.problem.residuals(end.point) for end in (stated, other)]
    priors = len(stated.point)
    own, others = (float(np.sum(r[-priors:] ** 2)) for r in residuals)
    log_odds = 0.5 * (others - own)
    for name, rows in stated.problem.rows.items():
        spreads = [end.problem.spread[name] for end in (stated, other)]
        widest = np.maximum(*spreads)
        errors = [r[rows] * spread / widest for r, spread in zip(residuals, spreads, strict=True)]
        own, others = (loss(e, 0) for e in errors)
        log_odds += 0.5 * (others - own) / min(inflation(e) for e in errors)
    return log_odds


def _score(end: _End, held: Telemetry, running: Running) -> Score | None:
    """Return how the power of fans and chillers is met, or that of all cooling, where that is all that was metered."""
    metered = [name for name in CARRIERS if name in held.measured] or ["cooling_kw"]
    if metered[0] not in held.measured:
        return None
    kept = {name: values for name, values in held.readings.items() if name in {*INPUTS, *metered}}
    readings, errors = Telemetry(held.source, held.time, kept), end.problem.sensor_errors(end.point)
    found = {s.signal: s for s in scores(end.problem.plant_at(end.point), readings, running, errors)}
    return found.get(PARTS, found[metered[0]])
