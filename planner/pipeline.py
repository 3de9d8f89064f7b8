"""From a gathered week to what is published: plan, judge, compare, write."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.accounts import carbon_accounts
from planner.baseline import counterfactuals
from planner.errors import Infeasible
from planner.evaluate import carbon_per_it_kwh, evaluate
from planner.export.csv_files import slots_csv, windows_csv
from planner.export.files import staged_files
from planner.export.ics import calendar_ics
from planner.export.report import report_html
from planner.folders import LEDGER, REPORT
from planner.kept_series import series_file, series_json
from planner.ledger import Intake, Ledger
from planner.optimize import PlanOptions
from planner.optimize.mends import with_mends
from planner.outcome import Outcome
from planner.publish import publish, to_calendar
from planner.stochastic.plan import plan
from planner.summary import summary
from planner.windows import by_windows, plan_by_windows
from trainer_hooks.publish import CALENDARS

if TYPE_CHECKING:
    from planner.accounts import CarbonAccounts
    from planner.schedule import Plan
    from planner.week import Week
    from trainer_hooks.contract import Calendar, RunCalendar

Stage = Callable[[str], AbstractContextManager[None]]


def plan_week(week: Week, options: PlanOptions, stage: Stage) -> tuple[Outcome, Plan]:
    """Plan a week and have it judged.

    Args:
        week: All inputs.
        options: Gap target and time limit.
        stage: Told what is being done.

    Returns:
        The week with its calendar and the judge's figures, and what the program says about the plan's quality.

    Raises:
        Infeasible: Physics leaves no plan.
    """
    if by_windows(week, options):
        found = plan_by_windows(week, options, stage)
    else:
        with stage("planning"):
            found = plan(week, options)
    with stage("judging, and working out the week without a plan"):
        calendar, runs = to_calendar(
            week,
            found.schedule,
            status=found.status,
            certified_gap=found.mip_gap,
            shortfalls=found.shortfalls,
            options={"gap_target": options.gap_target},
            notes=tuple(fit.sentence for fit in found.cooling if fit.sentence),
        )
        return judged(week, calendar, runs), found


def plan_or_mends(week: Week, options: PlanOptions, stage: Stage) -> tuple[Outcome, Plan]:
    """Plan a week as `plan_week` does; where physics leaves no plan, say in the error what would give one."""
    try:
        return plan_week(week, options, stage)
    except Infeasible as error:
        with stage("looking for what would mend that"):
            mended = with_mends(error, week, options)
        raise mended from error


def judged(week: Week, calendar: Calendar, runs: Sequence[RunCalendar]) -> Outcome:
    """Have a calendar judged on the week's own signals, and work out the same work without a plan.

    Args:
        week: The inputs the calendar was made from.
        calendar: The header.
        runs: The windows of every run.
    """
    found = evaluate(calendar, runs, week)
    carbon = carbon_accounts(week, calendar, runs, found)
    return Outcome(week, calendar, runs, found, counterfactuals(week, found), carbon=carbon)


def write_outcome(folder: Path, outcome: Outcome, found: Plan) -> dict[str, Any]:
    """Publish a planned week: calendar, report, calendar file, tables, summary, series, ledger; whole or not at all.

    Args:
        folder: Folder of the week; made if absent.
        outcome: The week, its calendar and the judge's figures.
        found: What the program says about the plan's quality.

    Returns:
        The summary, with what was written.

    Raises:
        ExportError: The disk refused; nothing half-written remains and the calendar in force is unchanged.
    """
    calendar = outcome.calendar
    paths = {
        "calendar": folder / CALENDARS / calendar.calendar_id,
        **_shown_paths(folder),
        "summary": folder / "plan.json",
        "ledger": folder / LEDGER,
        "series": series_file(folder, calendar.calendar_id),
    }
    told = summary(outcome, found, {name: str(path) for name, path in paths.items()})
    contents = {
        **shown(folder, outcome),
        paths["series"]: series_json(outcome.week),
        paths["summary"]: _json_bytes(told),
    }
    with staged_files(contents), Ledger(paths["ledger"]) as ledger:
        _record(ledger, outcome, outcome.carbon)
        # The pointer to the calendar in force is swapped when nothing but renames is left to fail; a calendar that
        # breaks a promise is there to be looked at, and no hook follows it.
        publish(folder / CALENDARS, calendar, outcome.runs, in_force=outcome.evaluation.clean)
    return told


def shown(folder: Path, outcome: Outcome) -> dict[Path, bytes]:
    """Return the files of a week's folder that show people the calendar in force: report, calendar file and tables.

    Args:
        folder: Folder of the week.
        outcome: The week, its calendar and the judge's figures.
    """
    paths = _shown_paths(folder)
    return {
        paths["report"]: report_html(outcome),
        paths["ics"]: calendar_ics(outcome.calendar, outcome.runs),
        paths["windows_csv"]: windows_csv(outcome.calendar, outcome.runs),
        paths["slots_csv"]: slots_csv(outcome.calendar),
    }


def _shown_paths(folder: Path) -> dict[str, Path]:
    return {
        "report": folder / REPORT,
        "ics": folder / "calendar.ics",
        "windows_csv": folder / "plan.csv",
        "slots_csv": folder / "blocks.csv",
    }


def _json_bytes(value: dict[str, Any]) -> bytes:
    """Return JSON in UTF-8; bytes of a path that are no text become escapes, as JSON has them."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode(errors="backslashreplace") + b"\n"


def with_entered_carbon(outcome: Outcome, ledger_file: Path) -> Outcome:
    """Return the outcome with its carbon accounts as the ledger has them, or without any where it has none.

    Args:
        outcome: The week, its calendar and the judge's figures.
        ledger_file: The ledger.

    Raises:
        ConfigError: Ledger or calendar is not what it was when the accounts were entered.
    """
    if not ledger_file.is_file():
        return replace(outcome, carbon=None)
    with Ledger(ledger_file) as ledger:
        return replace(outcome, carbon=ledger.carbon(outcome.calendar, outcome.runs))


def with_telemetry(outcome: Outcome, ledger_file: Path, telemetry: Path) -> tuple[Outcome, Intake]:
    """Take in telemetry, and lay it beside the plan up to the last instant that it reports.

    Args:
        outcome: The week, its calendar and the judge's figures.
        ledger_file: The ledger, made if absent.
        telemetry: Telemetry file, or folder of files.

    Returns:
        The outcome with its accounts, and what the ledger took in.

    Raises:
        ConfigError: The telemetry cannot be read.
        ExportError: The ledger cannot be written.
    """
    calendar = outcome.calendar
    with Ledger(ledger_file) as ledger:
        _record(ledger, outcome)
        intake = ledger.ingest(telemetry)
        until = ledger.reported_until(calendar.calendar_id)
        if until is None:
            return outcome, intake
        return replace(outcome, accounts=ledger.accounts(calendar.calendar_id, until), accounted_until=until), intake


def _record(ledger: Ledger, outcome: Outcome, carbon: CarbonAccounts | None = None) -> None:
    week = outcome.week
    kg_per_it_kwh = carbon_per_it_kwh(week, week.signals, outcome.evaluation.blocks)
    ledger.record_plan(outcome.calendar, outcome.runs, kg_per_it_kwh.tolist(), carbon)
