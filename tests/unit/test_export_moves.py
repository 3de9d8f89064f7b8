"""Calendars of runs that move, as others see them: events, jobs of clusters, explanations, recipes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planner.errors import ConfigError
from planner.export.explain_view import document, lines
from planner.export.kubernetes_runs import Followed, run_manifests, workload
from planner.export.slurm import SlurmSite, submit_script
from planner.export.spells import spells
from planner.optimize.explain import Asked, explain
from planner.recipe_save import Sources, make_recipe
from tests.explained import OPTIONS, explained
from tests.moving import ways
from tests.published import header, off, on, run
from tests.two_pools import SITE
from tests.unit.test_moves import turned

NOW = datetime(2024, 5, 13, tzinfo=UTC)
WINDOWS = (
    on(0, 4, checkpoint="after"),
    on(4, 8, pool="b1", checkpoint="after"),
    on(8, 12, pool="b1", gpus=4, checkpoint="after"),
    off(12, 24),
)
RUN = run("r", WINDOWS)


def slurm(partitions, gpus_per_node):
    site = SlurmSite({"r": "/jobs/r.sh"}, "/plans", partitions, gpus_per_node, 300, reserved=False)
    return submit_script(header(), [RUN], site).decode()


def test_a_move_begins_a_spell_of_its_own():
    assert [(s.start.hour, s.end.hour, s.windows[0].pool, s.windows[0].gpus, s.saves_at_end) for s in spells(RUN)] == [
        (0, 4, "a1", 8, True),
        (4, 8, "b1", 8, True),
        (8, 12, "b1", 4, True),
    ]


def test_slurm_gets_each_gang_on_its_nodes_or_says_what_it_must_know():
    script = slurm({"a1": "left", "b1": "right"}, 4)
    submitted = [line for line in script.splitlines() if line.startswith("submit ") and "--partition" in line]
    assert [("--partition=left" in s, "--nodes=2" in s) for s in submitted] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    with pytest.raises(ConfigError, match="is on 4 and 8 GPUs in turn"):
        slurm({"a1": "left", "b1": "right"}, None)
    with pytest.raises(ConfigError, match="no partition is named for b1"):
        slurm({"a1": "left"}, 4)


def test_a_job_that_is_suspended_and_resumed_cannot_move():
    followed = Followed({"r": workload("--job", "job/r")}, "train", "tools:1", kueue=False)
    with pytest.raises(ConfigError, match="is on 8 GPUs of a1, then 8 GPUs of b1, then 4 GPUs of b1"):
        run_manifests(header(), [RUN], followed)
    assert run_manifests(header(), [run("r", (on(0, 12, checkpoint="after"), off(12, 24)))], followed)


def test_why_a_run_moves_is_told_with_its_places():
    given = explained(turned(*ways("s1", "n1")))
    explanation = explain(given.week, given.calendar, given.runs, asked=Asked(), options=OPTIONS)
    text = "\n".join(lines(explanation, given.week))
    assert "on 256 GPUs of pool 's1', Mon" in text
    (why,) = document(explanation, given.week)["why"]
    assert [(stay["pool"], stay["gpus"]) for stay in why["now"]["stays"]] == [("s1", 256), ("n1", 256)]


def test_a_recipe_is_of_one_count_of_gpus(tmp_path):
    sizes = "sizes = [{ gpus = 128, throughput_share = 0.6 }]"
    (tmp_path / "site.toml").write_text(
        SITE.replace("PROTO", "").replace("STAGES", "").replace("FULL", sizes), encoding="utf-8"
    )
    with pytest.raises(ConfigError, match="run 'full' may have several counts of GPUs; a recipe is of one"):
        make_recipe("mine", Sources(tmp_path / "site.toml", "full"), saved_at=NOW)
