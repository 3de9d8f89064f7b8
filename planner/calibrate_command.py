"""The command `gridpace calibrate`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE
from planner.terminal import note, stage


@click.command("calibrate", short_help="Fit a block's cooling plant to its telemetry.")
@click.argument("telemetry", type=FILE)
@click.option("--site", type=FILE, required=True, help="Site file with the block's cooling plant as it is now.")
@click.option("--block", help="Name of the block; needed where the site has several.")
@click.option("--columns", type=FILE, help="TOML file that declares the table's columns and units.")
@click.option("--out", type=FILE, default=Path("fitted.toml"), show_default=True, help="File; - prints it.")
def calibrate_command(telemetry: Path, site: Path, block: str | None, columns: Path | None, out: Path) -> None:
    """Fit a block's cooling plant to its telemetry.

    TELEMETRY is a CSV or Parquet table with a row per instant. What does not balance is refused. Writes the fitted
    plant as a [block.cooling] table for the site file, and prints how well it is known and how well it does.
    """
    from planner.calibration import block_of, calibrate_block
    from planner.config import load_site
    from planner.export.calibration import calibration_lines, cooling_toml
    from planner.export.files import write_files
    from planner.sources.plant_telemetry import read_plant_telemetry

    with stage("reading the site and its telemetry"):
        chosen = block_of(load_site(site), block)
        readings, unused = read_plant_telemetry(telemetry, columns)
    if unused:
        note(f"note: columns not used: {', '.join(unused)}")
    with stage("calibrating"):
        found = calibrate_block(chosen, readings)
    content = cooling_toml(chosen.power.name, found.plant)
    to_screen = str(out) == "-"
    for line in calibration_lines(found, readings):
        click.echo(line, err=to_screen)
    if to_screen:
        click.echo(content.decode(), nl=False)
        return
    write_files({out: content})
    click.echo(f"\n{out}: put this table in the place of the block's [block.cooling]")
