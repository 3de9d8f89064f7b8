"""Writes recipe.schema.json beside this file from the models that read recipes; run it from the checkout."""

import json
from pathlib import Path

from planner.config.recipe_file import recipe_schema

(Path(__file__).parent / "recipe.schema.json").write_text(
    json.dumps(recipe_schema(), indent=1) + "\n", encoding="utf-8"
)
