"""The settings of a cooling plant that a site file may give."""

from __future__ import annotations

from thermal.catalogue import Setting, catalogue


def plant_settings(kind: str) -> dict[str, Setting]:
    """Return the settings of a kind of plant by name."""
    return {setting.name: setting for setting in catalogue(kind)}
