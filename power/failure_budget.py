"""The chance that a gang which fails now and then makes its tokens in time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from power.goodput import Goodput

_POINTS = 1 << 13
_DEVIATIONS = 12.0
_LONGEST_LOSSES = 6.0
_ALIKE = 1e-6
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TrainingSpell:
    """An unbroken stretch in which a gang holds its GPUs; seconds from the horizon's start.

    Args:
        start_s: First second.
        end_s: Last second.
        reload_s: Time from the start to the first token, s; 0 where it goes on from before.
        save_s: Time at the end in which it saves, s; 0 where it goes on after.
    """

    start_s: float
    end_s: float
    reload_s: float
    save_s: float


@dataclass(frozen=True)
class TrainingPlan:
    """What a gang would do if it never failed and saved only before its stops.

    Args:
        spells: Stretches with GPUs, by rising start.
        at_s: Instants between which tokens come at an even rate, s, rising, shape (N,).
        made_tokens: Tokens made up to each of them, shape (N,).
    """

    spells: tuple[TrainingSpell, ...]
    at_s: npt.NDArray[np.float64]
    made_tokens: npt.NDArray[np.float64]

    def tokens_between(self, since_s: npt.ArrayLike, until_s: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the tokens made between instants, s, of any one shape."""
        until = np.interp(np.asarray(until_s, dtype=np.float64), self.at_s, self.made_tokens)
        since = np.interp(np.asarray(since_s, dtype=np.float64), self.at_s, self.made_tokens)
        return np.asarray(until - since, dtype=np.float64)


@dataclass(frozen=True)
class _Risk:
    """Like stretches of training that a failure throws back to their beginning.

    Args:
        count: How many.
        exposed_s: Time in which a failure does so, s.
        weight: What a second lost here counts, over one at the fastest rate.
        reload_s: Time by which a restart is no loss, as a reload was planned anyway, s.
        once: Whether it fails at most once: a planned reload, which a restart replaces.
    """

    count: int
    exposed_s: float
    weight: float
    reload_s: float = 0.0
    once: bool = False


def reach_probability(goodput: Goodput, plan: TrainingPlan, tokens: float, deadline_s: float) -> float:
    """Return the chance that a gang has made its tokens by a deadline.

    Between two saves the training is one piece that must be done without a failure. Each failure costs the time since
    the last save and a restart, at the rate planned there; the tokens that the plan makes beyond those due absorb it.
    The time lost in all pieces is a sum of independent geometric sums, and its distribution comes on a grid from the
    product of their Fourier transforms. For one spell at one rate that is exact. Where the plan stops in between, what
    a stop spares counts by its mean: the rest of a restart, and work saved ahead of its checkpoint.

    Args:
        goodput: How the gang fails, saves and comes back.
        plan: What it would do if it never failed.
        tokens: Tokens due, counted from the horizon's start.
        deadline_s: When they are due, s from the horizon's start.

    Returns:
        A number between 0 and 1.

    Source: exponential failures, each independent; negative binomial compound as in Panjer (1981), by FFT.
    """
    if tokens <= 0.0:
        return 1.0
    pieces = _pieces(goodput, plan, deadline_s)
    spare = float(pieces.tokens.sum()) - tokens
    if spare < -_ROUNDING * tokens:
        return 0.0
    if goodput.failures_per_s <= 0.0:
        return 1.0
    rates = pieces.tokens / pieces.length_s
    fastest = float(rates.max())
    made = np.cumsum(pieces.tokens)
    last = min(int(np.searchsorted(made, tokens * (1.0 - _ROUNDING))), len(made) - 1)
    exposed_s, weights = pieces.exposed_s[: last + 1].copy(), rates[: last + 1] / fastest
    before = float(made[last - 1]) if last else 0.0
    exposed_s[-1] *= min(1.0, (tokens - before) / float(pieces.tokens[last]))
    risks = [*_grouped(exposed_s, weights)]
    spared_s = 0.0
    for spell in pieces.spells:
        if spell.first > last:
            break
        if spell.reload_s > 0.0:
            risks.append(_Risk(1, spell.reload_s, float(weights[spell.first]), spell.reload_s, once=True))
        if spell.after <= last:
            disturbed = -np.expm1(-goodput.failures_per_s * spell.length_s)
            ahead_s = disturbed * (_mean_ahead_s(goodput) - spell.ahead_s)
            spared_s += float(weights[spell.after - 1]) * (_unfinished_restart_s(goodput) + ahead_s)
    return _Losses(goodput, risks).at_most(max(0.0, spare) / fastest + spared_s)


def margin_tokens(goodput: Goodput, tokens: float, tokens_per_s: float, probability: float) -> float:
    """Return how many tokens more than those due a plan must make, in the mean, to reach them with a probability.

    Reckoned for one spell at full speed; pauses, at which a run saves, and lower power only make the chance better.

    Args:
        goodput: How the gang fails, saves and comes back.
        tokens: Tokens due.
        tokens_per_s: Tokens per second of the gang while it trains at full speed.
        probability: The chance asked for, below 1.

    Returns:
        Tokens, at least 0.
    """
    if tokens <= 0.0 or goodput.failures_per_s <= 0.0:
        return 0.0
    work_s = tokens / tokens_per_s
    saves = 0 if goodput.interval_s is None else max(0, math.ceil(work_s / goodput.interval_s) - 1)
    risks = [_Risk(1, work_s - saves * (goodput.interval_s or 0.0), 1.0)]
    if saves:
        risks.append(_Risk(saves, goodput.cycle_s, 1.0))
    lost_s = _Losses(goodput, risks).quantile(probability)
    return max(0.0, goodput.factor_share * tokens_per_s * (work_s + saves * goodput.save_s + lost_s) - tokens)


@dataclass(frozen=True)
class _SpellOfPieces:
    """A spell's pieces.

    Args:
        first: Index of its first risk.
        after: Index after its last.
        length_s: Training time, s.
        reload_s: Time before its first token, s.
        ahead_s: Training by which its stop is ahead of the long-run share of training, s.
    """

    first: int
    after: int
    length_s: float
    reload_s: float
    ahead_s: float


@dataclass(frozen=True)
class _Pieces:
    """Undisturbed training before a deadline, cut at each save; arrays of shape (S,).

    Args:
        length_s: Length with the checkpoint at its end, s.
        exposed_s: Time in which a failure throws back to its start, s: with the save before a stop.
        tokens: Tokens made.
        spells: Which pieces belong together.
    """

    length_s: npt.NDArray[np.float64]
    exposed_s: npt.NDArray[np.float64]
    tokens: npt.NDArray[np.float64]
    spells: tuple[_SpellOfPieces, ...]


def _pieces(goodput: Goodput, plan: TrainingPlan, deadline_s: float) -> _Pieces:
    lengths: list[npt.NDArray[np.float64]] = [np.zeros(0)]
    exposed: list[npt.NDArray[np.float64]] = [np.zeros(0)]
    tokens: list[npt.NDArray[np.float64]] = [np.zeros(0)]
    spells: list[_SpellOfPieces] = []
    first = 0
    for spell in plan.spells:
        begin_s = spell.start_s + spell.reload_s
        stop_s = spell.end_s - spell.save_s
        end_s = min(stop_s, deadline_s)
        if begin_s >= end_s:
            continue
        whole = int((end_s - begin_s) // goodput.cycle_s)
        edges_s = np.append(begin_s + np.arange(whole) * (goodput.cycle_s if whole else 0.0), end_s)
        starts_s = np.append(edges_s[:-1], begin_s + (whole * goodput.cycle_s if whole else 0.0))
        rest_s = end_s - float(starts_s[-1])
        trained_s = np.append(np.full(whole, goodput.interval_s or 0.0), min(goodput.interval_s or rest_s, rest_s))
        length_s = np.append(np.full(whole, goodput.cycle_s if whole else 0.0), rest_s)
        risk_s = length_s + np.append(np.zeros(whole), spell.save_s if end_s == stop_s else 0.0)
        kept = slice(None) if rest_s > 0.0 else slice(whole)
        lengths.append(length_s[kept])
        exposed.append(risk_s[kept])
        tokens.append(plan.tokens_between(starts_s, starts_s + trained_s)[kept])
        share = 1.0 if goodput.interval_s is None else goodput.interval_s / goodput.cycle_s
        after = first + len(lengths[-1])
        ahead_s = float(trained_s[-1]) - share * rest_s
        spells.append(_SpellOfPieces(first, after, end_s - begin_s, spell.reload_s, ahead_s))
        first = after
    return _Pieces(np.concatenate(lengths), np.concatenate(exposed), np.concatenate(tokens), tuple(spells))


def _mean_ahead_s(goodput: Goodput) -> float:
    """Return by how much training is ahead of its long-run share at an instant at random, s: saves come after work."""
    if goodput.interval_s is None:
        return 0.0
    return goodput.interval_s * goodput.save_s / (2.0 * goodput.cycle_s)


def _restart_moments(goodput: Goodput) -> tuple[float, float]:
    """Return mean and mean square of a restart with those that fail in it, s and s2."""
    rate, restart_s = goodput.failures_per_s, goodput.restart_s
    mean_s = math.expm1(rate * restart_s) / rate
    return mean_s, 2.0 * math.exp(rate * restart_s) * (mean_s - restart_s) / rate


def _unfinished_restart_s(goodput: Goodput) -> float:
    """Return what a stop at any instant spares of a restart under way, in the mean over all instants, s."""
    mean_s, square = _restart_moments(goodput)
    return square / 2.0 / (1.0 / goodput.failures_per_s + mean_s)


def _grouped(exposed_s: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> Iterator[_Risk]:
    keys = sorted((round(float(e), 3), round(float(w) / _ALIKE)) for e, w in zip(exposed_s, weights, strict=True))
    for (exposed, weight), alike in groupby(keys):
        if weight:
            yield _Risk(len(list(alike)), exposed, weight * _ALIKE)


class _Losses:
    """The time lost in all pieces, in seconds at the fastest rate, as a distribution on an even grid."""

    def __init__(self, goodput: Goodput, risks: Sequence[_Risk]) -> None:
        self._goodput = goodput
        self._risks = risks
        mean_s, variance, longest_s = self._moments()
        span_s = mean_s + _DEVIATIONS * np.sqrt(variance) + _LONGEST_LOSSES * longest_s
        self._step_s = max(span_s, 1e-9) / _POINTS

    def _moments(self) -> tuple[float, float, float]:
        rate, restart_s = self._goodput.failures_per_s, self._goodput.restart_s
        mean_s = variance = longest_s = 0.0
        restarts_s, square = _restart_moments(self._goodput)
        restarts_variance = square - restarts_s**2
        for risk in self._risks:
            fails = -np.expm1(-rate * risk.exposed_s)
            if fails <= 0.0:
                continue
            repeats = fails if risk.once else fails / (1.0 - fails)
            u_s = 1.0 / rate - risk.exposed_s * (1.0 - fails) / fails
            u_square = 2.0 / rate * u_s - risk.exposed_s**2 * (1.0 - fails) / fails
            one_s = u_s + restarts_s
            one_variance = max(0.0, u_square - u_s**2) + max(0.0, restarts_variance)
            mean_s += risk.count * repeats * one_s * risk.weight
            spread = repeats * (1.0 + (0.0 if risk.once else repeats))
            variance += risk.count * (repeats * one_variance + spread * one_s**2) * risk.weight**2
            longest_s = max(longest_s, min(risk.exposed_s, 10.0 / rate) + restart_s)
        return float(mean_s), float(variance), float(longest_s)

    def _density(self) -> npt.NDArray[np.float64]:
        rate, restart_s = self._goodput.failures_per_s, self._goodput.restart_s
        total: npt.NDArray[np.complex128] = np.ones(_POINTS // 2 + 1, dtype=np.complex128)
        for risk in self._risks:
            done = np.exp(-rate * risk.exposed_s)
            if done >= 1.0:
                continue
            restarted = np.exp(-rate * restart_s)
            again = (1.0 - restarted) * self._truncated(restart_s, risk.weight)
            back = restarted * self._shifted(max(0.0, restart_s - risk.reload_s), risk.weight) / (1.0 - again)
            loss = self._truncated(risk.exposed_s, risk.weight) * back
            if risk.once:
                total *= (done + (1.0 - done) * loss) ** risk.count
            else:
                total *= (done / (1.0 - (1.0 - done) * loss)) ** risk.count
        return np.asarray(np.fft.irfft(total, _POINTS), dtype=np.float64)

    def _truncated(self, longest_s: float, weight: float) -> npt.NDArray[np.complex128]:
        """Return the transform of the time to a failure that comes within `longest_s`."""
        rate = self._goodput.failures_per_s
        edges_s = (np.arange(_POINTS + 1) - 0.5) * self._step_s / max(weight, 1e-12)
        below = -np.expm1(-rate * np.clip(edges_s, 0.0, longest_s))
        if below[-1] <= 0.0:
            return np.ones(_POINTS // 2 + 1, dtype=np.complex128)
        return np.asarray(np.fft.rfft(np.diff(below) / below[-1]), dtype=np.complex128)

    def _shifted(self, by_s: float, weight: float) -> npt.NDArray[np.complex128]:
        """Return the transform of a fixed time, shared between its two neighbours on the grid."""
        place = by_s * weight / self._step_s
        mass = np.zeros(_POINTS)
        first = min(int(place), _POINTS - 2)
        mass[first : first + 2] = (1.0 - (place - first), place - first)
        return np.asarray(np.fft.rfft(mass), dtype=np.complex128)

    def at_most(self, lost_s: float) -> float:
        """Return the chance that no more than `lost_s` is lost."""
        within = np.clip(lost_s / self._step_s - np.arange(_POINTS) + 0.5, 0.0, 1.0)
        within[0] = 1.0
        return float(np.clip(np.dot(self._density(), within), 0.0, 1.0))

    def quantile(self, probability: float) -> float:
        """Return the least time of which no more is lost with a probability, s."""
        reached = np.cumsum(self._density())
        steps = int(np.searchsorted(reached, probability))
        return float(steps * self._step_s)
