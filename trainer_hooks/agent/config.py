"""The agent's configuration, from one file that root alone may change."""

from __future__ import annotations

import grp
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from trainer_hooks.agent.bounds import Bounds, bounds_from
from trainer_hooks.agent.grants import Grant, grant_from
from trainer_hooks.agent.guard import GuardRules, guard_from
from trainer_hooks.agent.leases import LeaseRules
from trainer_hooks.agent.node_hub import HubRules, hub_from
from trainer_hooks.agent.origin import FolderOrigin, Origin
from trainer_hooks.agent.ramp import Ramp, ramp_from
from trainer_hooks.agent.secret import read_token
from trainer_hooks.agent.sections import HIGHEST_ID, Section, check_owner, read_sections
from trainer_hooks.agent.signature import Ed25519Verifier, Verifier, hmac_verifier
from trainer_hooks.agent.telemetry_section import TelemetryRules, telemetry_from
from trainer_hooks.errors import AgentError
from trainer_hooks.wire import ServerLimits

_T = TypeVar("_T")
_AGENT_KEYS = frozenset(
    {
        "socket",
        "group",
        "state_dir",
        "grants_dir",
        "sample_s",
        "longest_lease_s",
        "limit_changes_per_s",
        "limit_change_burst",
        "requests_per_s",
        "request_burst",
    }
)
_CALENDAR_KEYS = frozenset(
    {"source", "poll_s", "wait_s", "runs", "token_file", "ca_file", "hmac_key_file", "ed25519_public_key_file"}
)
_TOKEN_BYTES = 8
_SERVER_POLL_S = 60.0  # a server has thousands of nodes to answer
_SERVER_WAIT_S = 50.0  # less than the minute after which the usual proxies cut
_FOLDER_POLL_S = 0.4  # one short file is read; with it a lower limit is in force within 2 s of its publication


@dataclass(frozen=True)
class CalendarSource:
    """Where the calendar comes from.

    Attributes:
        origin: Its publisher.
        verifier: Refuses calendars of others; None takes any.
        runs: Runs to keep; empty keeps all.
        poll_s: Pause between two looks, s.
        wait_s: Longest time for which a server may hold a request until there is another calendar, s.
    """

    origin: Origin
    verifier: Verifier | None
    runs: frozenset[str]
    poll_s: float
    wait_s: float = 0.0


@dataclass(frozen=True)
class AgentConfig:
    """All settings of an agent.

    Attributes:
        socket: Where it listens.
        gid: Group that may connect; None leaves root's.
        state_dir: Folder for what outlives it.
        grants: Grants of the file itself.
        grants_dir: Folder of further grants; None if there is none.
        sample_s: Pause between two looks at the boards, s.
        bounds: What jobs may ask of any GPU.
        gpu_bounds: UUID -> what they may ask of that one.
        bounds_sections: UUID -> the section that says so, for errors.
        leases: What claims may ask.
        limits: What strangers may cost.
        calendar: Where the calendar comes from; None pulls none.
        guard: When heat lowers a limit; None never.
        ramp: This node's turn to rise; None lets it rise at once.
        hub: How the nodes' hubs reach each other; None keeps agreement within this node.
        metrics_port: TCP port on the loopback interface; None offers none.
        telemetry: Where records of trainings come from and go to; None sends none.
    """

    socket: Path
    gid: int | None
    state_dir: Path
    grants: tuple[Grant, ...]
    grants_dir: Path | None
    sample_s: float
    bounds: Bounds
    gpu_bounds: Mapping[str, Bounds]
    bounds_sections: Mapping[str, Section] = field(repr=False)
    leases: LeaseRules
    limits: ServerLimits
    calendar: CalendarSource | None
    guard: GuardRules | None
    ramp: Ramp | None
    hub: HubRules | None
    metrics_port: int | None
    telemetry: TelemetryRules | None = None


def read_config(path: Path, hostname: str = "") -> AgentConfig:
    """Read the agent's configuration.

    Args:
        path: INI or `.json` file; others may not be able to write it.
        hostname: Name of this node; asked of the system if empty.

    Raises:
        AgentError: Naming file, section, key, value, limit and mend.
    """
    check_owner(path, allow_read=True)
    sections = read_sections(path)
    single = {section.name: section for section in sections if section.name in _SINGLE}
    for section in sections:
        kind = section.name.split(" ")[0]
        if section.name not in _SINGLE and (kind not in _NAMED or not section.name[len(kind) :].strip()):
            raise AgentError(
                f"{path}, section [{section.name}]",
                "there is no such section.",
                f"Known are {', '.join(f'[{name}]' for name in sorted(_SINGLE))}, [bounds GPU-...] and [grant NAME].",
            )
    agent = single.get("agent", Section(str(path), "agent", {}))
    agent.expect(_AGENT_KEYS)
    bounds = bounds_from(single["bounds"], Bounds()) if "bounds" in single else Bounds()
    own = {s.name.split(" ", 1)[1].strip(): s for s in sections if s.name.startswith("bounds ")}
    ramp = _maybe(single.get("ramp"), lambda section: ramp_from(section, hostname or socket.gethostname()))
    usual, limits = LeaseRules(), ServerLimits()
    return AgentConfig(
        socket=agent.path("socket") or Path("/run/gridpace/agent.sock"),
        gid=_gid(agent),
        state_dir=agent.path("state_dir") or Path("/var/lib/gridpace"),
        grants=tuple(grant_from(section) for section in sections if section.name.startswith("grant ")),
        grants_dir=agent.path("grants_dir"),
        sample_s=agent.number("sample_s", "s", 0.05, 60.0, 1.0),
        bounds=bounds,
        gpu_bounds={gpu: bounds_from(section, bounds) for gpu, section in own.items()},
        bounds_sections=own,
        leases=LeaseRules(
            longest_s=agent.number("longest_lease_s", "s", 1.0, 3600.0, usual.longest_s),
            writes_per_s=agent.number("limit_changes_per_s", "1/s", 0.01, 100.0, usual.writes_per_s),
            write_burst=agent.number("limit_change_burst", "changes", 1.0, 1000.0, usual.write_burst),
            rise_after_s=ramp.offset_s if ramp else 0.0,
        ),
        limits=ServerLimits(
            requests_per_s=agent.number("requests_per_s", "1/s", 1.0, 10_000.0, limits.requests_per_s),
            request_burst=agent.number("request_burst", "requests", 1.0, 10_000.0, limits.request_burst),
        ),
        calendar=_maybe(single.get("calendar"), _calendar),
        guard=_maybe(single.get("guard"), guard_from),
        ramp=ramp,
        hub=_maybe(single.get("hub"), lambda section: hub_from(section, hostname or socket.gethostname())),
        metrics_port=_maybe(single.get("metrics"), _port),
        telemetry=_maybe(single.get("telemetry"), telemetry_from),
    )


_SINGLE = frozenset({"agent", "bounds", "calendar", "guard", "ramp", "hub", "metrics", "telemetry"})
_NAMED = frozenset({"bounds", "grant"})


def _maybe(section: Section | None, read: Callable[[Section], _T]) -> _T | None:
    return None if section is None else read(section)


def _gid(agent: Section) -> int | None:
    name = agent.text("group", "")
    if not name:
        return None
    try:
        gid = int(name) if name.isdecimal() else grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        gid = -1
    if not 0 <= gid <= HIGHEST_ID:
        raise agent.fault("group", f"this node has no group {name!r}.", f"Make it: `groupadd --system {name}`.")
    return gid


def _port(section: Section) -> int:
    section.expect({"port"})
    port = section.number("port", "(a TCP port)", 1.0, 65535.0)
    if port != int(port):
        raise section.fault("port", f"{port:g} is not a whole number.", "Set a whole number, such as 9475.")
    return int(port)


def _calendar(section: Section) -> CalendarSource:
    section.expect(_CALENDAR_KEYS)
    source = section.text("source")
    token, ca_file = section.path("token_file"), section.path("ca_file")
    secret, public = section.path("hmac_key_file"), section.path("ed25519_public_key_file")
    if secret is not None and public is not None:
        raise section.fault("hmac_key_file", "ed25519_public_key_file is set as well.", "Set the one that signs.")
    if "://" in source:
        from trainer_hooks.agent.web import HttpOrigin

        origin: Origin = HttpOrigin(source, read_token(token, _TOKEN_BYTES) if token else None, ca_file)
    elif of_server := [key for key in ("token_file", "ca_file", "wait_s") if key in section.values]:
        raise section.fault(of_server[0], "the source is a folder, which has no use for it.", "Remove it.")
    elif not Path(source).is_absolute():
        raise section.fault("source", f"{source[:80]!r} is neither an address nor an absolute path.", "Set https://...")
    else:
        origin = FolderOrigin(Path(source))
    usual_s = _FOLDER_POLL_S if isinstance(origin, FolderOrigin) else _SERVER_POLL_S
    verifier: Verifier | None = None
    if secret is not None:
        verifier = hmac_verifier(secret)
    elif public is not None:
        verifier = Ed25519Verifier(public)
    return CalendarSource(
        origin,
        verifier,
        frozenset(section.names("runs")),
        section.number("poll_s", "s", 0.1, 86_400.0, usual_s),
        0.0 if isinstance(origin, FolderOrigin) else section.number("wait_s", "s", 0.0, 60.0, _SERVER_WAIT_S),
    )
