"""The page about cooling plants lists every setting as the catalogue has it, and its plants are the ready ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.config import site_from_text, starter_site
from planner.config.plant_settings import plant_settings
from tests.plants import warm_water_with_pad
from thermal.description import KINDS
from thermal.plant import room_air, tower_chiller

STARTER_PLANT = (
    'kind = "dry_cooler" # warm-water loop; "tower_chiller" for wet towers, "room_air" for an air-cooled room\n'
    "rated_it_kw = 90\n"
)
READY = {
    "Warm water, dry coolers with pads": warm_water_with_pad(90.0),
    "Wet towers and trim chillers": tower_chiller(90.0),
    "An air-cooled laboratory": room_air(90.0),
}


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "cooling-plant.md").read_text(encoding="utf-8")


def settings_table(kind):
    """The settings of a kind in Markdown: name, unit, span, default, grade, source."""
    rows = [f"### `{kind}`", "", "| setting | unit | allowed | default | grade | where the default comes from |"]
    rows.append("|---|---|---|---|---|---|")
    for setting in plant_settings(kind).values():
        fact = setting.fact
        span = f"{fact.lowest:g} to {fact.highest:g}"
        if fact.choices:
            span = ", ".join(f'"{word}"' for word in fact.choices)
        elif isinstance(setting.default, bool):
            span = "true, false"
        default = str(setting.default).lower() if isinstance(setting.default, bool) else setting.default
        rows.append(f"| `{setting.name}` | {fact.unit} | {span} | `{default}` | {fact.grade} | {fact.source} |")
    return "\n".join(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_has_every_setting_as_the_catalogue_has_it(page, kind):
    assert settings_table(kind) in page


@pytest.mark.parametrize("title", READY)
def test_each_plant_of_the_page_is_a_ready_one(page, title):
    snippet = page.split(f"### {title}\n")[1].split("```toml\n")[1].split("```")[0]
    assert STARTER_PLANT in starter_site()
    text = starter_site().replace(f"[block.cooling]\n{STARTER_PLANT}", snippet)
    assert site_from_text(text, Path("site.toml")).blocks[0].plant == READY[title]


def test_every_setting_named_on_the_page_exists(page):
    known = {name for kind in KINDS for name in plant_settings(kind)} | set(KINDS)
    known |= {"cooling_n1", "ride_through_restart_s", "rated_it_kw", "w_max_kw"}
    assert set(re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", page)) - known == set()
