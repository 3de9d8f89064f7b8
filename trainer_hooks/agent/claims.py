"""What a process holds of a GPU's limit, until it lapses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One wish for a limit. Of several on a GPU the lowest is in force.

    Attributes:
        claim_id: Secret name of the claim; who knows it, and has the same user, may renew it.
        limit_w: Limit wanted, within the administrator's bounds, W.
        uid: User of the process.
        pid: Number of the process, in records.
        grant: Name of the grant that allowed it, in records.
        ttl_s: How long it lives without being renewed, s.
        expires_s: Monotonic time at which it lapses, s.
        held_w: Limit that stands in its place until `due_s`, where a raise waits for its turn, W.
        due_s: Monotonic time from which `limit_w` counts, s.
    """

    claim_id: str
    limit_w: float
    uid: int
    pid: int
    grant: str
    ttl_s: float
    expires_s: float
    held_w: float | None = None
    due_s: float = -math.inf

    def at(self, now_s: float) -> float:
        """Return the limit that counts at a monotonic time, W."""
        return self.limit_w if self.held_w is None or now_s >= self.due_s else min(self.held_w, self.limit_w)


def lowest(claims: Iterable[Claim], now_s: float) -> float | None:
    """Return the lowest limit among claims at a monotonic time, W; None without a claim."""
    return min((claim.at(now_s) for claim in claims), default=None)


def next_change_s(claims: Iterable[Claim], now_s: float) -> float:
    """Return the monotonic time at which a claim lapses or its turn comes, s; infinite if never."""
    times_s = [claim.expires_s for claim in claims]
    times_s += [claim.due_s for claim in claims if claim.held_w is not None and claim.due_s > now_s]
    return min(times_s, default=math.inf)
