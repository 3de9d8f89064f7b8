"""A carbon budget and an order of measures as a user meets them: planned, told, published, checked."""

from __future__ import annotations

import json

from tests.mini_site import ISSUED, MINI, gridpace


def planned(folder, table):
    (folder / "site.toml").write_text(f"{MINI}\n[objective]\n{table}\n", encoding="utf-8")
    return gridpace("plan", "site.toml", "--issued-at", ISSUED, "--offline", "--out", "out", "--json", cwd=folder)


def test_a_budget_that_is_missed_is_told_wherever_the_plan_is(tmp_path):
    done = planned(tmp_path, "carbon_budget_t = 0.001")
    assert done.returncode == 0, done.stderr
    budget = json.loads(done.stdout)["carbon_budget"]
    assert budget["most_kg"] == 1.0
    assert budget["planned_kg"] > 1.0
    assert f"not kept: {budget['sentence']}" in done.stderr
    assert budget["sentence"] in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    checked = gridpace("check", "out", "--site", "site.toml", "--offline", cwd=tmp_path)
    assert checked.returncode == 0
    assert f"announced: {budget['sentence']}" in checked.stdout


def test_an_order_that_is_misspelt_is_told_with_its_line(tmp_path):
    done = planned(tmp_path, 'order = ["carbon", "carbon"]')
    assert done.returncode == 2
    assert "names 'carbon' more than once" in done.stderr
