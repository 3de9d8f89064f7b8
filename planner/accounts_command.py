"""The command `gridpace accounts`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE
from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout, note


@click.command("accounts", short_help="Carbon accounts and statements of a published week.")
@click.argument("calendar", type=FILE)
@click.option("--csv", "folder", metavar="DIR", type=FILE, help="Write hourly.csv, runs.csv, contracts.csv.")
@click.option("--json", "as_json", is_flag=True, help="Print accounts and statements as one JSON object, nothing else.")
@click.option("--actual", is_flag=True, help="The account on the series as they were, not as the plan knew them.")
@click.option("--site", type=FILE, help="With --actual: make that account from this site file, and enter it once.")
@click.option("--offline", is_flag=True, help="With --site: keep off the network; serve series from the cache alone.")
def accounts_command(
    calendar: Path, folder: Path | None, as_json: bool, actual: bool, site: Path | None, offline: bool
) -> None:
    """Show the carbon accounts and statements of a published week, as they stand in its ledger.

    CALENDAR is an output folder of `gridpace plan`, or a calendar's own folder.
    """
    if (site is not None and not actual) or (offline and site is None):
        raise click.UsageError("--site goes with --actual, and --offline with --site")
    with json_errors(as_json), clean_stdout():
        from planner.accounts.document import accounts_document
        from planner.entered_accounts import enter_actual, entered_accounts
        from planner.export.accounts_csv import contracts_csv, hourly_csv, runs_csv
        from planner.export.accounts_view import closing_lines
        from planner.export.files import write_files

        if site is not None:
            enter_actual(calendar, site, offline=offline)
        accounts, statements = entered_accounts(calendar, actual=actual)
        for label in accounts.labels:
            note(f"note: {label}")
        files: dict[str, Path] = {}
        if folder is not None:
            files = {name: folder / f"{name}.csv" for name in ("hourly", "runs", "contracts")}
            write_files(
                {
                    files["hourly"]: hourly_csv(accounts),
                    files["runs"]: runs_csv(accounts),
                    files["contracts"]: contracts_csv(accounts),
                }
            )
    if as_json:
        written = {name: str(path) for name, path in files.items()}
        print_json(accounts_document(accounts, statements) | {"files": written})
    else:
        for line in closing_lines(accounts, statements, tuple(files.values())):
            click.echo(line)
