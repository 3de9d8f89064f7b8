"""Gangs that fail, rarely and often, in one spell and in many: cases for the failure budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from power.failure_budget import TrainingPlan, TrainingSpell
from power.goodput import Goodput, daly_interval_s, gang_failures_per_s

HOUR_S = 3600.0
LLAMA_PER_GPU_DAY = 419 / (54 * 16_384)
SHARES_DUE = (0.95, 0.98, 1.0, 1.01)


@dataclass(frozen=True)
class Case:
    """A gang with its plan; the tokens due are shares of what the plan makes in the mean."""

    name: str
    goodput: Goodput
    plan: TrainingPlan

    @property
    def end_s(self) -> float:
        return self.plan.spells[-1].end_s

    def due_tokens(self, share: float) -> float:
        return share * self.goodput.factor_share * float(self.plan.made_tokens[-1])


def gang(
    gpus: int,
    per_gpu_day: float = LLAMA_PER_GPU_DAY,
    save_s: float = 60.0,
    restart_s: float = 600.0,
    interval_s: float | None = None,
) -> Goodput:
    """A gang that saves at Daly's interval unless told another."""
    failures_per_s = gang_failures_per_s(gpus, per_gpu_day)
    return Goodput(failures_per_s, interval_s or daly_interval_s(save_s, 1.0 / failures_per_s), save_s, restart_s)


def spells(count: int, on_h: float, off_h: float, rates: tuple[float, ...] = (1.0,)) -> TrainingPlan:
    """Spells with a reload of 600 s and a save of 120 s, a single one without; each has the `rates` in turn."""
    alone = count == 1
    made, at_s, tokens = [], [0.0], [0.0]
    for i in range(count):
        start_s = i * (on_h + off_h) * HOUR_S
        spell = TrainingSpell(start_s, start_s + on_h * HOUR_S, 0.0 if alone else 600.0, 0.0 if alone else 120.0)
        made.append(spell)
        edges = np.linspace(spell.start_s + spell.reload_s, spell.end_s - spell.save_s, len(rates) + 1)
        at_s.append(float(edges[0]))
        tokens.append(tokens[-1])
        for until_s, rate in zip(edges[1:], rates, strict=True):
            tokens.append(tokens[-1] + rate * (float(until_s) - at_s[-1]))
            at_s.append(float(until_s))
    return TrainingPlan(tuple(made), np.array(at_s), np.array(tokens))


CASES = (
    Case("8 GPUs, a week", gang(8), spells(1, 168, 0)),
    Case("64 GPUs, 5 spells", gang(64), spells(5, 20, 10)),
    Case("512 GPUs, 7 spells", gang(512), spells(7, 16, 8)),
    Case("1,024 GPUs, a week", gang(1024, save_s=120, restart_s=900), spells(1, 168, 0)),
    Case("2,048 GPUs, 7 spells, 3 rates", gang(2048, save_s=120, restart_s=900), spells(7, 16, 8, (1.0, 0.6, 0.8))),
    Case("4,096 GPUs, two long spells", gang(4096, save_s=90), spells(2, 70, 20)),
    Case("16,384 GPUs, a week", gang(16_384, restart_s=900), spells(1, 168, 0)),
    Case("16,384 GPUs, 7 spells", gang(16_384, save_s=120, restart_s=900), spells(7, 16, 8)),
    Case("16,384 GPUs, 7 spells, 3 rates", gang(16_384, save_s=120, restart_s=900), spells(7, 16, 8, (1.0, 0.6, 0.8))),
    Case("100,000 GPUs, a week", gang(100_000), spells(1, 168, 0)),
    Case("100,000 GPUs, 14 spells", gang(100_000), spells(14, 8, 4)),
    Case("256 old GPUs, slow to save and to start", gang(256, 5e-3, 300, 1800), spells(3, 30, 10, (1.0, 0.5))),
    Case("128 bad GPUs, a checkpoint every 2 h", gang(128, 2e-2, 600, 3600, 7200.0), spells(6, 12, 8)),
    Case("16 GPUs without checkpoints", Goodput(gang_failures_per_s(16, 1e-3), None, 0.0, 600.0), spells(4, 24, 8)),
)
