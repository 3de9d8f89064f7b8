"""The command `gridpace doctor`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("doctor")
def doctor_command() -> None:
    """Look at what gridpace needs of this machine."""
    from planner.doctor import findings

    found = findings(Path("out"))
    for finding in found:
        sign = "ok" if finding.good else "FAULT" if finding.needed else "note"
        click.echo(f"{sign:<6}{finding.name:<15}{finding.told}")
    if not all(finding.good for finding in found if finding.needed):
        raise click.exceptions.Exit(1)
