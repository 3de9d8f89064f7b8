"""The commands `gridpace serve` and `gridpace token`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE, OFFLINE
from planner.errors import ConfigError
from planner.service.token_roles import ROLES, Role
from planner.terminal import note


@click.command("serve", short_help="Run it every week: drafts, publishing, alarms, calendars over HTTP.")
@click.argument("site", type=FILE)
@click.option(
    "--database",
    envvar="GRIDPACE_DATABASE",
    metavar="FILE|URL",
    default="gridpace.sqlite",
    show_default=True,
    help="SQLite file, or postgresql://user@host/name; GRIDPACE_DATABASE keeps a password out of sight.",
)
@click.option("--listen", metavar="HOST:PORT", default="127.0.0.1:8470", show_default=True)
@click.option("--tokens", type=FILE, help="File of tokens made by `gridpace token`; without it only this machine.")
@click.option("--hmac-key", type=FILE, help="File of the secret by which calendars are signed for agents.")
@click.option("--tls-cert", type=FILE, help="Certificate, PEM: answer HTTPS itself.")
@click.option("--tls-key", type=FILE, help="Its private key, PEM.")
@click.option("--proxy", "proxies", metavar="ADDRESS", multiple=True, help="Address of a proxy in front; repeatable.")
@click.option(
    "--requests-per-s", type=click.FloatRange(0.1, 1e6), default=20.0, show_default=True, help="Of one caller, 1/s."
)
@click.option("--no-jobs", is_flag=True, help="Answer requests alone; another instance works the jobs off.")
@OFFLINE
def serve_command(
    site: Path,
    database: str,
    listen: str,
    tokens: Path | None,
    hmac_key: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    proxies: tuple[str, ...],
    requests_per_s: float,
    no_jobs: bool,
    offline: bool,
) -> None:
    """Run the service for a site until it is told to end.

    Several instances on one database share the work: all of them answer, one of them works the jobs off.
    """
    host, port = _address(listen)
    if (tls_cert is None) != (tls_key is None):
        raise ConfigError("--tls-cert and --tls-key go together", fix="name both files, or neither")
    try:
        from planner.service.serve import Settings, log_to_stderr, serve
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"gridpace serve needs the package {error.name}, which is not installed",
            fix="pip install 'gridpace[service]'",
        ) from error
    log_to_stderr()
    settings = Settings(
        site_file=site,
        database=database if "://" in database else Path(database),
        host=host,
        port=port,
        tokens=tokens,
        hmac_key=hmac_key,
        tls=None if tls_cert is None or tls_key is None else (tls_cert, tls_key),
        proxies=proxies,
        requests_per_s=requests_per_s,
        offline=offline,
        works=not no_jobs,
    )
    serve(settings, lambda address: note(f"gridpace serves at {address}"))


@click.command("token", short_help="Make a token for a caller of the service.")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@click.option("--file", "path", type=FILE, required=True, help="File of tokens; made if absent.")
def token_command(name: str, role: Role, path: Path) -> None:
    """Make a token, enter its digest in the file, and print it once: it is kept nowhere."""
    from planner.service.tokens import add_token

    click.echo(add_token(path, name, role))


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(f"--listen {listen[:80]!r} is no address", fix="write it as 127.0.0.1:8470 or [::1]:8470")
    return host.strip("[]"), int(port)
