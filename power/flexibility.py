"""How far runs give way while the grid asks for less, and what a site has agreed to do."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TIER_LOSS_SHARE: Mapping[int, float] = MappingProxyType({1: 0.05, 2: 0.20, 3: 0.40})
"""Tier -> most of its throughput that a run may lose over an event.

Source: the three flexibility tiers of the demand-response trial on 256 GPUs in Phoenix (Emerald AI and others, 2025).
"""


@dataclass(frozen=True)
class Flexibility:
    """How far one run gives way.

    Args:
        tier: 1 (least) to 3 (most).
        max_loss_share: Most of its throughput that it may lose over an event.
    """

    tier: int
    max_loss_share: float


def flexibility(priority: int, tier: int | None = None, max_loss_share: float | None = None) -> Flexibility:
    """Return how far a run gives way; what it does not say follows from its tier, and that from its priority.

    Args:
        priority: 1 (first) to 5 (last): priority 1 is tier 1, 2 and 3 are tier 2, 4 and 5 are tier 3.
        tier: 1 to 3, or None.
        max_loss_share: Most of its throughput that it may lose over an event, or None for the tier's.
    """
    of_tier = tier or 1 + priority // 2
    return Flexibility(of_tier, TIER_LOSS_SHARE[of_tier] if max_loss_share is None else max_loss_share)


@dataclass(frozen=True)
class DemandResponse:
    """What a site has agreed to do for the grid.

    Args:
        targets: Names by which events address the site, beside its own.
        simple_shed_share: Share of the baseline that SIMPLE levels 1, 2 and 3 ask for, or None where none is agreed.
        emergency_shed_share: Share of the baseline to go without in a grid emergency, or None where none is agreed.
        lead_s: Time before an event's start at which new limits are set, s.
        max_hold_s: Longest time for which a run may wait with its GPUs held, s.
    """

    targets: tuple[str, ...] = ()
    simple_shed_share: tuple[float, ...] | None = None
    emergency_shed_share: float | None = None
    lead_s: float = 60.0
    max_hold_s: float = 1800.0


NOTHING_AGREED = DemandResponse()
