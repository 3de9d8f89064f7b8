"""The schema of the site file, as editors read it."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime

import jsonschema
import pytest

from planner.config import schema_text, site_schema, starter_files
from tests.starter import SITES, edited


def _as_editors_see(value):
    if isinstance(value, dict):
        return {k: _as_editors_see(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_as_editors_see(v) for v in value]
    return value.isoformat() if isinstance(value, datetime) else value


def test_the_schema_file_is_current(root):
    stored = (root / "data" / "schema" / "site.schema.json").read_text(encoding="utf-8")
    assert stored == schema_text(), "run data/schema/make_site_schema.py"


@pytest.mark.parametrize("path", [*(f"sites/{name}.toml" for name in SITES), "starter-site.toml"])
def test_bundled_site_files_fit_the_schema(root, path):
    values = _as_editors_see(tomllib.loads((root / "data" / path).read_text(encoding="utf-8")))
    jsonschema.Draft202012Validator(site_schema()).validate(values)


@pytest.mark.parametrize(
    "change",
    [
        ("capacity_kw = 100 ", "capacity_kw = 0.5 "),
        ("rated_it_kw = 90", "rated_it_kw = 90\nsuply_limit_c = 4"),
        ("[plan]", "[pln]"),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(change):
    values = _as_editors_see(tomllib.loads(edited(change)))
    assert not jsonschema.Draft202012Validator(site_schema()).is_valid(values)


def test_starter_files_name_the_schema_that_stands_beside_them():
    files = starter_files(None, datetime(2026, 1, 1, tzinfo=UTC))
    first = files["site.toml"].split("\n")[0]
    assert first.removeprefix("#:schema ./") in files
    assert json.loads(files["site.schema.json"]) == site_schema()
