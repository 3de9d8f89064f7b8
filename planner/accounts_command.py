"""The command `gridpace accounts`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.json_output import json_errors, print_json
from planner.terminal import clean_stdout, note


@click.command("accounts", short_help="Carbon accounts and statements of a published week.")
@click.argument("calendar", type=click.Path(path_type=Path))
@click.option(
    "--csv", "folder", metavar="DIR", type=click.Path(path_type=Path), help="Write hourly.csv, runs.csv, contracts.csv."
)
@click.option("--json", "as_json", is_flag=True, help="Print accounts and statements as one JSON object, nothing else.")
def accounts_command(calendar: Path, folder: Path | None, as_json: bool) -> None:
    """Show the carbon accounts and statements of a published week, as they stand in its ledger.

    CALENDAR is an output folder of `gridpace plan`, or a calendar's own folder.
    """
    with json_errors(as_json), clean_stdout():
        from planner.accounts.document import accounts_document
        from planner.entered_accounts import entered_accounts
        from planner.export.accounts_csv import contracts_csv, hourly_csv, runs_csv
        from planner.export.accounts_view import closing_lines
        from planner.export.files import write_files

        accounts, statements = entered_accounts(calendar)
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
        print_json(
            accounts_document(accounts, statements) | {"files": {name: str(path) for name, path in files.items()}}
        )
    else:
        for line in closing_lines(accounts, statements, tuple(files.values())):
            click.echo(line)
