"""Where the data that comes with gridpace stands."""

from __future__ import annotations

from pathlib import Path

from planner.errors import ConfigError


def data_dir() -> Path:
    """Return the folder of bundled data: `planner/data` of an installed wheel, else `data` of the checkout.

    Raises:
        ConfigError: Neither is there.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "data", package.parent / "data"):
        if (folder / "demo" / "demo.toml").is_file():
            return folder
    raise ConfigError(
        f"the bundled data of gridpace is neither in {package / 'data'} nor in {package.parent / 'data'}",
        why="the installation is incomplete",
        fix="install gridpace again",
    )
