"""`gridpace frontier` as a user runs it: one JSON object, a page, and errors told in a sentence."""

from __future__ import annotations

import json

import pytest

from tests.mini_site import ISSUED, MINI, gridpace


@pytest.fixture
def site(tmp_path):
    (tmp_path / "site.toml").write_text(MINI, encoding="utf-8")
    return tmp_path


def test_a_front_is_printed_as_one_json_object_and_written_as_a_page(site):
    done = gridpace(
        "frontier", "site.toml", "--objectives", "carbon,lateness", "--points", "3", "--issued-at", ISSUED,
        "--offline", "--json", "--output", "front.html", cwd=site,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["objectives"] == ["carbon", "lateness"]
    assert told["on_front"] >= 3
    assert [point["name"] for point in told["points"] if point["today"]] == ["today"]
    assert all(point["violations"] == [] for point in told["points"])
    for point in told["points"]:
        assert [worth["against"] for worth in point["worth"]] == ["asap", "steady"]
    page = (site / "front.html").read_text(encoding="utf-8")
    assert "What they are worth" in page
    assert not (site / "out").exists()


def test_an_objective_that_is_none_is_told_in_a_sentence(site):
    done = gridpace("frontier", "site.toml", "--objectives", "carbon,joy", "--issued-at", ISSUED, "--offline", cwd=site)
    assert done.returncode == 2
    assert "'joy' is no objective" in done.stderr
