"""The hub of a node: what it answers, what it refuses, and how it notices that a rank is dead."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hub_ranks import ME, PATIENT, QUICK, RankThread, finish, start, until
from trainer_hooks.agreement.hub import Hub
from trainer_hooks.agreement.messages import Report, report_document
from trainer_hooks.agreement.session import HubAgreement, Place
from trainer_hooks.agreement.wish import Wish
from trainer_hooks.agreement.word import Word
from trainer_hooks.errors import AgentError, AgentGone
from trainer_hooks.wire import Peer

A, B = "a" * 16, "b" * 16


@pytest.fixture
def hub(tmp_path):
    hub = Hub(tmp_path, timing=PATIENT)
    yield hub
    hub.close()


def report(rank=0, incarnation=A, version=1, step=0, wish=Wish.GO, settled=0, epoch=0, mark="none"):
    return report_document(Report(rank, incarnation, version, step, wish, settled, epoch, mark))


def sync(hub, peer=ME, job="job", ranks=2, **members):
    return hub.handle(peer, {"op": "agree.sync", "job": job, "ranks": ranks, "report": report(**members)})


def test_all_hold_at_one_step_and_go_on_together(hub):
    wants = {"now": False}
    ranks = [RankThread(hub, 0, 3, wish=lambda _step: Wish.HOLD if wants["now"] else Wish.GO)]
    ranks += [RankThread(hub, number, 3) for number in (1, 2)]
    start(*ranks)
    for held in (1, 2, 3):
        wants["now"] = True
        until(lambda held=held: all(len(rank.held) == held for rank in ranks))
        wants["now"] = False
        before = [rank.step for rank in ranks]
        until(lambda before=before: all(rank.step > step for rank, step in zip(ranks, before, strict=True)))
    finish(*ranks)
    assert ranks[0].held == ranks[1].held == ranks[2].held


def test_a_stop_of_any_rank_ends_all_at_one_step_saved(hub):
    told = {"stop": False}
    stopping = RankThread(hub, 1, 3)
    stopping.wish = lambda step: (
        Wish.GO if not told["stop"] else Wish.EXIT if step in stopping.saved else Wish.SAVE_EXIT
    )
    ranks = [RankThread(hub, 0, 3), stopping, RankThread(hub, 2, 3)]
    start(*ranks)
    until(lambda: all(rank.step > 5 for rank in ranks))
    told["stop"] = True
    until(lambda: all(rank.ended_at for rank in ranks))
    finish(*ranks)
    assert len({rank.ended_at for rank in ranks}) == 1
    assert {tuple(rank.saved) for rank in ranks} == {(ranks[0].ended_at,)}


def test_a_checkpoint_that_one_rank_cannot_write_lets_all_go_on(hub):
    ranks = [RankThread(hub, 0, 2), RankThread(hub, 1, 2, saves=False)]
    ranks[0].wish = lambda _step: Wish.GO if ranks[0].failed else Wish.SAVE_HOLD
    start(*ranks)
    until(lambda: ranks[0].failed and ranks[1].failed)
    finish(*ranks)
    assert ranks[0].failed == ranks[1].failed == ranks[0].saved == ranks[1].saved
    assert ranks[0].held == []


def test_a_rank_that_stops_answering_holds_the_others_no_longer_than_the_timeout(tmp_path):
    hub = Hub(tmp_path, timing=QUICK)
    ranks = [RankThread(hub, 0, 2, wish=lambda _step: Wish.HOLD, timing=QUICK), RankThread(hub, 1, 2, timing=QUICK)]
    start(*ranks)
    until(lambda: all(rank.held for rank in ranks))
    ranks[1].end.set()
    step, silent_s = ranks[0].step, time.monotonic()
    until(lambda: ranks[0].step > step)
    assert time.monotonic() - silent_s > QUICK.timeout_s / 2
    finish(*ranks)
    hub.close()


def test_a_dead_process_is_noticed_at_once(hub):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    sync(hub, wish=Wish.HOLD)
    sync(hub, Peer(child.pid, ME.uid, ME.gid), rank=1, incarnation=B)
    until(lambda: sync(hub, version=2, wish=Wish.HOLD)["order"]["phase"] == "ask")
    child.kill()
    child.wait()
    hub.tick()
    order = sync(hub, version=3, wish=Wish.HOLD)["order"]
    assert (order["phase"], order["outcome"], order["why"]) == ("idle", "aborted", "rank 1 ended")


def test_ranks_that_have_not_joined_are_told_and_nobody_stops(hub):
    order = sync(hub, ranks=3, wish=Wish.HOLD)["order"]
    assert (order["phase"], order["why"]) == ("idle", "2 of 3 ranks have not joined")
    assert sync(hub, ranks=3, rank=1, incarnation=B)["order"]["phase"] == "idle"


def test_a_rank_that_starts_again_joins_anew_and_its_past_is_not_heard(hub):
    sync(hub, wish=Wish.HOLD)
    until(lambda: sync(hub, rank=1, incarnation=B, version=9)["order"]["phase"] == "ask")
    assert sync(hub, rank=1, incarnation="c" * 16, version=1)["order"]["why"] == "rank 1 started again"
    assert sync(hub, rank=1, incarnation=B, version=10, epoch=1, mark="seen")["order"]["outcome"] == "aborted"


def test_the_word_changes_with_the_order_and_belongs_to_the_job(hub):
    answer = sync(hub, wish=Wish.HOLD)
    word = Word(answer["word"])
    before = word.read()
    assert before == answer["order"]["number"]
    until(lambda: sync(hub, rank=1, incarnation=B)["order"]["phase"] == "ask")
    assert word.read() == before + 1
    assert Path(answer["word"]).stat().st_mode & 0o007 == 0
    assert sync(hub, job="another")["word"] != answer["word"]


def test_jobs_of_two_users_never_meet(hub):
    sync(hub, wish=Wish.HOLD)
    stranger = sync(hub, Peer(ME.pid, 4711, 4711), rank=1, incarnation=B)
    assert stranger["order"]["phase"] == "idle"
    assert sync(hub, version=2, wish=Wish.HOLD)["order"]["phase"] == "idle"


def test_a_word_that_its_reader_cut_short_ends_no_hub(hub):
    answer = sync(hub, wish=Wish.HOLD)
    os.truncate(answer["word"], 0)
    until(lambda: sync(hub, rank=1, incarnation=B)["order"]["phase"] == "ask")


@pytest.mark.parametrize(
    "message",
    [
        {"op": "agree.everything"},
        {"op": "agree.sync", "job": "", "ranks": 2, "report": report()},
        {"op": "agree.sync", "job": "j" * 201, "ranks": 2, "report": report()},
        {"op": "agree.sync", "job": "job", "ranks": 0, "report": report()},
        {"op": "agree.sync", "job": "job", "ranks": 2**40, "report": report()},
        {"op": "agree.sync", "job": "job", "ranks": 2, "report": report(rank=2)},
        {"op": "agree.sync", "job": "job", "ranks": 2, "report": {**report(), "mark": "king"}},
        {"op": "agree.sync", "job": "job", "ranks": 2, "report": {**report(), "step": -1}},
        {"op": "agree.sync", "job": "job", "ranks": 2, "report": {**report(), "wish": True}},
        {"op": "agree.sync", "job": "job", "ranks": 2, "report": {**report(), "incarnation": "../../etc"}},
        {"op": "agree.sync", "job": "job", "ranks": 2, "root": "10.0.0.1:22", "report": report()},
        {"op": "agree.sync", "job": "job", "ranks": 2, "root": ["x"], "report": report()},
        {"op": "agree.sync", "job": "job", "ranks": 2, "report": None},
        {"op": "agree.leave", "job": "job", "ranks": 2, "rank": "0", "incarnation": A},
    ],
)
def test_messages_that_are_none_are_refused(hub, message):
    with pytest.raises(AgentError):
        hub.handle(ME, message)


def test_one_user_cannot_take_all_places(hub):
    stranger = Peer(ME.pid, 4711, 4711)
    for number in range(16):
        sync(hub, stranger, job=f"job-{number}")
    with pytest.raises(AgentError, match="jobs of user 4711"):
        sync(hub, stranger, job="one more")
    assert sync(hub)["order"]["phase"] == "idle"


def test_a_rank_without_a_hub_trains_on_and_asks_seldom(caplog):
    asked = []

    def gone(message):
        asked.append(message)
        raise AgentGone("agent", "it does not answer.", "Start it.")

    agreement = HubAgreement(Place("job", 0, 2), gone, 1.0)
    assert {agreement.stance(step, Wish.HOLD) for step in range(200)} == {"go"}
    assert len(asked) == 1
    assert sum("does not answer" in record.getMessage() for record in caplog.records) == 1
    assert 0.0 < agreement.due_in_s() <= 1.0


@pytest.mark.parametrize("reached", [True, False])
def test_a_long_checkpoint_is_waited_for_unless_nothing_is_heard_of_its_rank(tmp_path, reached):
    hub = Hub(tmp_path, timing=replace(QUICK, save_s=30.0, silence_s=0.3))
    leading, other = (RankThread(hub, rank, 2, timing=QUICK) for rank in (0, 1))
    leading.wish = lambda step: Wish.HOLD if leading.saved else Wish.SAVE_HOLD
    saved = other.agreement.saved

    def write(ok):
        if not reached:
            other.agreement._ask = gone
        time.sleep(0.9)
        saved(ok)

    other.agreement.saved = write
    start(leading, other)
    until(lambda: leading.held if reached else leading.failed)
    assert (bool(leading.failed), bool(leading.held)) == (not reached, reached)
    finish(leading, other)
    hub.close()


def gone(_message):
    raise AgentGone("the hub", "it is not there.", "Wait.")


def test_a_rank_that_hangs_in_its_checkpoint_holds_the_others_as_long_as_the_job_says(tmp_path):
    now_s = [0.0]
    hub = Hub(tmp_path, timing=PATIENT, monotonic=lambda: now_s[0])
    ranks = [
        HubAgreement(
            Place("job", rank, 2, save_s=3),
            lambda message: hub.handle(ME, message),
            PATIENT.timeout_s,
            monotonic=lambda: now_s[0],
        )
        for rank in (0, 1)
    ]
    steps, stances = [0, 0], ["go", "go"]
    for _ in range(20):
        for rank in (0, 1):
            if stances[rank] != "save":
                steps[rank] += stances[rank] == "go"
                stances[rank] = ranks[rank].stance(steps[rank], Wish.SAVE if rank == 0 and steps[1] else Wish.GO)
    assert stances == ["save", "save"]
    ranks[0].saved(ok=True)
    now_s[0] = 2.9
    hub.tick()
    assert ranks[0].stance(steps[0], Wish.SAVE) == "wait"
    now_s[0] = 3.1
    hub.tick()
    assert ranks[0].stance(steps[0], Wish.SAVE) == "failed"
    for rank in ranks:
        rank.close()
    hub.close()
