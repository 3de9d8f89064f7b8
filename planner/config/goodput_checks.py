"""What a site file says of failures and checkpoints must lead to a gang that makes headway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.config import model
from planner.config.build_goodput import (
    checkpoint_bytes,
    deadline_confidence,
    failures_per_gpu_day,
    goodput,
    saves_s,
)

if TYPE_CHECKING:
    from planner.config.draft import Draft, Placed

LEAST_USEFUL_SHARE = 0.02
_ALONE_USELESS = ("restart_s", "checkpoint_every_s", "checkpoint_bytes", "parameters")


def check_goodput(draft: Draft) -> None:
    """Note every fault of what the tables say of failures and checkpoints."""
    placed: Placed[model.GoodputTable] | None = draft.single.get("goodput")
    site = placed.table if placed is not None else model.GoodputTable()
    before = [len(run.faults.found) for run in draft.runs]
    for run in draft.runs:
        if run.sound("gpus", "goodput", "stages"):
            _check_run(run, site)
    if placed is None or placed.wrong or [len(run.faults.found) for run in draft.runs] != before:
        return
    _check_site(draft, placed)
    sound = [run for run in draft.runs if run.sound("gpus", "goodput", "checkpoint_s")]
    try:
        took_s = saves_s([run.table for run in sound], site)
    except ValueError as error:
        placed.fault(("storage_gb_per_s",), str(error), "save less often, or raise the bandwidth")
        return
    for run in sound:
        _check_headway(run, site, took_s[run.table.name])


def _check_run(run: Placed[model.RunTable], site: model.GoodputTable) -> None:
    table, own = run.table, run.table.goodput
    if own is not None and own.checkpoint_bytes is not None and own.parameters is not None:
        run.fault(("goodput", "parameters"), "stands beside checkpoint_bytes, which it would give", "leave one out")
    if checkpoint_bytes(table, site) is not None and site.storage_gb_per_s is None:
        run.fault(
            ("goodput",),
            "gives the size of a checkpoint, but nothing says how fast the store writes it",
            "add storage_gb_per_s to [goodput]",
        )
    if failures_per_gpu_day(table, site) is not None:
        return
    given = [key for key in _ALONE_USELESS if own is not None and getattr(own, key) is not None]
    if deadline_confidence(table, site) is not None or any(s.deadline_confidence is not None for s in table.stages):
        given.append("deadline_confidence")
    if given:
        run.fault(
            ("goodput",),
            f"has {given[0]}, but failures_per_gpu_day is given neither here nor in [goodput]",
            "add failures_per_gpu_day, such as 5e-4",
        )


def _check_site(draft: Draft, placed: Placed[model.GoodputTable]) -> None:
    site, runs = placed.table, [run.table for run in draft.runs]
    if site.storage_gb_per_s is not None and not any(checkpoint_bytes(run, site) is not None for run in runs):
        placed.fault(
            ("storage_gb_per_s",),
            "no run says how large its checkpoints are",
            "add goodput = { parameters = ... } to the runs, or leave it out",
        )
    without = all(failures_per_gpu_day(run, site) is None for run in runs)
    for key in ("restart_s", "checkpoint_every_s"):
        if without and key in site.model_fields_set:
            placed.fault((key,), "stands without failures_per_gpu_day", "add it, or leave this out")


def _check_headway(run: Placed[model.RunTable], site: model.GoodputTable, save_s: float) -> None:
    made = goodput(run.table, site, save_s)
    if made is None or made.factor_share >= LEAST_USEFUL_SHARE:
        return
    run.fault(
        ("goodput",),
        f"leaves {100 * made.factor_share:.1f} % of the work useful: a gang of {run.table.gpus} GPUs fails every "
        f"{1.0 / made.failures_per_s / 60.0:.1f} min, saves in {save_s:g} s and restarts in {made.restart_s:g} s",
        "check failures_per_gpu_day and the times to save and to restart",
    )
