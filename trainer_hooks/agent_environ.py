"""Whether a node agent is to be used, and which, as the environment says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.agent_client import LEASE_S, AgentClient, AgentGpu
from trainer_hooks.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trainer_hooks.gpu import Gpu

DEFAULT_SOCKET = Path("/run/gridpace/agent.sock")
_SHORTEST_S, _LONGEST_S = 0.2, 3600.0
# One client for all of a process: its leases are renewed by one thread, and with one request.
_clients: dict[tuple[str, float], AgentClient] = {}


def agent_client(environ: Mapping[str, str]) -> AgentClient | None:
    """Find the node's agent.

    Args:
        environ: Environment. GRIDPACE_AGENT names the agent's socket; `off` or an empty text uses none. Without it
            the usual socket is used if it is there. GRIDPACE_LEASE_S is the lease time.

    Returns:
        This process's client of it, whether or not the agent answers now; None where there is none to be used.

    Raises:
        SettingError: The lease time is not a number of seconds.
    """
    named = environ.get("GRIDPACE_AGENT")
    if named is None and not DEFAULT_SOCKET.is_socket():
        return None
    path = str(DEFAULT_SOCKET) if named is None else named
    if path in {"", "off"}:
        return None
    text = environ.get("GRIDPACE_LEASE_S", "")
    try:
        lease_s = float(text) if text else LEASE_S
    except ValueError:
        lease_s = math.nan
    if not _SHORTEST_S <= lease_s <= _LONGEST_S:
        raise SettingError(
            "GRIDPACE_LEASE_S",
            f"{text!r} is not a number of seconds from {_SHORTEST_S:g} to {_LONGEST_S:g}.",
            "Set one, or unset it.",
        )
    return _clients.setdefault((path, lease_s), AgentClient(path, ttl_s=lease_s))


def leased(gpus: Sequence[Gpu], client: AgentClient | None) -> tuple[Gpu, ...]:
    """Have limits go through the agent where there is one; simulated GPUs are no agent's."""
    if client is None:
        return tuple(gpus)
    return tuple(gpu if gpu.simulated else AgentGpu(gpu, client) for gpu in gpus)
