"""Joules beyond the GPU boards: processors and memory by RAPL, the whole node by its PDU or BMC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer_hooks.energy import NO_ENERGY, Energy
from trainer_hooks.meter_locks import NODE, MeterLocks
from trainer_hooks.node_power import NodePowerMeter
from trainer_hooks.rapl import RaplMeter, find_domains

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer_hooks.metering import Metering


@dataclass(frozen=True)
class NodeEnergy:
    """Energy of one node beside that of its boards.

    Attributes:
        host: Processors and memory.
        node: The whole node, boards and host included.
        domains: What `host` covers.
    """

    host: Energy = NO_ENERGY
    node: Energy = NO_ENERGY
    domains: tuple[str, ...] = ()

    def then(self, other: NodeEnergy) -> NodeEnergy:
        """Add the time that follows."""
        return NodeEnergy(self.host.then(other.host), self.node.then(other.node), other.domains or self.domains)


NO_NODE = NodeEnergy()


class NodeMeter:
    """Meters what a node has once; only the process that holds its lock does.

    Args:
        metering: Settings.
        locks: Locks of the node; None where nobody else meters it.
        monotonic: Clock, s.
    """

    def __init__(self, metering: Metering, locks: MeterLocks | None, monotonic: Callable[[], float]) -> None:
        self._metering = metering
        self._locks = locks
        self._monotonic = monotonic
        self._rapl: RaplMeter | None = None
        self._power: NodePowerMeter | None = None
        self._is_mine = metering.powercap is None and metering.node_power is None
        self.claim()

    def claim(self) -> None:
        """Take the node's meters over if nobody has them."""
        if self._is_mine or (self._locks is not None and not self._locks.take((NODE,))):
            return
        self._is_mine = True
        if self._metering.powercap is not None:
            self._rapl = RaplMeter(find_domains(self._metering.powercap), self._monotonic)
        if self._metering.node_power is not None:
            self._power = NodePowerMeter(self._metering.node_power, self._monotonic)

    def sample(self) -> NodeEnergy:
        """Return the energy since the last sample."""
        host = NO_ENERGY if self._rapl is None else self._rapl.sample()
        node = NO_ENERGY if self._power is None else self._power.sample()
        return NodeEnergy(host, node, self._rapl.names if self._rapl else ())

    def notices(self) -> tuple[str, ...]:
        """Return what should be said about meters that do not answer."""
        found = (meter.notice for meter in (self._rapl, self._power) if meter is not None)
        return tuple(notice for notice in found if notice)

    def close(self) -> None:
        """End the thread that asks the node's power meter."""
        if self._power is not None:
            self._power.close()


@dataclass(frozen=True)
class Reconciliation:
    """The node's own meter beside the sum of its parts.

    Attributes:
        node: By the PDU or BMC.
        parts: Boards and host together.
    """

    node: Energy
    parts: Energy

    @property
    def parts_share(self) -> float:
        """Share of the node's energy that the parts explain; the rest is fans, power supplies, network and disks."""
        return self.parts.energy_j / self.node.energy_j

    @property
    def contradicts(self) -> bool:
        """Whether the parts take more than the whole by more than both errors: one of the meters is wrong."""
        return self.parts.energy_j - self.parts.error_j > self.node.energy_j + self.node.error_j


def reconcile(boards: Energy, energy: NodeEnergy) -> Reconciliation | None:
    """Lay the node's meter beside boards and host.

    Args:
        boards: Energy of the boards that this process meters.
        energy: Energy of host and node over the same time.

    Returns:
        Both, or None without a reading of the node.
    """
    return None if energy.node.energy_j <= 0.0 else Reconciliation(energy.node, boards.beside(energy.host))
