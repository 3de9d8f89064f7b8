"""Grid zones that gridpace knows by name: where they are, and what each provider calls them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from planner.bundled import data_dir


def listed_zones() -> Mapping[str, Mapping[str, Any]]:
    """Return the zones of `data/zones.toml` by name."""
    zones = tomllib.loads((data_dir() / "zones.toml").read_text(encoding="utf-8"))["zone"]
    return {one.pop("name"): one for one in zones}
