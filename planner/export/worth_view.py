"""What a plan is worth, as rows: grams, money and promises kept, side by side and never one of them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.export import wording
from planner.plan_worth import plan_worth

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.outcome import Outcome
    from planner.plan_worth import PlanWorth, PromisesKept

HEADS = ("Against", "Carbon spared", "Money spared", "Power promises", "Heat promises", "Deadlines kept", "Work late")
"""Columns of the table; the last four tell the plan's, then the other's."""


def worth_rows(worth: tuple[PlanWorth, ...], currency: str) -> list[list[str]]:
    """Return one row per way of working without a plan.

    Args:
        worth: What the plan is worth against each.
        currency: ISO 4217 code of all money.
    """
    return [
        [
            one.against,
            "not told" if one.saved_kg is None else wording.carbon(one.saved_kg),
            "not told" if one.saved_money is None else wording.money(one.saved_money, currency),
            _beside(one, _power),
            _beside(one, _heat),
            _beside(one, lambda kept: f"{kept.deadlines_kept} of {kept.deadlines}"),
            _beside(one, lambda kept: f"{wording.number(kept.late_gpu_h)} GPU-h"),
        ]
        for one in worth
    ]


def worth_notes(worth: tuple[PlanWorth, ...]) -> list[str]:
    """Return why neither grams nor money are told, where they are not."""
    return [f"Neither grams nor money are told against {one.against}: {one.reason}" for one in worth if one.reason]


def worth_json(one: PlanWorth) -> dict[str, Any]:
    """Return what a plan is worth against one way of working without it, as a JSON object, every digit."""
    return {
        "against": one.against,
        "saved_carbon_kg": one.saved_kg,
        "saved_cost": one.saved_money,
        "reason": one.reason,
        "plan": _promises(one.plan),
        "without_a_plan": _promises(one.other),
    }


def section(outcome: Outcome) -> tuple[list[list[str]], list[str]]:
    """Return the rows and notes of a planned week.

    Args:
        outcome: The week, its calendar and the judge's figures.
    """
    worth = plan_worth(outcome.week, outcome.evaluation, outcome.counterfactuals)
    return worth_rows(worth, outcome.week.prices.currency), worth_notes(worth)


def _beside(one: PlanWorth, told: Callable[[PromisesKept], str]) -> str:
    return f"{told(one.plan)} / {told(one.other)}"


def _power(kept: PromisesKept) -> str:
    return _promise(kept.power_broken, kept.power_used_share)


def _heat(kept: PromisesKept) -> str:
    return _promise(kept.heat_broken, kept.heat_used_share)


def _promise(broken: int, used_share: float) -> str:
    state = f"{broken} broken" if broken else "kept"
    return f"{state}, {wording.percent(used_share, 0)} used"


def _promises(kept: PromisesKept) -> dict[str, Any]:
    return {
        "power_promises_broken": kept.power_broken,
        "heat_promises_broken": kept.heat_broken,
        "power_used_share": kept.power_used_share,
        "heat_used_share": kept.heat_used_share,
        "deadlines": kept.deadlines,
        "deadlines_kept": kept.deadlines_kept,
        "late_gpu_h": kept.late_gpu_h,
    }
