"""The independent judge: replays any calendar on the physics and on actual signals, and checks every promise.

It shares no code with the planner or the baselines; only the physics, the week and the contract are common to all.
"""

from planner.evaluate.accounts import carbon_per_it_kwh
from planner.evaluate.judge import evaluate
from planner.evaluate.record import BlockResult, CostTerms, Evaluation, RunResult, StageResult, Violation

__all__ = [
    "BlockResult",
    "CostTerms",
    "Evaluation",
    "RunResult",
    "StageResult",
    "Violation",
    "carbon_per_it_kwh",
    "evaluate",
]
