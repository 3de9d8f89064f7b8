"""Which agreement a rank takes part in, by its environment."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.agent.secret import read_secret
from trainer_hooks.agent_environ import agent_client
from trainer_hooks.agreement.address import listening_address
from trainer_hooks.agreement.alone import Alone
from trainer_hooks.agreement.collective import Collective
from trainer_hooks.agreement.coordinator import SAVE_LONGEST_S, Timing
from trainer_hooks.agreement.host import HostedHub, socket_path
from trainer_hooks.agreement.link import Link, LinkServer
from trainer_hooks.agreement.proof import SECRET_SHORTEST_BYTES
from trainer_hooks.agreement.session import HubAgreement, Place
from trainer_hooks.errors import AgentError, SettingError
from trainer_hooks.ranks import global_rank, local_rank
from trainer_hooks.wire import call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from trainer_hooks.agreement.collective import AllReduce
    from trainer_hooks.agreement.wish import Agreement

# Each is set by its launcher in every rank: torchrun, mpirun, srun.
_WORLD_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
_LOCAL_SIZES = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE")
_ASK_S = 0.5
_REACH_S = 10.0
_ROOT = "rank 0's node"


def world_size(environ: Mapping[str, str]) -> int:
    """Return the number of ranks of the training, 1 where no launcher says one."""
    return max(_number(environ.get(name, "")) for name in _WORLD_SIZES)


def choose_agreement(environ: Mapping[str, str], all_reduce: AllReduce | None, every: int) -> Agreement:
    """Join the others through a hub; where not every rank reaches one, through the training's own collective.

    On one node the hub is the agent's, or else one that the first rank hosts. Several nodes need GRIDPACE_HUB: rank 0's
    node, by the name that the agents know it by; without agents HOST:PORT, and GRIDPACE_SECRET_FILE. It listens at HOST
    alone, or where GRIDPACE_HUB_ADDRESS says.

    Args:
        environ: Environment of the process.
        all_reduce: See `Governor`; None where the training gives none.
        every: See `Governor`.

    Returns:
        The agreement.

    Raises:
        HookError: A setting cannot be used.
    """
    ranks, rank = world_size(environ), global_rank(environ)
    if ranks == 1:
        return Alone()
    hub = _hub_agreement(environ, ranks, rank) if rank is not None and rank < ranks else None
    if all_reduce is None:
        return hub or Alone(may_pause=False)
    # All ranks have to choose alike, so that none waits for the others in the wrong place.
    reached = hub is not None and hub.reach(time.monotonic() + _REACH_S)
    if hub is not None and not all_reduce(int(not reached)):
        return hub
    if hub is None:
        all_reduce(1)
    else:
        hub.close()
    return Collective(all_reduce, every)


def _hub_agreement(environ: Mapping[str, str], ranks: int, rank: int) -> HubAgreement | None:
    on_node = max(_number(environ.get(name, "")) for name in _LOCAL_SIZES)
    name = environ.get("GRIDPACE_HUB", "")
    if ranks > on_node and any(size in environ for size in _LOCAL_SIZES) and not name:
        return None
    timing, save_s = Timing(timeout_s=_timeout_s(environ)), _save_limit_s(environ)
    job = _job(environ)
    client = None if ":" in name else agent_client(environ)
    if client is not None:
        return HubAgreement(Place(job, rank, ranks, name, save_s), _asker(client.path), timing.timeout_s)
    path = socket_path(job)
    root = "" if not name or rank < on_node else _ROOT
    close = _host(path, timing, environ, name, root) if local_rank(environ) in {0, None} else None
    return HubAgreement(Place(job, rank, ranks, root, save_s), _asker(path), timing.timeout_s, on_close=close)


def _host(path: Path, timing: Timing, environ: Mapping[str, str], name: str, root: str) -> Callable[[], None] | None:
    if not name:
        return _hosted(path, timing, {})
    host, _, port = name.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise SettingError("GRIDPACE_HUB", f"{name!r} is not HOST:PORT.", "Name rank 0's node and a free port.")
    file = environ.get("GRIDPACE_SECRET_FILE", "")
    if not file:
        raise SettingError("GRIDPACE_SECRET_FILE", "several nodes need a secret.", "Name a file of mode 0600.")
    secret = read_secret(Path(file), SECRET_SHORTEST_BYTES).content
    if root:
        return _hosted(path, timing, {_ROOT: Link(host, int(port), secret)})
    address = listening_address(host, environ.get("GRIDPACE_HUB_ADDRESS", ""))
    hosted = HostedHub(path, timing)
    try:
        nodes = LinkServer(address, int(port), secret, hosted.hub.from_node)
    except AgentError:
        hosted.close()
        raise

    def close() -> None:
        hosted.close()
        nodes.close()

    return close


def _hosted(path: Path, timing: Timing, links: Mapping[str, Link]) -> Callable[[], None] | None:
    try:
        return HostedHub(path, timing, links).close
    except AgentError:
        return None  # another rank of the job was first, as where no launcher numbers the ranks of a node


def _asker(path: Path) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    return lambda message: call(path, message, _ASK_S)


def _job(environ: Mapping[str, str]) -> str:
    named = environ.get("GRIDPACE_JOB")
    if named:
        return named
    parts = [
        environ.get(name, "")
        for name in ("SLURM_JOB_ID", "SLURM_STEP_ID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")
    ]
    if not any(parts):
        raise SettingError("GRIDPACE_JOB", "nothing names this job.", "Set it to the same name in all its ranks.")
    return "/".join(parts)


def _timeout_s(environ: Mapping[str, str]) -> float:
    text = environ.get("GRIDPACE_TIMEOUT_S", "30")
    try:
        timeout_s = float(text)
    except ValueError:
        timeout_s = math.nan
    if not 0.1 <= timeout_s <= 3600.0:
        raise SettingError("GRIDPACE_TIMEOUT_S", f"{text!r} is not 0.1 to 3600 seconds.", "Set it, or unset it.")
    return timeout_s


def _save_limit_s(environ: Mapping[str, str]) -> int | None:
    text = environ.get("GRIDPACE_SAVE_LIMIT_S")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= SAVE_LONGEST_S):
        raise SettingError(
            "GRIDPACE_SAVE_LIMIT_S", f"{text!r} is not 1 to {SAVE_LONGEST_S} whole seconds.", "Set it, or unset it."
        )
    return int(text)


def _number(text: str) -> int:
    # srun writes 4(x2) for two nodes of four tasks
    digits = text.partition("(")[0]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else 1
