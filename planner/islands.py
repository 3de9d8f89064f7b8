"""Fabric islands that a gang spans: how its GPUs are shared out over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HAIR = 1e-9


def allotted(name: str, spans: Sequence[tuple[str, float]], gpus: int) -> dict[str, int]:
    """Return the whole GPUs of a gang in each pool: by the shares, the rest to the largest remainders.

    Args:
        name: The pool that the gang sits in.
        spans: (pool, share of the gang) where that pool spans others; where empty, all of the gang is in it.
        gpus: Gang size.
    """
    if not spans:
        return {name: gpus}
    wanted = [share * gpus for _, share in spans]
    whole = [int(count + HAIR) for count in wanted]
    by_rest = sorted(range(len(spans)), key=lambda i: (whole[i] - wanted[i], i))
    for i in by_rest[: gpus - sum(whole)]:
        whole[i] += 1
    return {pool: count for (pool, _), count in zip(spans, whole, strict=True)}


def largest_gang(spans: Sequence[tuple[str, float]], gpus: Mapping[str, int]) -> int:
    """Return the largest gang that pools hold together by the shares.

    Args:
        spans: (pool, share of the gang), of at least one pool.
        gpus: Pool -> its GPUs.
    """
    most = min(int((gpus[pool] + 1) / share) for pool, share in spans)
    while most > 0 and any(count > gpus[pool] for pool, count in allotted("", spans, most).items()):
        most -= 1
    return most
