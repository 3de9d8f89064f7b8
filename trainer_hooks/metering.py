"""What a process meters, and where it tells it: the settings of the meter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.errors import SettingError
from trainer_hooks.meter_locks import lock_folder
from trainer_hooks.node_power import command_reader, file_reader
from trainer_hooks.rapl import POWERCAP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_METRICS_SUFFIXES = (".prom", ".jsonl")


@dataclass(frozen=True)
class Metering:
    """Settings of a meter.

    Attributes:
        locks: Folder in which the processes of a node agree who meters a board; None meters every board given.
        powercap: Folder of RAPL's zones; None leaves host joules out.
        node_power: Asks the node's PDU or BMC once and returns W; None where there is none.
        metrics: File for a collector: `.prom` for Prometheus' textfile collector, `.jsonl` for OTLP in JSON lines.
    """

    locks: Path | None = None
    powercap: Path | None = None
    node_power: Callable[[], float] | None = None
    metrics: Path | None = None


def metering_from(environ: Mapping[str, str]) -> Metering:
    """Read the settings of the meter.

    GRIDPACE_METER_LOCKS: folder that all processes of the node see, also those in containers.
    GRIDPACE_NODE_POWER_COMMAND: command that prints the node's watts. GRIDPACE_NODE_POWER_FILE: file that holds them.
    GRIDPACE_METRICS: file for a collector, ending in `.prom` or `.jsonl`.

    Args:
        environ: Environment variables.

    Returns:
        The settings.

    Raises:
        SettingError: Command and file are both named, the command cannot be split, or the metrics file has another end.
    """
    command, file = environ.get("GRIDPACE_NODE_POWER_COMMAND", ""), environ.get("GRIDPACE_NODE_POWER_FILE", "")
    if command and file:
        raise SettingError(
            "GRIDPACE_NODE_POWER_COMMAND",
            "GRIDPACE_NODE_POWER_FILE is set too, and a node has one meter.",
            "Set one of the two.",
        )
    metrics = environ.get("GRIDPACE_METRICS", "")
    if metrics and Path(metrics).suffix not in _METRICS_SUFFIXES:
        raise SettingError(
            "GRIDPACE_METRICS",
            f"{metrics!r} ends in neither .prom nor .jsonl.",
            "Name a file that ends in one of the two.",
        )
    locks = environ.get("GRIDPACE_METER_LOCKS", "")
    return Metering(
        locks=Path(locks) if locks else lock_folder(),
        powercap=POWERCAP,
        node_power=command_reader(command) if command else file_reader(Path(file)) if file else None,
        metrics=Path(metrics) if metrics else None,
    )
