"""Who a peer is, and which GPUs and runs are its own."""

from __future__ import annotations

import os

import pytest

from tests.agents import A, B
from trainer_hooks.agent.grants import GrantBook, grant_for, grant_from, may_read
from trainer_hooks.agent.identity import Identity, identify
from trainer_hooks.agent.sections import Section
from trainer_hooks.errors import AgentError
from trainer_hooks.wire import Peer


def grant(name="grant me", **values):
    return grant_from(Section("agent.ini", name, {key: str(value) for key, value in values.items()}))


def who(uid=1000, cgroups=(), jobs=()):
    return Identity(uid, frozenset(cgroups), frozenset(jobs))


def process(folder, pid, cgroup):
    (folder / str(pid)).mkdir()
    (folder / str(pid) / "cgroup").write_text(cgroup)
    return Peer(pid, os.getuid(), os.getgid())


@pytest.mark.parametrize(
    ("cgroup", "jobs"),
    [
        ("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n", {4711}),
        ("0::/system.slice/node7_slurmstepd.scope/job_12/step_batch\n", {12}),
        ("4:memory:/slurm/uid_1000/job_88/step_0\n1:name=systemd:/user.slice\n", {88}),
        ("4:devices:/slurm_gpu01/uid_1000/job_88\n", {88}),
        ("0::/user.slice/user-1000.slice/user@1000.service/slurmstepd.scope/job_4711\n", set()),
        ("0::/user.slice/slurm/uid_1000/job_88\n", set()),
        ("0::/system.slice/slurmstepd.scope/job_4711x/step_0\n", set()),
        ("1:name=systemd:/slurm/uid_1000/job_88\n", set()),
        ("", set()),
        ("no colons here\n0:\n", set()),
    ],
)
def test_a_slurm_job_is_one_that_slurmd_made_at_the_root_and_no_look_alike(tmp_path, cgroup, jobs):
    assert identify(process(tmp_path, 42, cgroup), tmp_path).slurm_jobs == jobs


def test_a_process_that_is_gone_or_another_user_s_by_now_has_only_its_user(tmp_path):
    gone = identify(Peer(7, 1000, 1000), tmp_path)
    assert gone == who(1000)
    mine = process(tmp_path, 42, "0::/system.slice/slurmstepd.scope/job_1\n")
    reused = identify(Peer(42, mine.uid + 1, mine.gid), tmp_path)
    assert reused == who(mine.uid + 1)


def test_this_process_is_found_in_the_real_proc():
    assert identify(Peer(os.getpid(), os.getuid(), os.getgid())).uid == os.getuid()


def test_every_condition_of_a_grant_has_to_be_met():
    both = grant(gpus=A, uids="1000, 1001", slurm_jobs=4711)
    assert grant_for([both], who(1000, jobs=[4711]), A) is both
    assert grant_for([both], who(1001, jobs=[4711, 9]), A) is both
    assert grant_for([both], who(1000), A) is None
    assert grant_for([both], who(1002, jobs=[4711]), A) is None
    assert grant_for([both], who(1000, jobs=[4711]), B) is None


def test_a_control_group_counts_with_all_below_it_and_no_name_that_only_begins_alike():
    own = grant(gpus="all", cgroups="/kubepods/pod-7/")
    assert grant_for([own], who(0, ["/kubepods/pod-7"]), A)
    assert grant_for([own], who(0, ["/kubepods/pod-7/container"]), B)
    assert grant_for([own], who(0, ["/kubepods/pod-77"]), A) is None


def test_root_in_a_container_is_nobody_special():
    assert grant_for([grant(gpus="all", uids=1000)], who(0), A) is None


def test_runs_are_read_by_those_they_were_granted_to():
    grants = [grant(gpus=A, uids=1000, runs="llm-8b, llm-70b"), grant(gpus=B, uids=1001)]
    assert may_read(grants, who(1000), "llm-70b")
    assert not may_read(grants, who(1000), "other")
    assert may_read(grants, who(1001), "any")
    assert not may_read(grants, who(1002), "llm-8b")


@pytest.mark.parametrize(
    ("values", "key", "why"),
    [
        ({"uids": 1000}, "gpus", "it is missing"),
        ({"gpus": "0, 1", "uids": 1000}, "gpus", "'0' is not a GPU's UUID"),
        ({"gpus": "GPU-../../etc", "uids": 1000}, "gpus", "is not a GPU's UUID"),
        ({"gpus": A}, "uids", "nothing says who is meant"),
        ({"gpus": A, "uids": "no-such-user"}, "uids", "this node has no user 'no-such-user'"),
        ({"gpus": A, "cgroups": "kubepods"}, "cgroups", "is not the path of a group below the root"),
        ({"gpus": A, "cgroups": "/"}, "cgroups", "is not the path of a group below the root"),
        ({"gpus": A, "cgroups": "/a/../b"}, "cgroups", "is not the path of a group below the root"),
        ({"gpus": A, "slurm_jobs": "4711x"}, "slurm_jobs", "is not a job's number"),
        ({"gpus": A, "uid": 1000}, "uid", "there is no such key. Did you mean 'uids'?"),
    ],
)
def test_a_grant_that_says_too_little_is_refused_in_words(values, key, why):
    with pytest.raises(AgentError) as told:
        grant(**values)
    assert told.value.what == f"agent.ini, section [grant me], key {key}"
    assert why in str(told.value)


def test_a_folder_of_grants_is_followed_as_it_changes(tmp_path, caplog):
    book = GrantBook([grant(gpus=A, uids=1000)], tmp_path)
    assert len(book.grants()) == 1
    job = tmp_path / "job-4711.json"
    job.write_text(f'{{"grant job-4711": {{"gpus": ["{B}"], "slurm_jobs": [4711]}}}}')
    assert grant_for(book.grants(), who(5, jobs=[4711]), B).name == "job-4711"
    job.write_text(f'{{"grant job-4711": {{"gpus": ["{A}"], "slurm_jobs": [4711, 4712]}}}}')
    assert grant_for(book.grants(), who(5, jobs=[4712]), A)
    assert grant_for(book.grants(), who(5, jobs=[4711]), B) is None
    job.unlink()
    assert len(book.grants()) == 1
    assert not caplog.records


@pytest.mark.parametrize("spoil", ["broken", "writable", "link", "foreign"])
def test_a_grant_file_of_no_use_grants_nothing_and_the_others_hold(tmp_path, caplog, spoil):
    (tmp_path / "a.ini").write_text(f"[grant a]\ngpus = {A}\nuids = 1000\n")
    bad = tmp_path / "b.ini"
    bad.write_text(f"[grant b]\ngpus = {B}\nuids = 1000\n")
    if spoil == "broken":
        bad.write_text("[grant b\n")
    elif spoil == "writable":
        bad.chmod(0o666)
    elif spoil == "foreign":
        bad.write_text("[agent]\nsocket = /x\n")
    else:
        elsewhere = tmp_path / "elsewhere.txt"
        bad.rename(elsewhere)
        bad.symlink_to(elsewhere)
    book = GrantBook((), tmp_path)
    for _ in range(3):
        assert [found.name for found in book.grants()] == ["a"]
    (told,) = caplog.records
    assert "It grants nothing until then" in told.getMessage()


def test_a_folder_that_others_may_write_grants_nothing(tmp_path, caplog):
    (tmp_path / "a.ini").write_text(f"[grant a]\ngpus = {A}\nuids = 1000\n")
    tmp_path.chmod(0o777)
    book = GrantBook((), tmp_path)
    assert book.grants() == book.grants() == ()
    assert len(caplog.records) == 1
