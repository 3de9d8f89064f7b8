"""From a site and its telemetry to the fitted cooling plant of one block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.sources.options import did_you_mean
from thermal.calibrate import EnergyBalanceError, calibrate

if TYPE_CHECKING:
    from planner.config.site import Site, SiteBlock
    from thermal.calibrate import Calibration, Telemetry

SHOWN_FAULTS = 5


def block_of(site: Site, name: str | None) -> SiteBlock:
    """Return a site's block by its name; without a name, its only one.

    Raises:
        ConfigError: There is no such block, or several and none is named.
    """
    blocks = {block.power.name: block for block in site.blocks}
    if name is None and len(blocks) == 1:
        return next(iter(blocks.values()))
    if name is None:
        raise ConfigError(
            f"the site has {len(blocks)} blocks, and telemetry belongs to one",
            fix=f"name it by --block; the blocks are {', '.join(blocks)}",
        )
    if name not in blocks:
        raise ConfigError(
            f"the site has no block {name!r}", fix=f"{did_you_mean(name, blocks)}its blocks are {', '.join(blocks)}"
        )
    return blocks[name]


def calibrate_block(block: SiteBlock, telemetry: Telemetry) -> Calibration:
    """Return the calibration of a block's plant.

    Raises:
        ConfigError: The telemetry's energy balance does not close, or it has nothing to fit the plant to, or it clearly
            speaks for the other control sequence.
    """
    try:
        found = calibrate(block.plant, telemetry)
    except EnergyBalanceError as error:
        shown = error.faults[:SHOWN_FAULTS]
        more = len(error.faults) - len(shown)
        raise ConfigError(
            f"the energy balance of {telemetry.source} does not close; it is not fitted to",
            why="; ".join(fault.sentence for fault in shown) + (f"; and {more} more spans" if more else ""),
            fix=(
                "look at that span's flow meter, its two temperatures and the IT meter, and take wrong readings out; "
                f"if all are right, the liquid carries {100 * shown[0].closing_share:.0f} % of the IT power "
                f"(liquid_heat_share, {block.plant.liquid_heat_share:g} in the site file)"
            ),
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"{telemetry.source} cannot be fitted to block {block.power.name}",
            why=str(error),
            fix="give more of the signals that docs/calibration.md lists",
        ) from error
    told = found.sequence
    if told is not None and told.supported == told.other:
        raise ConfigError(
            f'block {block.power.name} states sequence = "{told.stated}", and {telemetry.source} contradicts it',
            why=told.sentence,
            fix=f'write sequence = "{told.other}" in its [block.cooling], and calibrate again',
        )
    return found
