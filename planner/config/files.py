"""Text files that a user names, read with care."""

from __future__ import annotations

from pathlib import Path

from planner.config.faults import shown_path
from planner.errors import ConfigError

LARGEST_FILE_MIB = 16
SITE_FILE = "site file"
_WRITTEN_BY = {SITE_FILE: "gridpace init", "recipe": "gridpace recipe save", "sweep file": "gridpace-sweep"}


def read_user_text(path: Path, what: str) -> str:
    """Return the text of a user's file.

    Args:
        path: The file.
        what: What it is, such as "site file".

    Raises:
        ConfigError: It is missing, no plain file, unreadable, larger than 16 MiB or not UTF-8.
    """
    name = shown_path(path)
    try:
        if not path.is_file():
            if path.is_dir():
                raise ConfigError(
                    f"{name} is a folder; a {what} is wanted",
                    fix=f"name the file in it: {name}/site.toml" if what == SITE_FILE else "name the file in it",
                )
            if path.exists():
                raise ConfigError(f"{name} is no plain file; a {what} is wanted", fix="name a file")
            raise ConfigError(f"{what} {name} does not exist", fix=_missing_fix(what))
        size = path.stat().st_size
        if size > LARGEST_FILE_MIB * 2**20:
            raise ConfigError(
                f"{what} {name} has {size / 2**20:.1f} MiB; at most {LARGEST_FILE_MIB} MiB are read",
                fix="put the runs in several sites, or check that this is the right file",
            )
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(
            f"{name}:{line}: byte 0x{error.object[error.start]:02x} is not UTF-8",
            why="the file was saved in another encoding",
            fix="save it as UTF-8",
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{what} {name} cannot be read: {error}", fix="check the path and its permissions") from error


def _missing_fix(what: str) -> str:
    written = f", or write one by `{_WRITTEN_BY[what]}`" if what in _WRITTEN_BY else ""
    return f"check the path{written}"
