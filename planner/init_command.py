"""`gridpace init`: a site file to start from."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE
from planner.errors import ConfigError


@click.command("init", short_help="Write a small site file to start from.")
@click.argument("folder", type=FILE, default=Path())
@click.option(
    "--zone",
    metavar="ZONE",
    help="Grid zone whose sources it names, such as GB or DE-LU; its dates follow the coming week. [default: the demo]",
)
def init_command(folder: Path, zone: str | None) -> None:
    """Write a small site file to start from, with its schema beside it."""
    from datetime import UTC, datetime

    from planner.config import starter_files
    from planner.export.files import write_files

    files = {folder / name: text.encode() for name, text in starter_files(zone, datetime.now(UTC)).items()}
    for file in files:
        if file.exists():
            raise ConfigError(f"{file} is there already", why="init never overwrites", fix="name another folder")
    write_files(files)
    for file in files:
        click.echo(file)
