from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

from planner.cli import cli
from planner.errors import ConfigError
from planner.export.kubernetes import AgentPods, agent_manifests, calendar_manifest, manifest_text
from planner.export.kubernetes_runs import Followed, run_manifests, workload
from tests.published import header, off, on, run
from trainer_hooks.agent.calendars import CalendarKeeper
from trainer_hooks.agent.config import read_config
from trainer_hooks.agent.origin import FolderOrigin, flat_name
from trainer_hooks.calendar import parse_run, run_file, seal, write_calendar

NOW = datetime(2024, 5, 13, tzinfo=UTC)
RELEASES = [f"1.{minor}" for minor in range(27, 38)]  # a CronJob's time zone is part of Kubernetes since 1.27
KUBECTL = """\
#!/usr/bin/env python3
import json, os, sys
record, facts = os.environ["RECORD"], json.loads(os.environ["FACTS"])
words = sys.argv[1:]
if words[0] == "patch":
    with open(record, "a", encoding="utf-8") as file:
        print(json.dumps(words[1:]), file=file)
else:
    key = " ".join(words[1:])
    found = next((value for part, value in facts.items() if part in key), "")
    if found == "REFUSED":
        sys.exit("forbidden")
    print(found, end="")
"""


def a_day(name: str = "pretrain"):
    """Trains 0-2 h and 3-5 h, holds its GPUs for the hour before, and is off for the rest."""
    return header(), run(name, (on(0, 2), off(2, 3), on(3, 5), off(5, 24)))


def validated(manifests, releases=("1.31",)):
    for manifest in manifests:
        read = yaml.safe_load(manifest_text([manifest]))
        for release in releases:
            kubernetes_validate.validate(read, release, strict=True)
    return manifests


def test_what_is_written_fits_every_release_of_kubernetes_whose_schema_there_is():
    calendar, day = a_day("llm 8b/ü_%")
    sealed, files = seal(calendar, [day])
    manifests = [
        calendar_manifest(sealed, files, "gridpace"),
        *agent_manifests(AgentPods("gridpace:1", {"pretrain": 2000}, {"gpu": "yes"}, "nvidia"), "gridpace"),
    ]
    for kueue in (False, True):
        objects = {"llm 8b/ü_%": workload("--job", "jobset/llm.8b")}
        manifests += run_manifests(calendar, [day], Followed(objects, "train", "tools:1", kueue))
    kinds = [manifest["kind"] for manifest in validated(manifests, RELEASES)]
    assert set(kinds) == {
        "ConfigMap", "DaemonSet", "ServiceAccount", "Role", "RoleBinding", "CronJob",
    }  # fmt: skip
    with pytest.raises(kubernetes_validate.ValidationError):  # so that the schemas are known to refuse
        validated([manifests[0] | {"dat": {}}], RELEASES[-1:])


def followed(kueue=False, **jobs):
    return Followed({name: workload("--job", text) for name, text in jobs.items()}, "train", "tools:1", kueue)


@pytest.fixture
def acted(tmp_path):
    """Run a follower's script with a stand-in of kubectl at an hour, and return status and patches."""

    def act(manifests, hour: float, facts: dict[str, str]):
        script = manifests[0]["data"]["follow.sh"]
        record, programs = tmp_path / "record", tmp_path / "bin"
        programs.mkdir(exist_ok=True)
        (programs / "kubectl").write_text(KUBECTL)
        (programs / "date").write_text(f"#!/bin/sh\necho {(NOW + timedelta(hours=hour)).timestamp():.0f}\n")
        for program in programs.iterdir():
            program.chmod(0o755)
        record.write_text("")
        environ = {"PATH": f"{programs}:{os.environ['PATH']}", "RECORD": str(record), "FACTS": json.dumps(facts)}
        done = subprocess.run(
            ["/bin/sh"], input=script, env=environ, text=True, capture_output=True, timeout=20, check=False
        )
        return done.returncode, [json.loads(line) for line in record.read_text().splitlines()]

    return act


def test_the_calendar_is_a_folder_to_the_agent_that_mounts_it(tmp_path):
    calendar, day = a_day("llm 8b/ü_%")
    sealed, files = seal(calendar, [day])
    (manifest,) = validated([calendar_manifest(sealed, files, "gridpace")])
    for key, text in manifest["data"].items():
        (tmp_path / key).write_text(text)
    keeper = CalendarKeeper(tmp_path / "kept", FolderOrigin(tmp_path), None, frozenset())
    assert keeper.pull()
    content, _ = keeper.text("llm 8b/ü_%")
    assert parse_run(content, "run") == day
    assert not keeper.pull()


def test_no_two_paths_share_a_flat_name():
    names = ["a/b", "a_2Fb", "a%2Fb", "a.b", "a_b", "a__2Fb", run_file("a/b"), run_file("a_b")]
    assert len({flat_name(name) for name in names}) == len(names)


def test_a_calendar_too_large_for_a_configmap_is_refused_with_the_mend():
    calendar, day = a_day()
    sealed, files = seal(calendar, [day])
    with pytest.raises(ConfigError, match="pull it from a web server"):
        calendar_manifest(sealed, files | {"runs/large.json": b"x" * 1024 * 1024}, "gridpace")
    with pytest.raises(ConfigError, match="shorter name"):
        calendar_manifest(sealed, files | {"runs/" + "x" * 230: b"{}"}, "gridpace")


def test_the_agent_starts_with_the_configuration_that_it_is_given(tmp_path):
    config, agents = validated(
        agent_manifests(AgentPods("gridpace:1", {"pretrain": 2000}, {"gpu": "yes"}, "nvidia"), "gridpace")
    )
    file = tmp_path / "agent.ini"
    file.write_text(config["data"]["agent.ini"])
    read = read_config(file)
    assert [(grant.uids, grant.gpus, grant.runs) for grant in read.grants] == [
        (frozenset({2000}), frozenset({"all"}), frozenset({"pretrain"}))
    ]
    assert isinstance(read.calendar.origin, FolderOrigin)
    pod = agents["spec"]["template"]["spec"]
    assert pod["runtimeClassName"] == "nvidia"
    mounted = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert {str(read.socket.parent), str(read.state_dir), "/etc/gridpace-calendar"} <= mounted
    for uids, told in (
        ({}, "no run may set limits"),
        ({"a": 0}, "no user of a job's own"),
        ({"a b": 7}, "another name"),
    ):
        with pytest.raises(ConfigError, match=told):
            agent_manifests(AgentPods("gridpace:1", uids, {}, None), "gridpace")


@pytest.mark.parametrize(
    ("hour", "is_suspended", "patch"),
    [
        (0, "true", False),
        (1.99, "false", None),
        (2, "false", True),
        (2.5, "true", None),
        (3, "true", False),
        (5, "", True),
        (-0.1, "false", None),
        (24, "false", None),
    ],
)
def test_a_job_is_suspended_between_its_stretches_and_left_alone_outside_the_calendar(acted, hour, is_suspended, patch):
    calendar, day = a_day()
    manifests = validated(run_manifests(calendar, [day], followed(pretrain="llm")))
    status, patches = acted(manifests, hour, {".spec.suspend": is_suspended})
    wanted = json.dumps({"spec": {"suspend": patch}}, separators=(",", ":"))
    assert status == 0
    assert patches == ([] if patch is None else [["jobs.batch/llm", "--type=merge", "-p", wanted]])


def test_a_job_that_has_ended_is_left_alone_and_a_refusal_fails_the_turn_but_not_the_others(acted):
    calendar, day = a_day()
    manifests = run_manifests(calendar, [day], followed(pretrain="llm"))
    assert acted(manifests, 2, {".status.conditions": "Complete", ".spec.suspend": "false"}) == (0, [])
    others = [day, replace(day, run="other")]
    manifests = run_manifests(calendar, others, followed(pretrain="llm", other="pytorchjob/two"))
    status, patches = acted(manifests, 2, {"jobs.batch/llm": "REFUSED", ".spec.runPolicy.suspend": "false"})
    assert status == 1
    assert patches == [
        ["pytorchjobs.kubeflow.org/two", "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":true}}}']
    ]


@pytest.mark.parametrize(("hour", "is_active", "patch"), [(0, "false", "true"), (0, "", None), (2, "", "false")])
def test_kueue_is_told_by_the_workload_of_the_job(acted, hour, is_active, patch):
    calendar, day = a_day()
    manifests = validated(run_manifests(calendar, [day], followed(kueue=True, pretrain="jobset/llm")))
    facts = {
        ".metadata.uid": "7-7",
        "kueue.x-k8s.io/job-uid=7-7 -o name": "workload.kueue.x-k8s.io/jobset-llm-1",
        ".spec.active": is_active,
    }
    status, patches = acted(manifests, hour, facts)
    assert status == 0
    wanted = f'{{"spec":{{"active":{patch}}}}}'
    assert patches == (
        [] if patch is None else [["workload.kueue.x-k8s.io/jobset-llm-1", "--type=merge", "-p", wanted]]
    )
    assert acted(manifests, hour, {".metadata.uid": "7-7"})[0] == 1  # Kueue does not know the job
    for told in ("Completed ", " Complete"):  # a JobSet's condition, a RayJob's field
        assert acted(manifests, hour, facts | {".status.conditions": told}) == (0, [])


def test_the_follower_may_do_no_more_than_it_does_and_wakes_at_every_edge():
    calendar, day = a_day()
    moved = replace(day, windows=(off(0, 1.25), on(1.25, 3.5), off(3.5, 24)))
    *_, role, binding, cron = run_manifests(calendar, [moved], followed(pretrain="llm"))
    assert role["rules"] == [
        {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": ["llm"], "verbs": ["get", "patch"]}
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "gridpace-follower", "namespace": "train"}]
    assert cron["spec"]["schedule"] == "0,10,15,20,30,40,50 * * * *"
    *_, role, _, _ = run_manifests(calendar, [moved], followed(kueue=True, pretrain="rayjob/llm"))
    assert role["rules"] == [  # names of Workloads are Kueue's, and a list cannot be limited by name
        {"apiGroups": ["ray.io"], "resources": ["rayjobs"], "resourceNames": ["llm"], "verbs": ["get"]},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["get", "list", "patch"]},
    ]


def test_the_job_of_the_page_is_one_that_the_follower_can_suspend(root):
    page = (root / "docs/kubernetes.md").read_text(encoding="utf-8")
    (fence,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    job = yaml.safe_load(fence)
    kubernetes_validate.validate(job, "1.31", strict=True)
    assert workload("--job", job["metadata"]["name"]).resource == "jobs.batch/pretrain"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one["value"] for one in container["env"]}["GRIDPACE_ON_OFF"] == "wait"


def test_a_hostile_run_name_runs_nothing(acted):
    hostile = "x'; touch PWNED #\n$(touch PWNED)"
    calendar, day = a_day(hostile)
    manifests = run_manifests(
        calendar, [day], Followed({hostile: workload("--job", "llm")}, "train", "t:1", kueue=False)
    )
    status, patches = acted(manifests, 2, {".spec.suspend": "false"})
    assert (status, len(patches)) == (0, 1)
    assert not Path("PWNED").exists()
    with pytest.raises(ConfigError, match="no name in Kubernetes"):
        workload("--job", "job/llm;reboot")
    with pytest.raises(ConfigError, match="kinds: job"):
        workload("--job", "pod/llm")


def test_the_command_writes_what_it_was_asked_for_and_names_what_it_leaves_out(tmp_path):
    calendar, day = a_day()
    write_calendar(tmp_path / "calendars", calendar, [day, replace(day, run="other")])
    out = tmp_path / "k"
    words = ["export", "kubernetes", str(tmp_path), "--out", str(out)]
    agent = ["--agent-image", "gridpace:1", "--uid", "pretrain=2000"]
    jobs = ["--job", "pretrain=llm", "--job-namespace", "train", "--kubectl-image", "tools:1"]
    done = CliRunner().invoke(cli, words + agent + jobs)
    assert done.exit_code == 0, done.output
    assert "neither suspended nor resumed: other" in done.output
    assert sorted(path.name for path in out.iterdir()) == ["agent.yaml", "calendar.yaml", "runs.yaml"]
    for file in out.iterdir():
        for manifest in yaml.safe_load_all(file.read_text()):
            kubernetes_validate.validate(manifest, "1.31", strict=True)
    for wrong, told in (
        ([*words, "--job", "pretrain=llm"], "go together"),
        ([*words, "--uid", "pretrain=2000"], "go together"),
        ([*words, "--agent-image", "a", "--uid", "pretrain=root"], "is no user id"),
        ([*words, "--agent-image", "a", "--uid", "pretrain=" + "9" * 5000], "is no user id"),
        ([*words, "--agent-image", "a", "--uid", f"pretrain={2**31}"], "is no user id"),
        ([*words, "--agent-image", "", "--uid", "pretrain=2000"], "is no image"),
        ([*words, "--agent-image", "a: b", "--uid", "pretrain=2000"], "is no image"),
        ([*words, "--namespace", "Grid Pace"], "no name in Kubernetes"),
        ([*words, *agent, "--runtime-class", "a: b"], "no name in Kubernetes"),
        ([*words, "--job", "pretrain=job/a..b", "--kubectl-image", "t:1"], "no name in Kubernetes"),
        ([*words, "--job", "pretrain=" + "a" * 254, "--kubectl-image", "t:1"], "no name in Kubernetes"),
        ([*words, *agent, "--node-label", "gpu"], "is no label"),
        ([*words, *agent, "--node-label", "gpu=a b"], "is no label"),
        ([*words, *agent, "--node-label", "a//b=c"], "is no label"),
    ):
        refused = CliRunner().invoke(cli, wrong)
        assert refused.exit_code != 0
        assert told in str(refused.exception) + refused.output
