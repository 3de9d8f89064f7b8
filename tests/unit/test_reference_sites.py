"""The reference sites: sound files in which every number says how well it is known."""

from __future__ import annotations

import re

import pytest

from planner.config import load_site

SITES = ("colossus", "colossus-first-months", "fairwater", "cortex")
GRADES = ("published", "measured", "assumed")
OWN = ("[horizon]", "[plan]", "[[run]]")  # what is planned and how, no facts of a site


def ungraded(text):
    """Lines with a number of the site that no grade stands behind, in their own line or at the head of their table."""
    table, head = "", ""
    for line in text.splitlines():
        if line.startswith("["):
            table = line.split("#")[0].strip()
        told, _, comment = line.partition("#")
        if re.search(r"^\w+ = \[\s*$", told.rstrip() or " "):
            head = comment
        if line.startswith("]"):
            head = ""
        graded = re.match(rf"\s*({'|'.join(GRADES)})\b", comment or head)
        if re.search(r"= .*\d", re.sub(r'"[^"]*"', "", told)) and not graded and table not in OWN:
            yield line


@pytest.mark.parametrize("name", SITES)
def test_every_number_of_the_site_has_its_grade(root, name):
    text = (root / "data" / "sites" / f"{name}.toml").read_text(encoding="utf-8")
    assert list(ungraded(text)) == []


def test_a_number_without_grade_is_found():
    text = '[[block]]\nname = "b1"\ncapacity_kw = 5 # a lot\n[plan]\ngap_target = 0.02\n'
    assert list(ungraded(text)) == ["capacity_kw = 5 # a lot"]


@pytest.mark.parametrize("name", SITES)
def test_the_page_tells_of_the_site(root, name):
    page = (root / "docs" / "reference-sites.md").read_text(encoding="utf-8")
    assert f"data/sites/{name}.toml" in page
    site = load_site(root / "data" / "sites" / f"{name}.toml")
    for block in site.blocks:
        assert f"{block.power.capacity_kw / 1000:g} MW" in page


def test_fairwater_trains_one_model_on_both_sites(root):
    site = load_site(root / "data" / "sites" / "fairwater.toml")
    pools = {pool.name: pool for pool in site.pools}
    assert pools["both-sites"].shares == (("atlanta", 0.5), ("wisconsin", 0.5))
    assert [run.options[0].pool for run in site.runs if run.name == "one-model"] == ["both-sites"]
