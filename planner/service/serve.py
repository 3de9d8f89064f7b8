"""The service as one process: HTTP in the foreground, the schedule beside it."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from planner.errors import ConfigError
from planner.ledger import Ledger
from planner.service.connections import allow_connections
from planner.service.patience import PatientProtocol
from planner.service.schedule import Schedule
from planner.service.shelf import Shelf
from planner.service.state import Limits, ServiceState
from planner.service.tokens import TokenBook
from planner.service.web import create_app
from planner.service.worker import Worker, weekly_site
from planner.sources.cache import ResponseCache, default_folder
from planner.timegrid import iso_week, zone
from trainer_hooks.agent.secret import read_secret
from trainer_hooks.agent.signature import sign_hmac
from trainer_hooks.errors import HookError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from planner.config import Site
    from planner.service.live.changing import Changing
    from planner.service.waiting import Waiting

_KEY_BYTES = 32
_BACKLOG = 4096
_LAST_S = 3
_LAST_JOB_S = 8.0


@dataclass(frozen=True)
class Settings:
    """How a service is started.

    Args:
        site_file: The site file.
        database: SQLite file, or URL of PostgreSQL.
        host: Address to listen at.
        port: Port to listen at; 0 takes a free one.
        tokens: File of tokens, or None: then only this machine is answered.
        hmac_key: File of the secret that calendars are signed by, or None.
        tls: Files of certificate and key, or None: then a proxy ends TLS, or nobody does.
        proxies: Addresses of proxies whose word on who calls is taken.
        requests_per_s: Requests of one caller, 1/s, in the long run.
        offline: Whether jobs keep off the network.
        works: Whether this instance works jobs off; one that does not only answers.
    """

    site_file: Path
    database: Path | str
    host: str
    port: int
    tokens: Path | None
    hmac_key: Path | None
    tls: tuple[Path, Path] | None
    proxies: tuple[str, ...]
    requests_per_s: float
    offline: bool
    works: bool


def serve(settings: Settings, listening: Callable[[str], None]) -> None:
    """Run the service until it is told to end.

    Args:
        settings: How it is started.
        listening: Told the address once requests are answered.

    Raises:
        ConfigError: A file is wrong, the week that it names is over, the address is taken, or strangers could reach it
            without tokens.
    """
    site = weekly_site(settings.site_file)
    if settings.works:
        _check_week(site, settings.site_file)
    if settings.tokens is None and not _is_loopback(settings.host):
        raise ConfigError(
            f"{settings.host} can be reached from other machines, and there are no tokens",
            why="without tokens whoever reaches the service may change what the site does",
            fix="make tokens by `gridpace token`, and name their file by --tokens; or listen at 127.0.0.1",
        )
    allow_connections()
    tokens = None if settings.tokens is None else TokenBook(settings.tokens)
    sign = _signer(settings.hmac_key)
    instance = f"{socket.gethostname()}-{secrets.token_hex(4)}"
    with Ledger(settings.database) as ledger, _listen(settings) as sock:
        shelf = Shelf(ledger, site.name, _now, sign)
        state = ServiceState(
            site=site.name,
            ledger=ledger,
            shelf=shelf,
            tokens=tokens,
            clock=_now,
            limits=Limits(requests_per_s=settings.requests_per_s, request_burst=10.0 * settings.requests_per_s),
            instance=instance,
        )
        worker = Worker(
            site_file=settings.site_file,
            site=site.name,
            ledger=ledger,
            cache=ResponseCache(default_folder()),
            clock=_now,
            instance=instance,
            offline=settings.offline,
            decided=shelf.forget,
        )
        schedule = Schedule(worker, state.bell) if settings.works else None
        server = _Server(_config(settings, state), (state.changing, state.waiting))
        if schedule is not None:
            schedule.start()
        ended = _told_to_end()
        try:
            scheme = "https" if settings.tls else "http"
            host, port = sock.getsockname()[:2]
            listening(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
            server.run(sockets=[sock])
        finally:
            if schedule is not None and not schedule.stop(_LAST_JOB_S):
                _end_now()  # the thread that works at the job would be waited for
    if ended:
        _end_now()


class _Server(uvicorn.Server):
    """Has streams of changes and requests that wait end as soon as it is told to end: they would keep it."""

    def __init__(self, config: uvicorn.Config, lasting: Sequence[Changing | Waiting]) -> None:
        super().__init__(config)
        self._lasting = lasting

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        for one in self._lasting:
            one.end()
        super().handle_exit(sig, frame)


def _told_to_end() -> list[int]:
    """Have SIGTERM noted alone: uvicorn sends it again once requests are answered, before jobs have ended."""
    noted: list[int] = []
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda number, _: noted.append(number))
    return noted


def _end_now() -> None:
    """End as whoever sends SIGTERM expects: by it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)


def _check_week(site: Site, file: Path) -> None:
    """Refuse a site file that names a week which is over: no draft of it could ever be followed."""
    week = site.horizon.week
    if week and iso_week(week, zone(site.place.timezone), site.horizon.slot_minutes).end <= _now():
        raise ConfigError(
            f"{file} names the week {week}, which is over",
            why="the service plans the week that the site file names, and no other",
            fix="take `week` out of [horizon]: the coming week is drafted then",
        )


def _now() -> datetime:
    return datetime.now(UTC)


def _config(settings: Settings, state: ServiceState) -> uvicorn.Config:
    cert, key = settings.tls or (None, None)
    return uvicorn.Config(
        create_app(state),
        log_config=None,
        access_log=False,  # the guard writes what is asked for, without what might be secret
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_LAST_S,  # of streams of changes, which have no end of their own
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        ssl_certfile=None if cert is None else str(cert),
        ssl_keyfile=None if key is None else str(key),
    )


def _signer(path: Path | None) -> Callable[[bytes], bytes] | None:
    if path is None:
        return None
    try:
        key = read_secret(path, _KEY_BYTES)
    except HookError as error:
        raise ConfigError(error.what, error.why, error.fix) from error
    return lambda content: sign_hmac(content, key)


def _listen(settings: Settings) -> socket.socket:
    try:
        (family, *_, address), *_ = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"the service cannot listen at {settings.host} port {settings.port} ({error.strerror or error})",
            fix="name another by --listen HOST:PORT, or end the program that listens there",
        ) from error
    return sock


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def log_to_stderr() -> None:
    """Have what the service tells of itself written to standard error, one line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in ("planner", "uvicorn", "apscheduler"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO if name == "planner" else logging.WARNING)
