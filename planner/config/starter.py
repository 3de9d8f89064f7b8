"""What a new user begins with: a small site file with comments, and its schema."""

from __future__ import annotations

from planner.bundled import data_dir
from planner.config.schema import SCHEMA_FILE, schema_text

SITE_FILE = "site.toml"


def starter_site() -> str:
    """Return the text of a small site file on demo data, with a comment on each key."""
    return (data_dir() / "starter-site.toml").read_text(encoding="utf-8")


def starter_files() -> dict[str, str]:
    """Return name -> text of the files that a new site folder holds."""
    return {SITE_FILE: starter_site(), SCHEMA_FILE: schema_text()}
