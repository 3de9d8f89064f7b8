"""What an agent does with what an earlier one left: raises wait their turn, and one that cannot begin gives back."""

from __future__ import annotations

import json

import pytest

from tests.agents import A, PlainGpu, agent_here, grant, until
from trainer_hooks.agent.agent import Agent
from trainer_hooks.agent.bounds import Bounds
from trainer_hooks.agent.config import read_config
from trainer_hooks.agent.leases import LeaseBook, LeaseRules, Wish
from trainer_hooks.agent.store import LeaseStore
from trainer_hooks.agent_client import AgentClient
from trainer_hooks.errors import AgentError


def test_a_raise_that_waits_for_its_turn_comes_in_time_though_the_agent_was_killed(tmp_path):
    gpu, now = PlainGpu(A, 650.0), [100.0]
    rules = LeaseRules(writes_per_s=1000.0, write_burst=1000.0, rise_after_s=20.0)

    def book():
        store = LeaseStore(tmp_path, "boot")
        return LeaseBook([gpu], {A: Bounds()}, store, lambda: now[0], lambda _: None, rules)

    first = book()
    name, _, _ = first.lease(Wish(A, 300.0, 60.0, 1000, 7, "me"))
    first.lease(Wish(A, 500.0, 60.0, 1000, 7, "me"), (name,))
    assert gpu.limit_w == 300.0
    now[0] += 5.0
    second = book()
    second.recover()
    assert second.tick() == pytest.approx(15.0)
    assert gpu.limit_w == 300.0, "the ramp holds over a restart"
    now[0] += 15.0
    second.tick()
    assert gpu.limit_w == 500.0


def test_an_agent_that_cannot_begin_gives_back_what_a_killed_one_held(spot):
    gpu = PlainGpu(A, 650.0)
    with agent_here(spot, [gpu], grant()) as agent:
        client = AgentClient(agent._config.socket, ttl_s=60.0)
        assert client.limit(A, 300.0).applied
        record = (spot / "state/leases.json").read_text()
        client._stop.set()
    assert gpu.limit_w == 650.0
    (spot / "state/leases.json").write_text(record)
    gpu.limit_w = 300.0  # as a kill would have left it
    (spot / "run/agent.sock").mkdir()
    with pytest.raises(AgentError, match="something that is no socket"):
        Agent(read_config(spot / "agent.ini"), [gpu], environ={})
    assert gpu.limit_w == 650.0
    assert json.loads((spot / "state/leases.json").read_text())["boards"] == []


def test_the_service_manager_hears_of_an_agent_that_hardly_ever_samples(spot, monkeypatch):
    told = []
    monkeypatch.setattr("trainer_hooks.agent.agent.notify", lambda message, _environ: told.append(message))
    monkeypatch.setattr("trainer_hooks.agent.agent._LONGEST_PAUSE_S", 0.01)
    with agent_here(spot, [PlainGpu(A)], agent="sample_s = 60\n"):
        until(lambda: told.count("WATCHDOG=1") > 2)
