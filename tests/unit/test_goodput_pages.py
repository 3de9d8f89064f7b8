"""The pages about goodput and operating points say what the code does."""

from __future__ import annotations

import json
import re

import pytest

from planner.config.catalogue import gpu_catalogue
from planner.config.sweep_files import read_sweep
from power.goodput import goodput_share, hold_break_even_s
from power.gpu import left_out
from tests.failing_gangs import CASES
from tests.gpu_table import gpu_facts


def page(root, name):
    return (root / "docs" / name).read_text(encoding="utf-8")


def test_the_page_has_every_value_of_the_catalogue(root):
    told = page(root, "gpu-operating-points.md").partition("## The catalogue")[2]
    rows = [f"| {f.gpu} | `{f.key}` | {f.value} | {f.grade} | {f.source} |" for f in gpu_facts()]
    assert [line for line in told.splitlines() if line.startswith("| ")][1:] == rows


def test_the_sweep_on_the_page_is_read(root, tmp_path):
    text = page(root, "gpu-operating-points.md").partition("```json\n")[2].partition("```")[0]
    assert json.loads(text)["workload"]
    (tmp_path / "sweep.json").write_text(text, "utf-8")
    found = read_sweep(tmp_path / "sweep.json", None)
    assert found.gpu in gpu_catalogue()
    assert found.held_above_idle_w == 38.0


def test_the_deep_cap_on_the_page_is_as_reckoned(root):
    a100 = gpu_catalogue()["A100-SXM"]
    deep, why = left_out(a100.points, a100.idle_w_per_gpu)[0]
    assert (deep.gpu_power_limit_w, deep.relative_throughput, deep.it_w_per_gpu) == (100.0, 0.186, 388.7)
    assert a100.idle_w_per_gpu == 193.5
    assert why.startswith("pausing between spells at 250 W gives 0.452")
    told = page(root, "gpu-operating-points.md")
    assert all(figure in told for figure in ("0.186", "193.5 W", "388.7 W", "gives 0.45."))


def test_worked_figures_are_as_reckoned(root):
    assert hold_break_even_s(1000.0, 240.0, 200.0, 120.0, 600.0) == pytest.approx(14_400)
    assert round(goodput_share(1e-4, 900.0, 100.0, 600.0), 3) == 0.806
    assert "= 0.806" in page(root, "goodput.md")
    per_week = [case.goodput.failures_per_s * 604_800 for case in CASES]
    told = re.search(
        r"from 8 GPUs that fail once in (\d+) weeks to\s+100,000 that fail (\d+) times", page(root, "goodput.md")
    )
    assert [int(figure) for figure in told.groups()] == [round(1 / min(per_week)), round(max(per_week))]
    assert len(CASES) == 14
