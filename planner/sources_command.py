"""The command `gridpace sources`."""

from __future__ import annotations

import click

from planner.command import OFFLINE
from planner.errors import ConfigError, DataUnavailable
from planner.terminal import note


@click.group("sources", invoke_without_command=True, short_help="List the providers of series, or test them.")
@click.pass_context
def sources_group(context: click.Context) -> None:
    """List the providers of series: what each gives and where, how far ahead, its licence, and if its key is set."""
    if context.invoked_subcommand is not None:
        return
    from planner.sources.catalogue import FACTS

    for facts in FACTS.values():
        gives = ", ".join(part for part in (*facts.gives, facts.also) if part)
        click.echo(f"{facts.name:<21}{gives}")
        for word, told in (
            ("key", facts.key_state),
            ("coverage", facts.coverage),
            ("horizon", facts.horizon),
            ("licence", facts.licence),
            ("stamps", facts.stamps),
            ("stands on", facts.upstream),
        ):
            click.echo(f"{'':<21}{word:<10}{told}")


@sources_group.command("test", short_help="Fetch one hour of each source that can serve a zone.")
@click.argument("zone")
@click.option("--at", metavar="LATITUDE,LONGITUDE", help="Place of the weather, degrees. [default: the zone's middle]")
@OFFLINE
def test_command(zone: str, at: str | None, offline: bool) -> None:
    """Fetch one hour of each source that can serve ZONE, and show what came or what stood in the way.

    ZONE is one of data/zones.toml, such as GB, DE-LU or CISO, or a zone as a provider names it.
    """
    from planner.source_probe import probe
    from planner.sources.cache import ResponseCache, default_folder
    from planner.sources.registry import utc_now

    found = probe(zone, place=place_of(at), offline=offline, cache=ResponseCache(default_folder()), clock=utc_now)
    click.echo(f"{'provider':<21}{'signal':<18}{'hour':<22}{'value':<20}{'basis':<11}{'kind':<10}{'fetched':<10}flags")
    for one in found:
        told = f"error: {one.error}"
        if not one.error:
            age = f"{one.age} ago" if one.age else "-"
            told = f"{one.hour:<22}{one.value:<20}{one.basis or '-':<11}{one.kind:<10}{age:<10}{one.flags or '-'}"
        click.echo(f"{one.provider:<21}{one.signal:<18}{told}")
    if all(one.error for one in found):
        note(f"no source has an hour of {zone}")
        raise click.exceptions.Exit(DataUnavailable.exit_code)


def place_of(text: str | None) -> tuple[float, float] | None:
    """Return latitude and longitude that --at names, degrees, or None where it is left out.

    Raises:
        ConfigError: It is no place.
    """
    if text is None:
        return None
    try:
        latitude, longitude = (float(part) for part in text.split(","))
    except ValueError:
        latitude = longitude = float("nan")
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ConfigError(f"--at {text!r} is no place", fix="write latitude and longitude in degrees, such as 50.1,8.7")
    return latitude, longitude
