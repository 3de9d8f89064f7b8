"""What an answer to a grid event says to programs and to people."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from planner.export import wording
from planner.timegrid import iso

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from planner.respond.outcome import Delivered, GivesWay, Response

_RESTED = "goes on"
_NOTHING_KW = 1e-3


def response_document(response: Response, files: Mapping[str, str], *, in_force: bool) -> dict[str, Any]:
    """Return an answer as one JSON object: power in kW, money in the site's currency, shares from 0 to 1.

    Args:
        response: The answer.
        files: What was written: name -> path.
        in_force: Whether its calendar is the one in force now.
    """
    question = response.answer.question
    start, span = question.week.grid.start, question.span
    instants = {
        "begins": span.begin_s,
        "set": span.ready_s,
        "met": span.met_s,
        "until": span.until_s,
        "back": span.end_s,
    }
    return {
        "site": question.week.site,
        "decided_at": iso(question.week.issued_at),
        "calendar_id": response.after.calendar_id if response.changes else response.before.calendar_id,
        "answers_calendar": response.before.calendar_id,
        "changes": response.changes,
        "in_force": in_force,
        "clean": response.found.clean,
        "status": response.answer.status,
        "instants": {name: iso(start + timedelta(seconds=seconds)) for name, seconds in instants.items()},
        "kept_share": response.kept_share,
        "tokens_lost": sum(run.tokens_lost for run in response.runs),
        "tokens_made_up": sum(run.tokens_made_up for run in response.runs),
        "currency": question.week.prices.currency,
        "cost": response.cost,
        "lateness": response.lateness,
        "baseline": response.baseline,
        "delivered": [_delivered(part) for part in response.delivered],
        "runs": [_run(run) for run in response.runs],
        "batteries": [{"block": one.block, "relieved_kw": one.relieved_kw} for one in response.stores],
        "late_stages": [short.sentence for short in response.after.shortfalls],
        "violations": [violation.sentence for violation in response.found.violations],
        "notes": list(response.notes),
        "files": dict(files),
    }


def _delivered(part: Delivered) -> dict[str, Any]:
    return {
        "start": iso(part.start),
        "end": iso(part.end),
        "block": part.block,
        "limit_kw": part.limit_kw,
        "baseline_kw": part.baseline_kw,
        "import_kw": part.import_kw,
        "highest_kw": part.highest_kw,
        "delivered_kw": part.delivered_kw,
    }


def _against(kw: float) -> str:
    """Return how far import lies from the baseline; less than a watt is none."""
    if abs(kw) < _NOTHING_KW:
        return "as much as"
    return f"{wording.power(abs(kw))} {'less' if kw > 0.0 else 'more'} than"


def _run(run: GivesWay) -> dict[str, Any]:
    return {
        "run": run.run,
        "does": run.does,
        "tier": run.tier,
        "max_loss_share": run.max_loss_share,
        "kept_share": run.kept_share,
        "lowest_limit_w": run.lowest_limit_w,
        "hold_s": run.hold_s,
        "tokens_lost": run.tokens_lost,
        "tokens_made_up": run.tokens_made_up,
        "relieved_kw": run.relieved_kw,
    }


def response_lines(response: Response, files: Mapping[str, str], *, in_force: bool) -> Iterator[str]:
    """Yield an answer in plain words; arguments as for `response_document`."""
    week = response.answer.question.week
    tz = week.tz

    def clock(at: datetime) -> str:
        return at.astimezone(tz).strftime("%a %H:%M")

    if not response.changes:
        yield f"nothing to do: calendar {response.before.calendar_id} keeps what is asked as it is"
    for part in response.delivered:
        who = "site" if part.block is None else f"block {part.block}"
        yield (
            f"{clock(part.start)} to {clock(part.end)}  {who}: {wording.power(part.import_kw)} of at most "
            f"{wording.power(part.limit_kw)}; {_against(part.delivered_kw)} the baseline of "
            f"{wording.power(part.baseline_kw)}"
        )
    busy = [run for run in response.runs if run.does != _RESTED]
    if busy:
        yield from _table(busy)
        rest = len(response.runs) - len(busy)
        yield f"{wording.count(rest)} of {wording.count(len(response.runs))} runs go on as planned"
    for store in response.stores:
        if abs(store.relieved_kw) > _NOTHING_KW:
            way = "gives" if store.relieved_kw > 0.0 else "takes"
            yield f"battery   {store.block} {way} {wording.power(abs(store.relieved_kw))} more than planned"
    lost = sum(run.tokens_lost for run in response.runs)
    made = sum(run.tokens_made_up for run in response.runs)
    yield (
        f"kept      {100 * response.kept_share:.1f} % of throughput over the event; {wording.tokens(lost)} fewer in "
        f"it, {wording.tokens(made)} more afterwards"
    )
    currency = week.prices.currency
    yield (
        f"cost      {wording.money(response.cost, currency)} paid, and {wording.money(response.lateness, currency)} of "
        "lateness at the plan's price"
    )
    late = len(response.after.shortfalls) - len(response.before.shortfalls)
    yield f"deadlines {late} more missed than before" if late > 0 else "deadlines none missed that was kept before"
    yield f"baseline  {response.baseline}"
    if response.changes:
        state = "in force" if in_force else "a draft beside the one in force; --publish puts it in force"
        yield f"calendar  {response.after.calendar_id}: {state}"
    for path in files.values():
        yield f"file      {path}"


def _table(runs: list[GivesWay]) -> Iterator[str]:
    width = max(len("run"), *(len(run.run) for run in runs))
    yield f"{'run':<{width}}  tier  {'does':<12}  kept     limit   hold  power less"
    for run in sorted(runs, key=lambda r: -r.relieved_kw):
        limit = "-" if run.lowest_limit_w is None else f"{run.lowest_limit_w:.0f} W"
        hold = f"{run.hold_s / 60:.0f} min" if run.hold_s else "-"
        yield (
            f"{run.run:<{width}}  {run.tier:>4}  {run.does:<12}  {100 * run.kept_share:>5.1f} %  {limit:>6}  "
            f"{hold:>5}  {wording.power(run.relieved_kw)}"
        )
