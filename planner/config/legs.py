"""Runs whose stages have GPUs, pools, speeds or points of their own: each such piece is planned as a run of its own.

Its gang is launched anew with the stage's configuration, so that a leg begins with a reload and ends with a checkpoint,
and each leg waits for the one before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from planner.config import model
from planner.config.draft import Draft, Placed
from planner.config.faults import did_you_mean
from planner.config.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

    from planner.config.lines import KeyPath

OWN = ("gpus", "pools", "tokens_per_gpu_s", "power_limits_w", "sweep", "sweep_workload")
"""Keys of a stage that take the place of the run's."""
MOVES = ("sizes", "migration")
"""Keys of runs that may move, which legs do not know."""


@dataclass(frozen=True)
class Leg(Placed[model.RunTable]):
    """A leg of a run, with its place: faults are told where the file has the key.

    Args:
        run: Name of the run.
        first: Place of its first stage among the run's.
        own: Keys that its stages give themselves.
    """

    run: str = ""
    first: int = 0
    own: frozenset[str] = frozenset()

    def fault(self, key: KeyPath, what: str, fix: str) -> None:
        """Note a fault of a key of this leg, unless a fault of that key is told already."""
        if key and key[0] in self.own:
            key = ("stages", self.first, *key)
        elif len(key) > 1 and key[0] == "stages" and isinstance(key[1], int):
            key = ("stages", self.first + key[1], *key[2:])
        super().fault(key, what, fix)


def with_legs(draft: Draft) -> None:
    """Put the legs of runs whose stages differ in place of these runs."""
    legs = {placed.table.name: _legs(placed) for placed in draft.runs}
    stages = {name: {s.name: leg.table.name for leg in found for s in leg.table.stages} for name, found in legs.items()}
    split = {name: leg for name, leg in stages.items() if len(legs[name]) > 1}
    draft.runs = [_waiting_for_legs(leg, split) for placed in draft.runs for leg in _legs(placed)]


def legs_of(draft: Draft) -> dict[str, tuple[str, ...]]:
    """Return the names of the legs of every run that has more than one."""
    legs = [placed for placed in draft.runs if isinstance(placed, Leg)]
    names = {run: tuple(leg.table.name for leg in legs if leg.run == run) for run in dict.fromkeys(x.run for x in legs)}
    return {run: of_run for run, of_run in names.items() if len(of_run) > 1}


def check_legs(draft: Draft, tz: ZoneInfo) -> None:
    """Note a leg that is due before the one before it."""
    moments = Moments(tz)
    for before, leg in pairwise(draft.runs):
        if isinstance(before, Leg) and isinstance(leg, Leg) and before.run == leg.run:
            first, last = leg.table.stages[0], before.table.stages[-1]
            ends = moments.utc(before, ("stages", len(before.table.stages) - 1, "deadline"), last.deadline)
            due = moments.utc(leg, ("stages", 0, "deadline"), first.deadline)
            if due is not None and ends is not None and due <= ends:
                leg.fault(
                    ("stages", 0, "deadline"),
                    f"{first.deadline} is not after {last.deadline}, the deadline of stage {last.name!r} before it",
                    "sort the stages by rising deadline",
                )


def _legs(placed: Placed[model.RunTable]) -> list[Placed[model.RunTable]]:
    run = placed.table
    groups = [list(group) for _, group in groupby(enumerate(run.stages), key=lambda one: _own(one[1]))]
    if len(groups) == 1 and not _own(run.stages[0]):
        return [placed]
    names = [stage.name for stage in run.stages]
    for i, name in enumerate(names):
        if name in names[:i]:
            placed.fault(("stages", i, "name"), f"{name!r} is the name of an earlier stage", "give each its own name")
    if run.recipe is not None:
        placed.fault(
            ("recipe",),
            "is one configuration, but the run's stages have keys of their own",
            "leave it out, or make each stage a run with its recipe that waits for the one before (after)",
        )
    for key in MOVES:
        if getattr(run, key):
            placed.fault(
                (key,), "is of one gang, but the run's stages have keys of their own", "leave it out, or these keys"
            )
    done, on = run.tokens_done, run.running_in
    legs: list[Placed[model.RunTable]] = []
    for group in groups:
        stages = [stage for _, stage in group]
        total, last = sum(stage.tokens for stage in stages), group is groups[-1]
        made = done if last else min(done, total)
        here = on if made < total else None
        changed: dict[str, Any] = {
            "stages": [stage.model_copy(update=dict.fromkeys(OWN)) for stage in stages],
            "tokens_done": made,
            "running_in": here,
            "running_gpus": None if here is None else run.running_gpus,
            **dict(_own(stages[0])),
        }
        if len(groups) > 1:
            changed["name"] = f"{run.name}.{stages[0].name}"
        if legs:
            before = legs[-1].table
            changed["after"] = [model.AfterTable(run=before.name, stage=before.stages[-1].name)]
            changed["earliest_start"] = None
        legs.append(
            Leg(
                placed.path,
                run.model_copy(update=changed),
                placed.faults,
                placed.wrong,
                run.name,
                group[0][0],
                frozenset(key for key, _ in _own(stages[0])),
            )
        )
        done -= made
        on = None if here is not None else on
    return legs


def _own(stage: model.StageTable) -> tuple[tuple[str, Any], ...]:
    return tuple((key, getattr(stage, key)) for key in OWN if getattr(stage, key) is not None)


def _waiting_for_legs(placed: Placed[model.RunTable], split: Mapping[str, Mapping[str, str]]) -> Placed[model.RunTable]:
    """Return a run whose waits for runs with legs name the leg with the stage."""
    waits: list[model.AfterTable] = []
    for i, after in enumerate(placed.table.after):
        of_stage = split.get(after.run)
        if of_stage is None:
            waits.append(after)
            continue
        stage = after.stage or list(of_stage)[-1]
        if stage in of_stage:
            waits.append(after.model_copy(update={"run": of_stage[stage], "stage": stage}))
        else:
            placed.fault(
                ("after", i, "stage"), f"run {after.run!r} has no stage {stage!r}", did_you_mean(stage, of_stage)
            )
    return replace(placed, table=placed.table.model_copy(update={"after": waits}))
