"""What the way for many gangs does not plan yet: named, never dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.optimize.depth import deep_parts

if TYPE_CHECKING:
    from planner.week import Block, Week


def unsupported(week: Week) -> tuple[str, ...]:
    """Return what of a week only the program of record plans, such as "the tank of block 'hall-a'"."""
    found = [what for block in week.blocks for what in _of_block(block)]
    found += [f"energy contract {contract.name!r}" for contract in week.contracts]
    found += [f"power purchase agreement {ppa.name!r}" for ppa in week.ppas]
    found += [f"site {other.name!r}" for other in week.others]
    found += deep_parts(week)
    return tuple(found)


def check_supported(week: Week, fix: str = 'take method = "gangs" or "auto" in [plan]') -> None:
    """Refuse a week with parts that this way does not plan.

    Args:
        week: The week.
        fix: What else would do than to leave the parts out.

    Raises:
        ConfigError: The week has such parts; names all of them.
    """
    found = unsupported(week)
    if found:
        raise ConfigError(
            f"planning by classes of like runs does not know {', '.join(found)}",
            fix=f"{fix}, or leave these parts out of the site",
        )


def _of_block(block: Block) -> list[str]:
    parts = (
        (block.has_tank, "the tank"),
        (block.heat is not None, "the heat sale"),
        (bool(block.generators), "the generators"),
        (block.export is not None, "the export"),
    )
    return [f"{what} of block {block.name!r}" for there, what in parts if there]
