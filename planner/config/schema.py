"""The JSON schema of the site file, for editors."""

from __future__ import annotations

import json
from typing import Any

from planner.config.model import SiteFile
from thermal.catalogue import Setting, catalogue

SCHEMA_FILE = "site.schema.json"
"""Name under which the schema stands beside a site file."""


def site_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a site file.

    TOML date-times are texts in it, as editors hand them over.
    """
    schema = _without_titles(SiteFile.model_json_schema())
    cooling = schema["$defs"]["CoolingTable"]
    cooling["additionalProperties"] = False
    for kind in cooling["properties"]["kind"]["enum"]:
        for setting in catalogue(kind):
            cooling["properties"].setdefault(setting.name, _setting_schema(setting))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gridpace site file",
        **schema,
    }


def schema_text() -> str:
    """Return the schema as it stands in a file."""
    return json.dumps(site_schema(), indent=1, ensure_ascii=False) + "\n"


def _setting_schema(setting: Setting) -> dict[str, Any]:
    if setting.fact.choices:
        return {"enum": list(setting.fact.choices), "default": setting.default}
    types = {bool: "boolean", int: "integer", float: "number"}
    return {"type": types[type(setting.default)], "default": setting.default}


def _without_titles(value: Any) -> Any:
    """Return a schema without the titles that repeat each key's name."""
    if isinstance(value, dict):
        return {k: _without_titles(v) for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    return [_without_titles(v) for v in value] if isinstance(value, list) else value
