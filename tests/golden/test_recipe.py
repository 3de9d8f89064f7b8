"""A recipe as it stands in its file, byte for byte: what others read and compare must not change unseen."""

from __future__ import annotations

from pathlib import Path

from planner.config.recipe_file import recipe_bytes
from planner.recipe_save import Sources, make_recipe
from tests.recipes import SAVED_AT, write_all

HERE = Path(__file__).parent


def test_the_recipe_of_a_measured_run_reads_as_agreed(tmp_path):
    site = write_all(tmp_path)
    sources = Sources(site, "chat-8b", tmp_path / "telemetry", tmp_path / "sweep.json")
    found = make_recipe("chat-8b", sources, saved_at=SAVED_AT, note="two days on the first node")
    assert found.told == ()
    assert recipe_bytes(found.recipe) == (HERE / "recipe.json").read_bytes()
