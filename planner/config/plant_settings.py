"""The settings of a cooling plant that a site file may give: those that a plan and its judge use."""

from __future__ import annotations

from thermal.catalogue import Setting, catalogue

UNUSED = ("store_", "heat_pump_")
"""What stands before the settings of tanks and heat pumps, which no plan uses: they would do nothing."""


def plant_settings(kind: str) -> dict[str, Setting]:
    """Return the settings of a kind of plant by name."""
    return {setting.name: setting for setting in catalogue(kind) if not setting.name.startswith(UNUSED)}
