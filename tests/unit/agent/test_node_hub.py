"""Ranks agree on a step through the agents of their nodes."""

from __future__ import annotations

import threading
import time

import pytest

from tests.agents import agent_here, config_file, free_port, place
from trainer_hooks.agent.config import read_config
from trainer_hooks.agreement.choice import choose_agreement
from trainer_hooks.agreement.wish import Wish
from trainer_hooks.errors import AgentError

KEY = "0123456789abcdef0123456789abcdef"


def section(folder, node, port, nodes="127.0.0.1, 127.0.0.2"):
    secret = folder / "hub.secret"
    secret.write_text(KEY)
    secret.chmod(0o600)
    return f"[hub]\nnodes = {nodes}\nnode = {node}\naddress = {node}\nport = {port}\nsecret_file = {secret}\n"


def environment(agent, rank, nodes):
    """What a launcher and the job's script say to a rank."""
    found = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": str(2 // nodes), "GRIDPACE_JOB": "job"}
    return {
        **found,
        "GRIDPACE_AGENT": str(agent._config.socket),
        **({"GRIDPACE_HUB": "127.0.0.1"} if nodes == 2 else {}),
    }


def train(agreement, wants, held):
    """Steps until all hold; notes the step."""
    step, deadline_s = 0, time.monotonic() + 10.0
    while time.monotonic() < deadline_s:
        step += 1
        time.sleep(0.002)
        stance = "wait"
        while stance != "go" and time.monotonic() < deadline_s:
            stance = agreement.stance(step, wants if step > 20 else Wish.GO)
            if stance == "hold":
                held.append(step)
                return
            if stance == "save":
                agreement.saved(ok=True)
            if stance != "go":
                time.sleep(0.002)


@pytest.mark.parametrize("nodes", [1, 2])
def test_ranks_hold_at_one_step_through_their_agents(nodes):
    with place() as one, place() as two:
        port = free_port()
        with (
            agent_here(one, [], *([section(one, "127.0.0.1", port)] if nodes == 2 else [])) as first,
            agent_here(two, [], *([section(two, "127.0.0.2", port)] if nodes == 2 else [])) as second,
        ):
            agents = (first, second if nodes == 2 else first)
            ranks = [choose_agreement(environment(agent, rank, nodes), None, 16) for rank, agent in enumerate(agents)]
            held = [[], []]
            threads = [
                threading.Thread(target=train, args=(rank, Wish.HOLD, steps))
                for rank, steps in zip(ranks, held, strict=True)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for rank in ranks:
                rank.close()
        assert held[0]
        assert held[0] == held[1]
        assert not (one / "run/words").exists()


def test_ranks_on_several_nodes_that_are_told_no_hub_do_not_agree_each_with_itself():
    with place() as one, agent_here(one, []) as agent:
        alone = choose_agreement(environment(agent, 0, 2) | {"GRIDPACE_HUB": ""}, None, 16)
        assert not alone.may_pause


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[hub]\nnodes = a\nnode = a\nport = 1\n", "key secret_file: it is missing."),
        ("[hub]\nnodes = a[\n", "key nodes: 'a[' is not a node"),
        ("SECTION\nport = 99999\n", "it is not an INI file"),
    ],
)
def test_a_hub_that_cannot_be_is_refused_in_words(tmp_path, text, told):
    with pytest.raises(AgentError) as error:
        read_config(config_file(tmp_path, text.replace("SECTION", section(tmp_path, "a", 9476, "a, b"))))
    assert told in str(error.value)


def test_a_node_is_known_by_the_first_part_of_its_name(tmp_path):
    text = section(tmp_path, "x", 9476, "gpu[01-04]").replace("node = x\n", "")
    assert read_config(config_file(tmp_path, text), "gpu03.cluster.example").hub.node == "gpu03"
    assert KEY not in repr(read_config(config_file(tmp_path, text), "gpu03.cluster.example"))
    with pytest.raises(AgentError, match="'login' is not among the 4 nodes"):
        read_config(config_file(tmp_path, text), "login")
