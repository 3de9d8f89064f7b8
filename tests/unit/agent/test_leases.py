"""Claims on boards: the lowest holds, what was found is recorded first and given back, others' limits are left."""

from __future__ import annotations

import json
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import A, B, PlainGpu
from trainer_hooks.agent.bounds import Bounds
from trainer_hooks.agent.leases import LeaseBook, LeaseRules, Wish
from trainer_hooks.agent.store import LeaseStore
from trainer_hooks.errors import AgentBusy, AgentError

GENEROUS = LeaseRules(writes_per_s=1000.0, write_burst=1000.0)


class Node:
    """A book on boards, with a clock that the test moves; `again` is the agent after it was killed."""

    def __init__(self, folder, *gpus, rules=GENEROUS, bounds=None, boot="boot-1"):
        self.folder, self.gpus, self.rules, self.now_s = folder, gpus, rules, 100.0
        self.bounds = bounds or {}
        self.said = []
        self.store = LeaseStore(folder, boot)
        own = {gpu.uuid: self.bounds.get(gpu.uuid, Bounds()) for gpu in gpus}
        self.book = LeaseBook(gpus, own, self.store, lambda: self.now_s, self.said.append, rules)

    def again(self, boot="boot-1"):
        node = Node(self.folder, *self.gpus, rules=self.rules, bounds=self.bounds, boot=boot)
        node.now_s = self.now_s
        node.book.recover()
        return node

    def lease(self, limit_w, gpu=A, uid=1000, ttl_s=10.0, names=()):
        return self.book.lease(Wish(gpu, limit_w, ttl_s, uid, 7, "me"), names)

    def after(self, seconds):
        self.now_s += seconds
        self.book.tick()
        return self

    def record(self):
        return json.loads(self.store.file.read_text())["boards"]


@pytest.fixture
def gpu():
    return PlainGpu(A, 650.0)


@pytest.fixture
def node(tmp_path, gpu):
    return Node(tmp_path, gpu)


def test_a_lease_lapses_and_what_was_found_comes_back_not_the_maximum(node, gpu):
    _, verdict, waits_s = node.lease(300.0)
    assert (verdict.outcome, gpu.limit_w, waits_s) == ("applied", 300.0, 0.0)
    assert node.after(9.9).gpus[0].limit_w == 300.0
    node.after(0.2)
    assert gpu.limit_w == 650.0
    assert gpu.range_w[1] == 700.0
    assert any("has lapsed after 10 s" in sentence for sentence in node.said)


def test_a_renewed_lease_lives_on(node, gpu):
    name, _, _ = node.lease(300.0)
    for _ in range(5):
        node.after(9.0)
        assert node.book.renew([name, "unknown"], 1000, lambda _gpu: True) == {name: True, "unknown": False}
    assert gpu.limit_w == 300.0
    node.after(10.1)
    assert gpu.limit_w == 650.0
    assert node.book.renew([name], 1000, lambda _gpu: True) == {name: False}


def test_a_lease_whose_time_is_up_cannot_be_renewed_though_nobody_looked_yet(node):
    name, _, _ = node.lease(300.0)
    node.now_s += 11.0
    assert node.book.renew([name], 1000, lambda _gpu: True) == {name: False}


def test_the_record_is_on_the_disk_before_the_board_is_touched(node, gpu):
    seen = []
    gpu.before_set = lambda: seen.append(node.record())
    node.lease(300.0)
    (held,) = seen[0]
    assert (held["gpu"], held["prior_w"], held["marks_w"]) == (A, 650.0, [300.0])
    assert gpu.sets == [300.0]


def test_a_record_that_cannot_be_written_leaves_the_board_alone(node, gpu, monkeypatch):
    monkeypatch.setattr(node.store, "write", lambda _held: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(AgentBusy, match=r"the limit found, 650 W, cannot be recorded .*No space left"):
        node.lease(300.0)
    assert (gpu.limit_w, gpu.sets, node.book.owed()) == (650.0, [], ())
    monkeypatch.undo()
    assert node.lease(300.0)[1].applied


def test_a_limit_that_the_board_rounds_by_itself_is_known_as_ours(node, gpu, monkeypatch):
    honest = PlainGpu.set_power_limit_w
    monkeypatch.setattr(PlainGpu, "set_power_limit_w", lambda self, limit_w: honest(self, limit_w + 20.0))
    node.lease(300.0)
    monkeypatch.undo()
    assert gpu.limit_w == 320.0
    assert node.again().after(11.0).gpus[0].limit_w == 650.0


def test_of_several_claims_the_lowest_is_in_force_until_it_ends(node, gpu):
    first, _, _ = node.lease(400.0, ttl_s=50.0)
    second, verdict, _ = node.lease(300.0, uid=1001)
    assert (verdict.outcome, gpu.limit_w) == ("applied", 300.0)
    _, verdict, _ = node.lease(350.0, ttl_s=50.0)
    assert (verdict.outcome, verdict.requested_w, verdict.limit_w) == ("clamped", 350.0, 300.0)
    node.book.release(second, 1001)
    assert gpu.limit_w == 350.0
    node.book.release(first, 1000)
    assert gpu.limit_w == 350.0
    assert node.after(60.0).gpus[0].limit_w == 650.0


def test_a_claim_that_changes_keeps_its_name(node, gpu):
    name, _, _ = node.lease(300.0)
    again, _, _ = node.lease(450.0, names=[name])
    assert (again, gpu.limit_w) == (name, 450.0)
    assert node.after(11.0).gpus[0].limit_w == 650.0


def test_names_are_drawn_by_the_agent_so_that_nobody_takes_another_s(node, gpu):
    mine, _, _ = node.lease(300.0)
    node.book.guard(A, 250.0)
    for stolen in (mine, "guard", "chosen"):
        name, _, _ = node.lease(600.0, uid=1001, names=[stolen])
        assert name not in {mine, "guard", "chosen"}
        assert gpu.limit_w == 250.0
    assert node.book.release(mine, 1001) == {}
    assert node.book.release("guard", 1001) == {}
    assert node.book.renew([mine, "guard"], 1001, lambda _gpu: True) == {mine: False, "guard": False}


def test_a_limit_that_someone_else_set_is_left_and_told(node, gpu):
    node.lease(300.0)
    gpu.limit_w = 450.0
    node.after(11.0)
    assert gpu.limit_w == 450.0
    assert f"GPU {A}: limit is 450 W, ours was 300 W: left as it is." in node.said
    assert node.book.owed() == ()


def test_a_limit_that_someone_else_set_while_ours_lives_is_not_fought_and_is_given_back_later(node, gpu):
    name, _, _ = node.lease(300.0)
    gpu.limit_w = 450.0
    node.after(1.0).after(1.0)
    assert gpu.limit_w == 450.0
    assert node.book.state_of(A)["overridden"] is True
    assert sum("left as it is" in sentence for sentence in node.said) == 1
    _, verdict, _ = node.lease(250.0, names=[name])
    assert (verdict.outcome, gpu.limit_w) == ("applied", 250.0)
    assert node.book.state_of(A)["overridden"] is False
    node.book.release(name, 1000)
    assert gpu.limit_w == 450.0


@pytest.mark.parametrize("meets", ["look", "lease"])
def test_a_limit_that_went_with_the_driver_is_set_again_and_what_was_found_first_is_given_back(node, gpu, meets):
    name, _, _ = node.lease(300.0)
    gpu.limit_w, gpu.energy = 700.0, 12.0  # loaded anew: its own limit, and a counter that begins again
    if meets == "look":
        node.after(1.0)
        assert gpu.limit_w == 300.0
    else:
        node.lease(290.0, names=[name])
        assert gpu.limit_w == 290.0
    assert node.book.state_of(A)["overridden"] is False
    assert any("its driver was loaded anew" in sentence for sentence in node.said)
    assert node.again().after(11.0).gpus[0].limit_w == 650.0


def test_a_lease_that_lapses_while_the_driver_is_loaded_anew_gives_back_what_was_found(node, gpu):
    node.lease(300.0)
    gpu.limit_w, gpu.energy = 700.0, 12.0
    node.after(11.0)
    assert gpu.limit_w == 650.0


def test_a_killed_agent_goes_on_where_it_was_and_gives_back_within_the_lease_time(node, gpu):
    name, _, _ = node.lease(300.0)
    after = node.again()
    assert gpu.limit_w == 300.0
    assert after.book.renew([name], 1000, lambda _gpu: True) == {name: True}
    assert after.after(10.1).gpus[0].limit_w == 650.0


def test_a_board_that_was_changed_between_record_and_setter_is_known_by_either_limit(node, gpu):
    name, _, _ = node.lease(300.0)
    gpu.before_set = lambda: (_ for _ in ()).throw(SystemExit)
    with pytest.raises(SystemExit):
        node.lease(250.0, names=[name])
    gpu.before_set = lambda: None
    assert gpu.limit_w == 300.0
    assert node.again().after(11.0).gpus[0].limit_w == 650.0


def test_after_a_reboot_claims_are_void_and_only_a_limit_of_ours_is_taken_back(node, gpu):
    node.lease(300.0)
    still = node.again(boot="boot-2")
    assert gpu.limit_w == 650.0
    still.lease(300.0)
    gpu.limit_w = 700.0  # what the driver sets when it is loaded
    fresh = still.again(boot="boot-3")
    assert gpu.limit_w == 700.0
    assert f"GPU {A}: limit is 700 W, ours was 300 W: left as it is." in fresh.said
    assert fresh.record() == []


def test_a_record_of_no_use_is_set_aside_and_no_board_is_touched(node, gpu):
    node.lease(300.0)
    node.store.file.write_text('{"schema": "gridpace.leases/1", "boot_id": "boot-1", "boa')
    after = node.again()
    assert gpu.limit_w == 300.0
    assert any("leases.json.bad" in sentence for sentence in after.said)
    assert after.lease(250.0)[1].applied


def test_what_is_owed_to_a_board_that_is_away_is_kept(tmp_path, gpu):
    other = PlainGpu(B, 500.0)
    both = Node(tmp_path, gpu, other)
    both.lease(300.0, gpu=B)
    alone = Node(tmp_path, gpu)
    alone.book.recover()
    alone.lease(400.0)
    assert {board["gpu"] for board in alone.record()} == {A, B}
    assert both.again().after(11.0).gpus[1].limit_w == 500.0


def test_a_silent_board_gets_its_limit_back_when_it_speaks_again(node, gpu):
    name, _, _ = node.lease(300.0)
    gpu.silent = True
    node.book.release(name, 1000)
    node.after(1.0).after(1.0)
    assert node.book.tick() <= 1.0, "it looks again soon"
    gpu.silent = False
    node.book.tick()
    assert gpu.limit_w == 650.0
    assert sum("does not answer" in sentence for sentence in node.said) == 1


def test_one_broken_board_does_not_keep_the_others_from_their_limits(tmp_path, gpu):
    other = PlainGpu(B, 500.0)
    node = Node(tmp_path, gpu, other)
    node.lease(300.0)
    node.lease(300.0, gpu=B)
    gpu.before_set = lambda: 1 / 0
    node.book.close()
    assert other.limit_w == 500.0
    assert any("ZeroDivisionError" in sentence for sentence in node.said)
    assert [held.gpu for held in node.book.owed()] == [A]


@pytest.mark.parametrize("outcome", ["denied", "unsupported"])
def test_a_board_that_refuses_leaves_nothing_behind(node, gpu, outcome):
    gpu.refuses = outcome
    _, verdict, _ = node.lease(300.0)
    assert (verdict.outcome, verdict.requested_w) == (outcome, 300.0)
    assert node.book.owed() == ()
    assert node.record() == []


def test_bounds_hold_and_without_a_ceiling_nobody_raises_what_was_found(tmp_path, gpu):
    node = Node(tmp_path, gpu, bounds={A: Bounds(floor_w=250.0)})
    name, verdict, _ = node.lease(100.0)
    assert (verdict.outcome, gpu.limit_w) == ("clamped", 250.0)
    _, verdict, _ = node.lease(700.0, names=[name])
    assert (verdict.outcome, gpu.limit_w) == ("clamped", 650.0)
    (tmp_path / "other").mkdir()
    above = Node(tmp_path / "other", PlainGpu(B, 500.0), bounds={B: Bounds(ceiling_w=600.0)})
    assert above.lease(700.0, gpu=B)[1].limit_w == 600.0


def test_too_many_too_often_too_long(tmp_path, gpu):
    node = Node(tmp_path, gpu, rules=LeaseRules(writes_per_s=1.0, write_burst=3.0, claims_per_user=2, longest_s=60.0))
    for ttl_s in (0.0, 0.1, 61.0, -1.0, float("nan")):
        with pytest.raises(AgentError, match="is not within"):
            node.lease(300.0, ttl_s=ttl_s)
    node.lease(300.0)
    node.lease(310.0)
    with pytest.raises(AgentError, match="holds 2 claims on it already"):
        node.lease(320.0)
    with pytest.raises(AgentBusy, match="more than 1 times a second"):
        node.lease(330.0)
    assert gpu.sets == [300.0, 300.0]
    node.now_s += 2.0
    name = next(iter(node.book.boards[A].claims))
    assert node.lease(280.0, names=[name])[1].applied


def test_a_raise_waits_for_the_node_s_turn_and_a_cut_does_not(tmp_path, gpu):
    node = Node(tmp_path, gpu, rules=LeaseRules(writes_per_s=99.0, write_burst=99.0, rise_after_s=4.0))
    name, _, waits_s = node.lease(300.0, ttl_s=60.0)
    assert (waits_s, gpu.limit_w) == (0.0, 300.0)
    _, _, waits_s = node.lease(500.0, ttl_s=60.0, names=[name])
    assert (waits_s, gpu.limit_w) == (4.0, 300.0)
    assert node.book.tick() == pytest.approx(4.0)
    assert node.after(3.9).gpus[0].limit_w == 300.0
    assert node.after(0.2).gpus[0].limit_w == 500.0
    assert node.lease(250.0, ttl_s=60.0, names=[name])[2] == 0.0
    assert gpu.limit_w == 250.0
    node.book.release(name, 1000)
    assert node.after(3.9).gpus[0].limit_w == 250.0
    assert node.after(0.2).gpus[0].limit_w == 650.0


def test_the_guard_s_claim_is_lowest_for_as_long_as_it_holds(node, gpu):
    node.lease(400.0, ttl_s=60.0)
    node.book.guard(A, 320.0)
    assert gpu.limit_w == 320.0
    assert node.book.free_limit_w(A) == 400.0
    assert node.again().gpus[0].limit_w == 320.0, "a new agent makes up its own mind"
    node.book.guard(A, None)
    assert gpu.limit_w == 400.0


def test_a_limit_hardly_below_the_one_found_is_given_back_too(node, gpu):
    node.lease(649.5)
    assert gpu.limit_w == 649.5
    node.after(10.1)
    assert gpu.limit_w == 650.0


def test_everything_is_given_back_at_the_end(tmp_path):
    gpus = [PlainGpu(A, 650.0), PlainGpu(B, 300.0)]
    node = Node(tmp_path, *gpus)
    node.lease(200.0)
    node.lease(250.0, gpu=B)
    node.book.close()
    assert [gpu.limit_w for gpu in gpus] == [650.0, 300.0]
    with pytest.raises(AgentBusy, match="it is ending"):
        node.lease(200.0)
    assert node.record() == []


def a_story_ends_well(folder, story):
    gpu = PlainGpu(A, 650.0)
    node = Node(folder, gpu, rules=LeaseRules(writes_per_s=1e6, write_burst=1e6, claims_per_user=99))
    for what, number, uid in story:
        if what == "lease":
            node.lease(number, uid=uid)
            assert gpu.limit_w <= 650.0
        elif what == "wait":
            node.after(number)
        elif what == "kill":
            node = node.again()
        elif what == "guard":
            node.book.guard(A, number)
        else:
            gpu.silent = not gpu.silent
    gpu.silent = False
    node.book.guard(A, None)
    node.after(10.1).after(1.0)
    assert gpu.limit_w == 650.0
    assert node.book.owed() == ()


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("lease"), st.floats(50.0, 900.0), st.integers(1000, 1002)),
            st.tuples(st.just("wait"), st.floats(0.1, 12.0), st.just(0)),
            st.tuples(st.just("kill"), st.just(0.0), st.just(0)),
            st.tuples(st.just("guard"), st.floats(120.0, 600.0), st.just(0)),
            st.tuples(st.just("silent"), st.just(0.0), st.just(0)),
        ),
        max_size=25,
    )
)
def test_whatever_happens_what_was_found_comes_back_one_lease_time_after_the_last_claim(tmp_path_factory, story):
    with mock.patch("os.fsync"):  # no power is cut here
        a_story_ends_well(tmp_path_factory.mktemp("n"), story)
