"""How low and how high the administrator lets a limit go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer_hooks.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer_hooks.agent.sections import Section

HIGHEST_W = 20_000.0  # no board takes more; a figure above it is a slip of units
_KEYS = frozenset({"floor_w", "ceiling_w"})


@dataclass(frozen=True)
class Bounds:
    """What a job may ask of one GPU.

    Attributes:
        floor_w: Lowest limit, W; None leaves it to the board.
        ceiling_w: Highest limit, W; None means the limit found before the first of ours: no job raises it.
    """

    floor_w: float | None = None
    ceiling_w: float | None = None

    def clamp(self, limit_w: float, prior_w: float) -> float:
        """Bring a limit within the bounds.

        Args:
            limit_w: Limit asked for, W.
            prior_w: Limit found before the first of ours, W.

        Returns:
            The limit to set, W. Where floor and ceiling exclude each other, the ceiling holds.
        """
        ceiling_w = prior_w if self.ceiling_w is None else self.ceiling_w
        floor_w = 0.0 if self.floor_w is None else self.floor_w
        return min(max(limit_w, floor_w), ceiling_w)


def bounds_from(section: Section, otherwise: Bounds) -> Bounds:
    """Read bounds from `[bounds]` or `[bounds GPU-…]`.

    Args:
        section: The section.
        otherwise: Bounds where a key is absent.

    Raises:
        AgentError: A key is unknown, a number is out of reach, or the floor is above the ceiling.
    """
    section.expect(_KEYS)
    floor_w = section.optional_number("floor_w", "W", 1.0, HIGHEST_W)
    ceiling_w = section.optional_number("ceiling_w", "W", 1.0, HIGHEST_W)
    found = Bounds(
        otherwise.floor_w if floor_w is None else floor_w, otherwise.ceiling_w if ceiling_w is None else ceiling_w
    )
    if found.floor_w is not None and found.ceiling_w is not None and found.floor_w > found.ceiling_w:
        raise section.fault(
            "floor_w",
            f"{found.floor_w:g} W is above ceiling_w, {found.ceiling_w:g} W.",
            "Lower the one, or raise the other.",
        )
    return found


def bounds_of(gpu: str, default: Bounds, own: Mapping[str, Bounds]) -> Bounds:
    """Find the bounds of a GPU by its UUID."""
    return own.get(gpu, default)


def check_gpus(section_of: Mapping[str, Section], present: frozenset[str]) -> None:
    """Refuse bounds of GPUs that this node does not have.

    Raises:
        AgentError: Naming the section and the GPUs that there are.
    """
    for gpu, section in section_of.items():
        if gpu not in present:
            raise AgentError(
                f"{section.file}, section [{section.name}]",
                f"this node has no GPU {gpu[:60]!r}; it has {', '.join(sorted(present)) or 'none'}.",
                "Take the UUID from `nvidia-smi -L`.",
            )
