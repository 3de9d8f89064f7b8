"""Simulated weeks of a gang that fails now and then: the oracle of `power.failure_budget`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from power.failure_budget import TrainingPlan, TrainingSpell
    from power.goodput import Goodput


def simulated_probability(
    goodput: Goodput, plan: TrainingPlan, due: Sequence[tuple[float, float]], weeks: int, seed: int
) -> tuple[float, ...]:
    """Return the share of simulated weeks in which a gang makes its tokens in time.

    Each week draws its failures at random. A failure in training throws the run back to the last checkpoint, one in a
    restart begins the restart again, and one in the save before a stop loses what was not saved before. A promise is
    kept once its tokens are made, whatever is lost afterwards.

    Args:
        goodput: How the gang fails, saves and comes back.
        plan: What it would do if it never failed.
        due: (tokens, deadline in s from the horizon's start) of each promise.
        weeks: Count of weeks.
        seed: Of the random numbers; the same seed gives the same shares.

    Returns:
        One share per promise.
    """
    random = np.random.default_rng(seed)
    made = np.zeros(weeks)
    kept = np.array([np.full(weeks, tokens <= 0.0) for tokens, _ in due]).reshape(len(due), weeks)
    for spell in plan.spells:
        _spend(goodput, plan, spell, due, random, made, kept)
    return tuple(kept.mean(axis=1).tolist())


def _spend(
    goodput: Goodput,
    plan: TrainingPlan,
    spell: TrainingSpell,
    due: Sequence[tuple[float, float]],
    random: np.random.Generator,
    made: npt.NDArray[np.float64],
    kept: npt.NDArray[np.bool_],
) -> None:
    """Let all weeks live through one spell; `made` and `kept` are brought up to date."""
    last_s = spell.end_s - spell.save_s
    open_weeks = np.arange(len(made))
    begin_s = np.full(len(made), spell.start_s + spell.reload_s)
    now_s = np.full(len(made), spell.start_s)
    while open_weeks.size:
        fails_s = np.full(len(now_s), np.inf)
        if goodput.failures_per_s > 0.0:
            fails_s = now_s + random.exponential(1.0 / goodput.failures_per_s, len(now_s))
        trains = (fails_s > begin_s) & (begin_s < last_s)
        weeks, since_s = open_weeks[trains], begin_s[trains]
        until_s = np.minimum(fails_s[trains], last_s)
        before = made[weeks]
        for i, (tokens, deadline_s) in enumerate(due):
            stop_s = np.clip(until_s, since_s, np.maximum(since_s, deadline_s))
            in_time = since_s < deadline_s
            kept[i, weeks] |= in_time & (before + _work(goodput, plan, since_s, stop_s) >= tokens * (1.0 - 1e-9))
        through = fails_s[trains] >= spell.end_s
        gained = np.where(through, _work(goodput, plan, since_s, until_s), _saved(goodput, plan, since_s, until_s))
        made[weeks] = before + gained
        again = fails_s < spell.end_s
        open_weeks, now_s = open_weeks[again], fails_s[again]
        begin_s = now_s + goodput.restart_s


def _saved(
    goodput: Goodput, plan: TrainingPlan, since_s: npt.NDArray[np.float64], until_s: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the tokens that checkpoints have kept of a training from its start to an instant."""
    if goodput.interval_s is None:
        return np.zeros(len(since_s))
    cycles = np.floor((until_s - since_s) / goodput.cycle_s)
    trained = goodput.interval_s / goodput.cycle_s
    return trained * plan.tokens_between(since_s, since_s + cycles * goodput.cycle_s)


def _work(
    goodput: Goodput, plan: TrainingPlan, since_s: npt.NDArray[np.float64], until_s: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the tokens that stand at an instant of a training that has not failed since its start."""
    if goodput.interval_s is None:
        return plan.tokens_between(since_s, until_s)
    cycles = np.floor((until_s - since_s) / goodput.cycle_s)
    edge_s = since_s + cycles * goodput.cycle_s
    stop_s = np.minimum(until_s, edge_s + goodput.interval_s)
    return _saved(goodput, plan, since_s, until_s) + plan.tokens_between(edge_s, stop_s)
