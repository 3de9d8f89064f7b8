"""Nodes that raise their limits one after another, so that a site's power rises no faster than it may."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer_hooks.agent.sections import Section

_KEYS = frozenset({"nodes", "node", "node_swing_kw", "ramp_kw_per_min"})
_RANGE = re.compile(r"([A-Za-z0-9_.-]*)\[([0-9,-]+)\]([A-Za-z0-9_.-]*)", re.ASCII)
_SPAN = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
_MOST_NODES = 100_000
_LONGEST_S = 3600.0


@dataclass(frozen=True)
class Ramp:
    """A node's place in the order of those that rise together.

    Attributes:
        index: Place, from 0.
        nodes: Number of nodes.
        node_swing_kw: Power by which one node rises at most, kW.
        ramp_kw_per_min: What the site allows all of them, kW per minute.
    """

    index: int
    nodes: int
    node_swing_kw: float
    ramp_kw_per_min: float

    @property
    def offset_s(self) -> float:
        """Time after the common instant at which this node may rise, s."""
        return offset_s(self.index, self.node_swing_kw, self.ramp_kw_per_min)


def offset_s(index: int, node_swing_kw: float, ramp_kw_per_min: float) -> float:
    """Compute when a node may rise: as soon as the allowance covers its own rise and all those before it.

    Args:
        index: Place of the node, from 0.
        node_swing_kw: Power by which one node rises at most, kW.
        ramp_kw_per_min: What the site allows, kW per minute.

    Returns:
        Time after the common instant, s: (index + 1) x swing / ramp, so that the sum of rises is never above
        ramp x time, not for an instant.
    """
    return (index + 1) * node_swing_kw / ramp_kw_per_min * 60.0


def node_names(text: str) -> list[str]:
    """Write out a list of nodes as Slurm writes them, such as `gpu[001-128],login`.

    Args:
        text: The list.

    Returns:
        The names in order.

    Raises:
        ValueError: It is not such a list, names a node twice, or has too many.
    """
    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text):
        entry = part.strip()
        match = _RANGE.fullmatch(entry)
        if match is None:
            if not re.fullmatch(r"[A-Za-z0-9_.-]+", entry, re.ASCII):
                raise ValueError(f"{entry[:60]!r} is not a node or a range of nodes")
            names.append(entry)
            continue
        for span in match[2].split(","):
            ends = _SPAN.fullmatch(span)
            low, high = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
            if ends is None or low > high or high - low >= _MOST_NODES:
                raise ValueError(f"{span[:60]!r} is not a range of numbers")
            names += [f"{match[1]}{number:0{len(ends[1])}d}{match[3]}" for number in range(low, high + 1)]
    if len(names) > _MOST_NODES:
        raise ValueError(f"it has {len(names)} nodes, and at most {_MOST_NODES} are taken")
    if len(set(names)) != len(names):
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twin!r} stands twice")
    return names


def ramp_from(section: Section, hostname: str) -> Ramp:
    """Read `[ramp]`.

    Args:
        section: The section.
        hostname: Name of this node, where the section does not give it.

    Raises:
        AgentError: A key is unknown or out of reach, this node is not on the list, or the last one would wait for
            more than an hour.
    """
    section.expect(_KEYS)
    try:
        names = node_names(", ".join(section.names("nodes")))
    except ValueError as error:
        raise section.fault("nodes", f"{error}.", "Write it as Slurm does: gpu[001-128].") from error
    node = section.text("node", hostname)
    known = {name: index for index, name in enumerate(names)}
    index = known.get(node, known.get(node.split(".")[0]))
    if index is None:
        raise section.fault("node", f"{node!r} is not among the {len(names)} nodes.", "Add it, or set its name.")
    ramp = Ramp(
        index,
        len(names),
        section.number("node_swing_kw", "kW", 0.001, 1000.0),
        section.number("ramp_kw_per_min", "kW/min", 0.001, 1e7),
    )
    last_s = offset_s(len(names) - 1, ramp.node_swing_kw, ramp.ramp_kw_per_min)
    if last_s > _LONGEST_S:
        raise section.fault(
            "ramp_kw_per_min",
            f"at {ramp.ramp_kw_per_min:g} kW/min {len(names)} nodes of {ramp.node_swing_kw:g} kW take {last_s:g} s, "
            f"more than {_LONGEST_S:g} s.",
            "Give the nodes that rise together, or check the units (kW, not MW).",
        )
    return ramp
