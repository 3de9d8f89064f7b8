"""The command `gridpace forecast`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE, OFFLINE, instant
from planner.errors import ConfigError
from planner.json_output import json_errors
from planner.terminal import clean_stdout, note, stage

_MOST_H = 16 * 24  # as far as weather forecasts go


@click.command("forecast", short_help="Forecast a zone's grid, weather, and the yield of sun and wind.")
@click.argument("zone")
@click.option(
    "--sources", type=FILE, help="Site file, or TOML file with [sources.NAME] tables. [default: the zone's providers]"
)
@click.option("--hours", type=click.IntRange(24, _MOST_H), default=168, show_default=True, help="Hours ahead.")
@click.option("--origin", metavar="TIME", help="First hour that counts as not known, with offset. [default: this hour]")
@click.option("--at", metavar="LATITUDE,LONGITUDE", help="Place of weather, sun and wind, degrees.")
@click.option(
    "--basis",
    type=click.Choice(("direct", "lifecycle")),
    help="Of the average carbon intensity of the zone's providers. [default: direct]",
)
@click.option("--paths", type=click.IntRange(10, 1000), default=100, show_default=True, help="Joint scenario paths.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of the paths' draw.")
@click.option(
    "--history-days", type=click.IntRange(28, 1461), help="How far back sources are asked. [default: two years]"
)
@click.option("--out", type=FILE, help="Folder to write into. [default: out/forecast-<zone>]")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON object and nothing else.")
@OFFLINE
def forecast_command(
    zone: str,
    sources: Path | None,
    hours: int,
    origin: str | None,
    at: str | None,
    basis: str | None,
    paths: int,
    seed: int,
    history_days: int | None,
    out: Path | None,
    as_json: bool,
    offline: bool,
) -> None:
    """Forecast a zone's carbon intensity, price and weather, and what a kilowatt of sun and wind will yield.

    Average and marginal carbon intensity are two signals and never mixed. Writes forecast.json (with quantiles and
    joint paths), forecast.csv and forecast.html.
    """
    with json_errors(as_json), clean_stdout():
        from planner.export.files import write_files
        from planner.export.forecast import forecast_csv, forecast_html, forecast_json, forecast_table
        from planner.folders import folder_name
        from planner.sources.cache import ResponseCache, default_folder
        from planner.sources.registry import utc_now
        from planner.sources_command import place_of
        from planner.zone_feeds import HISTORY_DAYS, Opener, feeds_of_file, feeds_of_zone
        from planner.zone_forecast import zone_forecast
        from planner.zone_series import fetch_series

        start = instant("--origin", origin)
        if start is not None and (start.minute or start.second or start.microsecond):
            raise ConfigError(f"--origin {origin!r} is no whole hour", fix="forecasts begin with an hour of UTC")
        place, cache = place_of(at), ResponseCache(default_folder())
        opener, now = Opener(cache, offline, utc_now), utc_now()
        if sources is None:
            days = history_days or HISTORY_DAYS
            feeds = feeds_of_zone(zone, opener, place=place, basis=basis or "direct", history_days=days)
        else:
            if basis is not None:
                raise ConfigError(
                    "--basis is for the zone's own providers, and --sources names others",
                    fix=f"write basis in {sources}, or leave --basis out",
                )
            feeds = feeds_of_file(sources, zone, opener, place=place, history_days=history_days)
        with stage("reading the sources"):
            series, told = fetch_series(feeds, now, start, hours)
        with stage("forecasting"):
            found = zone_forecast(
                zone, series, feeds, now,
                origin=start, horizon_h=hours, n_paths=paths, seed=seed, cache=cache, told=told,
            )  # fmt: skip
        content = forecast_json(found)
        folder = out or Path("out") / f"forecast-{folder_name(zone)}"
        files = {
            folder / "forecast.json": content,
            folder / "forecast.csv": forecast_csv(found),
            folder / "forecast.html": forecast_html(found),
        }
        for label in found.labels:
            note(f"note: {label}")
        with stage("writing"):
            write_files(files)
    if as_json:
        click.echo(content.decode(), nl=False)
        return
    for line in forecast_table(found):
        click.echo(line)
    for file in files:
        note(str(file))
