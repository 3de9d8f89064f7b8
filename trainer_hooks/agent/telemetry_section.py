"""`[telemetry]`: where trainings leave their records, and which server gets them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.agent.secret import Secret, read_token, token_from

if TYPE_CHECKING:
    from trainer_hooks.agent.sections import Section
    from trainer_hooks.agent.sender import TelemetrySender
    from trainer_hooks.agent.upload import Upload

TOKEN_VARIABLE = "GRIDPACE_TOKEN"  # noqa: S105 - the name of a variable
_KEYS = frozenset({"folder", "server", "token_file", "ca_file", "every_s", "spool_mb"})
_TOKEN_BYTES = 8


@dataclass(frozen=True)
class TelemetryRules:
    """How telemetry leaves this node.

    Attributes:
        folder: Where trainings write their records.
        upload: The way to the server.
        every_s: Pause between two batches, s.
        spool_bytes: Largest size of what waits on this node's disk, bytes.
    """

    folder: Path
    upload: Upload
    every_s: float
    spool_bytes: int


def telemetry_from(section: Section, environ: Mapping[str, str] | None = None) -> TelemetryRules:
    """Read the section.

    Args:
        section: The section.
        environ: Environment, which may hold the token; that of the process if None.

    Raises:
        AgentError: A key is missing, unknown or out of reach, or the token cannot be used.
    """
    from trainer_hooks.agent.upload import Upload

    section.expect(_KEYS)
    folder, token_file = section.path("folder"), section.path("token_file")
    if folder is None:
        raise section.fault("folder", "it is missing.", "Set the folder into which trainings write their records.")
    server = section.text("server")
    given = (os.environ if environ is None else environ).get(TOKEN_VARIABLE, "").strip()
    token: Secret | None = None
    if token_file is not None:
        token = read_token(token_file, _TOKEN_BYTES)
    elif given:
        token = token_from(given.encode("utf-8", "surrogateescape"), TOKEN_VARIABLE, _TOKEN_BYTES)
    return TelemetryRules(
        folder=folder,
        upload=Upload(server, token, section.path("ca_file")),
        every_s=section.number("every_s", "s", 1.0, 3600.0, 30.0),
        spool_bytes=int(section.number("spool_mb", "MB", 4.0, 1e6, 256.0) * 1e6),
    )


def sender_for(rules: TelemetryRules, state_dir: Path) -> TelemetrySender:
    """Return what sends telemetry by these rules.

    Args:
        rules: The rules.
        state_dir: Folder of the agent's state.

    Raises:
        OSError: The folder cannot be used.
    """
    from trainer_hooks.agent.sender import TelemetrySender
    from trainer_hooks.agent.spool import Spool
    from trainer_hooks.agent.tail import Tail

    spool = Spool(state_dir / "telemetry", rules.spool_bytes)
    tail = Tail(rules.folder, state_dir / "telemetry-read.json")
    return TelemetrySender(tail, spool, rules.upload, rules.every_s)
