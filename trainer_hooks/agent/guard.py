"""A limit lowered by the agent itself where a GPU comes near to slowing down from heat; given back when it cools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer_hooks.agent.sections import Section
    from trainer_hooks.gpu import Gpu

_KEYS = frozenset({"lower_below_c", "give_back_above_c", "step_w", "every_s", "lowest_w", "slowdown_c"})


@dataclass(frozen=True)
class GuardRules:
    """When the guard acts.

    Attributes:
        lower_below_c: Margin to the board's own slowdown below which the limit is lowered, K.
        give_back_above_c: Margin above which it is raised again, K; above the former.
        step_w: Change of limit at a time, W.
        every_s: Time between two changes, s, so that the board's temperature can follow.
        lowest_w: Limit below which the guard does not go, W.
        slowdown_c: Temperature of slowdown where the board offers no margin, degrees C; None leaves such boards alone.
    """

    lower_below_c: float = 5.0
    give_back_above_c: float = 12.0
    step_w: float = 25.0
    every_s: float = 10.0
    lowest_w: float = 100.0
    slowdown_c: float | None = None


@dataclass(frozen=True)
class GuardState:
    """Where the guard of one GPU stands.

    Attributes:
        cap_w: Limit it holds, W; None if it holds none.
        changed_s: Monotonic time of the last change, s.
    """

    cap_w: float | None = None
    changed_s: float = float("-inf")


def guarded(
    state: GuardState, rules: GuardRules, margin_c: float | None, limit_w: float | None, free_w: float, now_s: float
) -> GuardState:
    """Take one look at a GPU.

    Args:
        state: Where the guard stands.
        rules: When it acts.
        margin_c: Margin to slowdown, K; None if unknown, which changes nothing.
        limit_w: Limit in force, W; None if unknown, which changes nothing.
        free_w: Limit that would be in force without the guard, W.
        now_s: Monotonic time, s.

    Returns:
        Where it stands now. Between the two margins nothing changes, so that it does not swing.
    """
    if margin_c is None or limit_w is None or now_s - state.changed_s < rules.every_s:
        return state
    if margin_c < rules.lower_below_c:
        cap_w = max(min(limit_w, free_w) - rules.step_w, rules.lowest_w)
        return GuardState(cap_w, now_s) if cap_w < limit_w else state
    if state.cap_w is not None and margin_c > rules.give_back_above_c:
        cap_w = state.cap_w + rules.step_w
        return GuardState(None if cap_w >= free_w else cap_w, now_s)
    return state


def margin_c(gpu: Gpu, rules: GuardRules) -> float | None:
    """Read how far a GPU is from slowing down, K; None if it cannot be known.

    Raises:
        GpuError: The GPU does not answer.
    """
    read = getattr(gpu, "margin_c", None)
    found: float | None = read() if read is not None else None
    if found is not None or rules.slowdown_c is None:
        return found
    temperature_c = gpu.temperature_c()
    return None if temperature_c is None else rules.slowdown_c - temperature_c


def guard_from(section: Section) -> GuardRules:
    """Read `[guard]`.

    Raises:
        AgentError: A key is unknown or out of reach, or the two margins leave no room between them.
    """
    section.expect(_KEYS)
    usual = GuardRules()
    rules = replace(
        usual,
        lower_below_c=section.number("lower_below_c", "K", 0.0, 60.0, usual.lower_below_c),
        give_back_above_c=section.number("give_back_above_c", "K", 1.0, 80.0, usual.give_back_above_c),
        step_w=section.number("step_w", "W", 1.0, 500.0, usual.step_w),
        every_s=section.number("every_s", "s", 0.1, 600.0, usual.every_s),
        lowest_w=section.number("lowest_w", "W", 1.0, 5000.0, usual.lowest_w),
        slowdown_c=section.optional_number("slowdown_c", "degrees C", 40.0, 120.0),
    )
    if rules.give_back_above_c - rules.lower_below_c < 1.0:
        raise section.fault(
            "give_back_above_c",
            f"{rules.give_back_above_c:g} K leaves less than 1 K above lower_below_c, {rules.lower_below_c:g} K.",
            "Leave some kelvin between the two, or the limit will swing.",
        )
    return rules
