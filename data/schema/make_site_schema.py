"""Writes site.schema.json beside this file from the models that read site files; run it from the checkout."""

from pathlib import Path

from planner.config.schema import SCHEMA_FILE, schema_text

(Path(__file__).parent / SCHEMA_FILE).write_text(schema_text(), encoding="utf-8")
