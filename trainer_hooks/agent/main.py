"""gridpace-agent: the command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from trainer_hooks.agent.agent import Agent, config_summary, restore_only
from trainer_hooks.agent.bounds import check_gpus
from trainer_hooks.agent.config import read_config
from trainer_hooks.agent.systemd import log_to_stderr
from trainer_hooks.devices import machine_gpus
from trainer_hooks.errors import GpuError, HookError
from trainer_hooks.gpu import NvmlSession
from trainer_hooks.stdio import fill_standard_streams, tell

_USAGE, _NO_GPU = 2, 4  # exit codes of the whole house


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent.

    Args:
        arguments: Words of the command line; those of the process if None.

    Returns:
        0 after SIGTERM; 2 where the configuration cannot be used, 4 where there is no GPU.
    """
    parser = argparse.ArgumentParser(
        prog="gridpace-agent", description="Sets GPU power limits for jobs, as leases that give back what was found."
    )
    parser.add_argument("--config", type=Path, default=Path("/etc/gridpace/agent.ini"), help="default: %(default)s")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="say whether the configuration is good, and end")
    only.add_argument("--restore", action="store_true", help="give back what a dead agent left, and end")
    given = parser.parse_args(arguments)
    fill_standard_streams()
    log_to_stderr(os.environ)
    try:
        config = read_config(given.config)
        gpus = () if given.check and not _has_driver() else machine_gpus(NvmlSession())
        if given.check:
            if gpus:
                check_gpus(config.bounds_sections, frozenset(gpu.uuid for gpu in gpus))
            sys.stdout.write(config_summary(config, given.config) + "\n")
            sys.stdout.write(f"GPUs        {len(gpus)}\n" if gpus else "GPUs        no driver here to ask\n")
        elif given.restore:
            restore_only(config, gpus)
        else:
            _run(Agent(config, gpus))
    except GpuError as error:
        tell(f"{error}\n")
        return _NO_GPU
    except HookError as error:
        tell(f"{error}\n")
        return _USAGE
    return 0


def _run(agent: Agent) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    try:
        agent.start()
        agent.run()
    finally:
        agent.close()


def _has_driver() -> bool:
    try:
        NvmlSession().module()
    except GpuError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
