"""A training's side of the agent: leases renewed, an agent that goes and comes, children that are forked."""

from __future__ import annotations

import os
import threading
import time
import warnings

import pytest

from tests.agents import A, B, PlainGpu, agent_here, grant, place, until
from tests.run_calendars import ManualClock, two_hours, window
from trainer_hooks import Governor
from trainer_hooks.agent_client import AgentClient, AgentGpu
from trainer_hooks.agent_environ import agent_client, leased
from trainer_hooks.agent_feed import AgentFeed
from trainer_hooks.calendar import write_calendar
from trainer_hooks.errors import AgentBusy, AgentError, AgentGone, CalendarError, SettingError
from trainer_hooks.limits import LeaseKeeper, LimitKeeper, LimitSet
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.wire import call


class Wire:
    """Stands for the agent at the other end; `answers` is called with each request."""

    def __init__(self):
        self.asked, self.gone, self.refuses, self.overridden, self.names = [], False, None, False, 0
        self.known = set()

    def __call__(self, _path, request, _timeout_s):
        self.asked.append(request["op"])
        if self.gone:
            raise AgentGone("agent", "it does not answer.", "Start it.")
        if self.refuses is not None:
            raise self.refuses
        if request["op"] == "lease":
            self.names += 1
            name = request["leases"][0] if request["leases"] else f"lease-{self.names}"
            self.known.add(name)
            verdict = {"gpu": request["gpus"][0], "requested_w": request["limit_w"], "limit_w": request["limit_w"]}
            return {"verdicts": [{**verdict, "enforced_w": None, "outcome": "applied", "lease": name}]}
        if request["op"] == "renew":
            gpu = {"gpu": A, "prior_w": 450.0, "overridden": self.overridden}
            return {"kept": {name: name in self.known for name in request["leases"]}, "gpus": [gpu], "etag": None}
        self.known.difference_update(request["leases"])
        return {"verdicts": []}


@pytest.fixture
def wire():
    return Wire()


@pytest.fixture
def client(wire):
    client = AgentClient("/x", ttl_s=3600.0, ask=wire)  # its own heartbeat comes after the test
    yield client
    client._stop.set()


@pytest.fixture
def spot():
    with place() as folder:
        yield folder


def test_a_lease_is_renewed_and_one_that_lapsed_is_taken_again(client, wire):
    assert client.limit(A, 300.0).outcome == "applied"
    client.beat()
    assert wire.asked == ["lease", "renew"]
    assert client.notices() == ()
    wire.known.clear()
    client.beat()
    assert wire.known == {"lease-1"}
    assert client.notices() == (f"GPU {A}: the lease had lapsed; 300 W is leased again.",)


def test_an_agent_that_is_gone_is_told_once_and_nobody_waits_for_it_but_the_heartbeat(client, wire):
    client.limit(A, 300.0)
    wire.gone = True
    client.beat()
    client.beat()
    (told,) = client.notices()
    assert "the agent is gone, limits stay as they are" in told
    assert "it does not answer" in client.gone
    asked = len(wire.asked)
    verdict = client.limit(A, 250.0)
    assert (verdict.outcome, verdict.why) == ("lost", "it does not answer.")
    assert client.limit(B, 250.0).outcome == "lost"
    with pytest.raises(AgentGone):
        client.calendar("run", "")
    assert len(wire.asked) == asked
    wire.gone = False
    client.beat()
    assert client.gone == ""
    assert client.notices()[0] == "the agent answers again."
    client.beat()
    assert {gpu: lease.limit_w for gpu, lease in client._leases.items()} == {A: 250.0, B: 250.0}
    assert client.limit(A, 250.0).outcome == "applied"


def test_an_agent_that_refuses_for_now_is_asked_again_and_one_that_refuses_is_not(client, wire):
    wire.refuses = AgentBusy("lease", "too often.", "Wait.")
    assert client.limit(A, 300.0).outcome == "lost"
    wire.refuses = AgentError("GPU", "you have no grant for it.", "Ask.")
    verdict = client.limit(B, 300.0)
    assert (verdict.outcome, verdict.why) == ("denied", "you have no grant for it.")
    wire.refuses = None
    client.beat()
    assert set(client._leases) == {A}
    assert client.notices() == (f"GPU {A}: 300 W is leased now.",)


def test_a_lease_that_is_granted_no_more_is_let_go(client, wire):
    client.limit(A, 300.0)
    wire.known.clear()
    renew = wire.__class__.__call__

    def ask(path, request, timeout_s):
        if request["op"] == "lease":
            raise AgentError("GPU", "you have no grant for it.", "Ask.")
        return renew(wire, path, request, timeout_s)

    client._ask = ask
    client.beat()
    assert client.notices() == (f"GPU {A}: 300 W is not leased any more: you have no grant for it.",)
    assert client._leases == {}


def test_someone_else_s_limit_is_told_once(client, wire):
    client.limit(A, 300.0)
    wire.overridden = True
    client.beat()
    client.beat()
    assert client.notices() == (f"GPU {A}: someone else has set another limit, 450.0 W.",)


def test_an_answer_that_makes_no_sense_is_no_verdict(client):
    for verdicts in ([], [3], [{"outcome": "fine"}], [{"gpu": A}]):
        client._ask = lambda *_, told=verdicts: {"verdicts": told}
        verdict = client.limit(A, 300.0)
        assert (verdict.outcome, "makes no sense" in verdict.why) == ("lost", True)


def test_a_forked_child_neither_renews_nor_ends_its_parent_s_leases(client, wire):
    keeper = LeaseKeeper(AgentGpu(PlainGpu(), client))
    keeper.apply(300.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        clean = keeper.restore() is None and client.gone == "" and client._thread is None and wire.asked == ["lease"]
        os._exit(0 if clean and client.limit(B, 200.0).applied and set(client._leases) == {B} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert set(client._leases) == {A}
    keeper.restore()
    assert wire.asked == ["lease", "release"]


def test_a_set_of_limits_leases_where_there_is_an_agent(client):
    own = PlainGpu(B, 500.0)
    limits = LimitSet([AgentGpu(PlainGpu(A), client), own])
    assert [type(keeper) for keeper in limits._keepers] == [LeaseKeeper, LimitKeeper]
    assert limits.set(300.0) == ()
    assert own.limit_w == 300.0
    assert limits.set(None) == ()
    assert own.limit_w == 500.0
    assert (limits.notices(), limits.agent_gone) == ((), "")


def test_what_the_environment_says(monkeypatch, spot):
    assert agent_client({"GRIDPACE_AGENT": "off"}) is None
    assert agent_client({"GRIDPACE_AGENT": ""}) is None
    monkeypatch.setattr("trainer_hooks.agent_environ.DEFAULT_SOCKET", spot / "run/none.sock")
    assert agent_client({}) is None
    named = agent_client({"GRIDPACE_AGENT": str(spot / "a.sock"), "GRIDPACE_LEASE_S": "5"})
    assert (named.path, named.ttl_s) == (spot / "a.sock", 5.0)
    assert agent_client({"GRIDPACE_AGENT": str(spot / "a.sock"), "GRIDPACE_LEASE_S": "5"}) is named
    for wrong in ("soon", "0", "nan", "1e9"):
        with pytest.raises(SettingError, match="GRIDPACE_LEASE_S"):
            agent_client({"GRIDPACE_AGENT": "/a", "GRIDPACE_LEASE_S": wrong})
    twin = SimulatedGpu()
    assert leased([twin, PlainGpu(A)], named)[0] is twin
    assert isinstance(leased([twin, PlainGpu(A)], named)[1], AgentGpu)
    assert leased([twin], None) == (twin,)


def test_limits_and_calendar_through_a_real_agent(spot):
    header, runs = two_hours("llm-8b", "other")
    long = tuple(window(20.0 * n, 20.0 * (n + 1), "run", limit_w=300.0 + n % 7) for n in range(360))
    runs = (runs[0].__class__(**{**vars(runs[0]), "windows": long}), runs[1])
    write_calendar(spot / "published", header, runs)
    source = f"[calendar]\nsource = {spot}/published\npoll_s = 0.1\n"
    board = PlainGpu(A, 650.0)
    with agent_here(spot, [board], grant(more="runs = llm-8b"), source) as agent:
        until(lambda: agent.keeper.kept)
        client = AgentClient(spot / "run/agent.sock", ttl_s=0.3)
        gpu = AgentGpu(board, client)
        assert gpu.set_power_limit_w(300.0).applied
        feed = AgentFeed(client, "llm-8b")
        assert len(feed.poll().windows) == 360, "longer than a line of the wire"
        time.sleep(0.5)
        assert board.limit_w == 300.0, "kept by the heartbeat"
        asked = []
        client._ask = lambda path, request, timeout_s: asked.append(request["op"]) or call(path, request, timeout_s)
        assert feed.poll() is None
        assert set(asked) <= {"renew"}, "a look without news asks for nothing of its own"
        fresh = header.__class__(**{**vars(header), "calendar_id": "decaf"})
        write_calendar(
            spot / "published", fresh, [run.__class__(**{**vars(run), "calendar_id": "decaf"}) for run in runs]
        )
        until(lambda: agent.keeper.kept.calendar_id == "decaf")
        found = []
        until(lambda: found.append(feed.poll()) or found[-1])
        assert found[-1].calendar_id == "decaf"
        with pytest.raises(AgentError, match="has no grant to read it"):
            AgentFeed(client, "other").poll()
        assert gpu.give_back_limit().applied
        assert board.limit_w == 650.0
        client.close()


def test_a_calendar_of_another_run_is_not_followed(client):
    content = b"{}"
    client._ask = lambda *_: {"etag": "e", "same": False, "size": len(content), "offset": 0, "text": content.decode()}
    with pytest.raises(CalendarError):
        AgentFeed(client, "llm-8b").poll()
    client._ask = lambda *_: {"etag": "e", "same": False, "size": 9, "offset": 0, "text": ""}
    with pytest.raises(CalendarError, match="ends before its size"):
        AgentFeed(client, "llm-8b").poll()


def test_a_governor_is_in_safe_mode_without_its_agent_and_says_so_once_each_time(client, wire, caplog):
    clock = ManualClock()
    calendar = two_hours("llm-8b")[1][0]
    with Governor(calendar, gpus=[AgentGpu(PlainGpu(), client)], clock=clock.clock, record_s=20.0) as governor:

        def steps(count):
            for _ in range(count):
                clock.now_s += 10.0
                governor.step(tokens=1)
            return governor.state

        assert steps(6) == "cap"
        for _ in range(2):
            wire.gone = True
            client.beat()
            assert steps(6) == "safe"
            wire.gone = False
            client.beat()
            assert steps(6) == "cap"
    told = [record.getMessage() for record in caplog.records]
    assert sum("the agent is gone" in text for text in told) == 2
    assert sum("the agent answers again" in text for text in told) == 2


def test_a_change_that_the_agent_puts_off_is_asked_for_again_though_the_lease_lives(client, wire):
    client.limit(A, 400.0)
    wire.refuses = AgentBusy("lease", "too often.", "Wait.")
    assert client.limit(A, 300.0).outcome == "lost"
    wire.refuses = None
    asked = len(wire.asked)
    client.beat()
    assert wire.asked[asked:] == ["renew", "lease"]
    assert client.notices() == (f"GPU {A}: 300 W is leased now.",)
    client.beat()
    assert wire.asked[-1] == "renew"


def test_a_refusal_to_renew_is_told_once(client, wire):
    client.limit(A, 300.0)
    wire.refuses = AgentError("renew", "no.", "Ask.")
    client.beat()
    client.beat()
    assert len(client.notices()) == 1
    wire.refuses = None
    client.beat()
    wire.refuses = AgentError("renew", "no.", "Ask.")
    client.beat()
    assert len(client.notices()) == 1


def test_an_agent_that_stays_away_costs_no_memory(client, wire):
    wire.gone = True
    client.limit(A, 300.0)
    for _ in range(20):
        with pytest.raises(AgentGone):
            client.calendar("run", "")
    frames, trace = 0, client._fault.__traceback__
    while trace is not None:
        frames, trace = frames + 1, trace.tb_next
    assert frames < 10


def test_leases_after_a_close_are_renewed_again():
    beats = []
    client = AgentClient("/x", ttl_s=0.02, ask=lambda _path, request, _s: beats.append(request["op"]) or {})
    client.newer("run", "")
    client.close()
    client._etags.clear()
    client.newer("run", "")
    beats.clear()
    until(lambda: beats.count("renew") > 1)
    client.close()


def test_a_heartbeat_told_to_stop_while_it_leases_again_starts_no_other(tmp_path):
    asked, stopped = [], threading.Event()

    def ask(_path, request, _timeout_s):
        asked.append(request["op"])
        if request["op"] == "renew":
            return {"kept": {}, "gpus": []}
        if len(asked) > 1:
            client._stop.set()
            stopped.set()
        verdict = {"requested_w": 300.0, "limit_w": 300.0, "enforced_w": 300.0, "outcome": "applied", "lease": "a"}
        return {"verdicts": [verdict]}

    client = AgentClient(tmp_path / "agent.sock", ttl_s=0.03, ask=ask)
    assert client.limit("GPU-1", 300.0).applied
    beating = client._thread
    assert stopped.wait(5.0)
    beating.join(5.0)
    assert client._thread is beating
    assert not beating.is_alive()
