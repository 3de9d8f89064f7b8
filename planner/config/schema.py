"""The JSON schema of the site file, for editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from planner.config.model import GradedTable, SiteFile
from planner.config.plant_settings import plant_settings
from thermal.catalogue import Setting

SCHEMA_FILE = "site.schema.json"
"""Name under which the schema stands beside a site file."""


def site_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a site file.

    TOML date-times are texts in it, as editors hand them over.
    """
    schema = _without_titles(SiteFile.model_json_schema())
    cooling = schema["$defs"]["CoolingTable"]
    cooling["additionalProperties"] = False
    schema["$defs"]["GradedTable"] = _without_titles(GradedTable.model_json_schema())
    of_kind = {kind: plant_settings(kind) for kind in cooling["properties"]["kind"]["enum"]}
    for settings in of_kind.values():
        for name in settings:
            having = {kind: known[name] for kind, known in of_kind.items() if name in known}
            cooling["properties"].setdefault(name, _setting_schema(having))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gridpace site file",
        **schema,
    }


def schema_text() -> str:
    """Return the schema as it stands in a file."""
    return json.dumps(site_schema(), indent=1, ensure_ascii=False) + "\n"


def _setting_schema(having: Mapping[str, Setting]) -> dict[str, Any]:
    """Return the schema of a setting: a plain value or a graded one.

    Args:
        having: Kind of plant -> the setting as that kind has it.
    """
    setting = next(iter(having.values()))
    fact = setting.fact
    plain: dict[str, Any]
    if fact.choices:
        plain = {"enum": list(fact.choices)}
    elif isinstance(setting.default, bool):
        plain = {"type": "boolean"}
    else:
        kind = "integer" if isinstance(setting.default, int) else "number"
        plain = {"type": kind, "minimum": fact.lowest, "maximum": fact.highest}
    defaults = "; ".join(f"{kind}: {json.dumps(s.default)}" for kind, s in having.items())
    unit = f"{fact.unit}; " if fact.unit else ""
    return {"anyOf": [plain, {"$ref": "#/$defs/GradedTable"}], "description": f"{unit}default by kind: {defaults}"}


def _without_titles(value: Any) -> Any:
    """Return a schema without the titles that repeat each key's name."""
    if isinstance(value, dict):
        return {k: _without_titles(v) for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    return [_without_titles(v) for v in value] if isinstance(value, list) else value
