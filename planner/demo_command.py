"""The command `gridpace demo`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE
from planner.terminal import clean_stdout, note, stage


@click.command("demo", short_help="Plan a made-up week and follow it with simulated training.")
@click.option("--out", type=FILE, default=Path("out/demo"), show_default=True, help="Folder to write into.")
def demo_command(out: Path) -> None:
    """Plan a made-up week, follow it with simulated training, and lay one beside the other."""
    from rich.console import Console

    from planner.demo import FOLLOWED_H, demo, demo_table

    with clean_stdout():
        done = demo(out, stage)
    for label in done.outcome.labels:
        note(f"note: {label}")
    click.echo(f"The first {FOLLOWED_H:.0f} h of the week, as planned and as the simulated training reports them:")
    Console().print(demo_table(done))
    for name in ("report", "calendar", "ledger"):
        click.echo(f"{name:<9}{done.files[name]}")
