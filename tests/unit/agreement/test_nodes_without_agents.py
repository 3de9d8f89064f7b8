"""Ranks of several nodes whose hubs the first ranks host: how they meet, and where the deciding hub listens."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import pytest

from tests.agents import free_port
from tests.hub_ranks import RankThread, finish, start, until
from trainer_hooks.agreement.address import listening_address
from trainer_hooks.agreement.choice import choose_agreement
from trainer_hooks.agreement.wish import Wish
from trainer_hooks.errors import AgentError, SettingError


@pytest.fixture
def environ(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("correct horse battery staple")
    secret.chmod(0o600)
    ranks = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0", "GRIDPACE_JOB": "job"}
    return {**ranks, "GRIDPACE_AGENT": "off", "GRIDPACE_SECRET_FILE": str(secret)}


@pytest.fixture
def short_path():
    """A folder in which a socket's path is short enough, however deep the tests' own folders lie."""
    with tempfile.TemporaryDirectory(prefix="gp-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def one_rank_of_each_node(short_path, monkeypatch):
    """Makes the ranks of two nodes, which on one machine have temporary folders of their own."""

    def make(environ):
        ranks = []
        for rank in (0, 1):
            folder = short_path / str(rank)
            folder.mkdir()
            monkeypatch.setattr(tempfile, "tempdir", str(folder))
            thread = RankThread(None, rank, 2)
            thread.agreement = choose_agreement({**environ, "RANK": str(rank)}, None, 16)
            ranks.append(thread)
        return ranks

    return make


@pytest.mark.parametrize("asked", ["", "127.0.0.3"])
def test_the_deciding_hub_listens_where_it_is_told_to_and_nowhere_else(environ, one_rank_of_each_node, asked):
    port, listens = free_port(), asked or "127.0.0.2"
    ranks = one_rank_of_each_node({**environ, "GRIDPACE_HUB": f"127.0.0.2:{port}", "GRIDPACE_HUB_ADDRESS": asked})
    for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
        with socket.socket() as probe:
            assert (probe.connect_ex((address, port)) == 0) == (address == listens)
    if not asked:
        ranks[0].wish = lambda _step: Wish.HOLD
        start(*ranks)
        until(lambda: all(rank.held for rank in ranks))
        assert ranks[0].held == ranks[1].held
        finish(*reversed(ranks))
    for rank in ranks if asked else []:
        rank.agreement.close()


def test_a_port_that_is_taken_leaves_nothing_behind(environ, one_rank_of_each_node, short_path):
    with socket.create_server(("127.0.0.2", 0)) as taken, pytest.raises(AgentError, match="cannot listen"):
        one_rank_of_each_node({**environ, "GRIDPACE_HUB": f"127.0.0.2:{taken.getsockname()[1]}"})
    (folder,) = (short_path / "0").iterdir()
    assert {path.suffix for path in folder.iterdir()} == {".lock"}  # the next to come locks the same file


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"GRIDPACE_HUB": "gpu001:0"}, "'gpu001:0' is not HOST:PORT"),
        ({"GRIDPACE_HUB": "127.0.0.2:9476", "GRIDPACE_SECRET_FILE": ""}, "several nodes need a secret"),
        ({"GRIDPACE_SAVE_LIMIT_S": "0"}, "'0' is not 1 to 86400 whole seconds"),
        ({"GRIDPACE_SAVE_LIMIT_S": "1e3"}, "'1e3' is not 1 to 86400 whole seconds"),
        ({"GRIDPACE_TIMEOUT_S": "-1"}, "'-1' is not 0.1 to 3600 seconds"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_words(environ, one_rank_of_each_node, settings, told):
    with pytest.raises(SettingError, match=told):
        one_rank_of_each_node({**environ, "GRIDPACE_HUB": "127.0.0.2:9476", **settings})


@pytest.mark.parametrize(
    ("name", "found", "listens"),
    [
        ("gpu001", ["10.1.2.3"], "10.1.2.3"),
        ("gpu001", ["127.0.1.1", "10.1.2.3"], "10.1.2.3"),
        ("gpu001", ["::1", "fd00::7"], "fd00::7"),
        ("localhost", ["127.0.0.1"], "127.0.0.1"),
        ("127.0.0.2", ["127.0.0.2"], "127.0.0.2"),
    ],
)
def test_a_node_listens_at_the_address_that_others_know(monkeypatch, name, found, listens):
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    assert listening_address(name) == listens
    assert listening_address(name, "0.0.0.0") == "0.0.0.0"


def test_a_name_that_no_other_node_can_mean_is_refused(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.1.1", 0))])
    with pytest.raises(AgentError, match=r"stands for 127\.0\.1\.1, where no other node comes.*GRIDPACE_HUB_ADDRESS"):
        listening_address("gpu001")

    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(AgentError, match="its name is not known on itself"):
        listening_address("gpu001")
