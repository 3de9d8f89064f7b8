"""Hubs of several nodes: together like one, and deaf to whoever does not know the secret."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from tests.hub_ranks import PATIENT, QUICK, RankThread, finish, start, until
from trainer_hooks.agreement.hub import Hub
from trainer_hooks.agreement.link import Link, LinkServer
from trainer_hooks.agreement.proof import Channel
from trainer_hooks.agreement.wish import Wish
from trainer_hooks.errors import AgentError, AgentGone

SECRET = b"correct horse battery staple"


@pytest.fixture
def nodes(tmp_path):
    """Two nodes: the hub that decides, its server, and the hub that has a link to it."""
    made = []
    for name in ("root", "other"):
        (tmp_path / name).mkdir()
    root = Hub(tmp_path / "root", timing=PATIENT)
    server = LinkServer("127.0.0.1", 0, SECRET, root.from_node, timeout_s=0.5)
    other = Hub(tmp_path / "other", links={"root": Link("127.0.0.1", server.port, SECRET, 0.3)})
    made += [other, root, server]
    yield root, server, other
    for one in made:
        one.close()


@pytest.fixture
def pair():
    """Two ends of a proven connection, and the raw sockets beneath."""
    ends = socket.socketpair()
    channels = {}

    def prove(opens, end):
        channels[opens] = Channel(end, SECRET, opens=opens, timeout_s=1.0)

    threads = [
        threading.Thread(target=prove, args=(opens, end)) for opens, end in zip((True, False), ends, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield channels[True], channels[False], ends
    for end in ends:
        end.close()


def test_ranks_of_two_nodes_hold_at_one_step(nodes):
    root, _, other = nodes
    wants = {"now": True}
    ranks = [RankThread(root, 0, 4, wish=lambda _step: Wish.HOLD if wants["now"] else Wish.GO), RankThread(root, 1, 4)]
    ranks += [RankThread(other, number, 4, root="root") for number in (2, 3)]
    start(*ranks)
    until(lambda: all(rank.held for rank in ranks))
    assert len({tuple(rank.held) for rank in ranks}) == 1
    wants["now"] = False
    before = [rank.step for rank in ranks]
    until(lambda: all(rank.step > step for rank, step in zip(ranks, before, strict=True)))
    finish(*ranks)


def test_a_deciding_hub_that_is_gone_frees_the_ranks_of_the_other_node(nodes):
    root, server, other = nodes
    ranks = [RankThread(root, 0, 2, wish=lambda _step: Wish.HOLD), RankThread(other, 1, 2, root="root", timing=QUICK)]
    start(*ranks)
    until(lambda: all(rank.held for rank in ranks))
    server.close()
    step = ranks[1].step
    until(lambda: ranks[1].step > step)
    finish(*ranks)


def test_messages_go_to_and_fro(pair):
    ours, theirs, _ = pair
    for number in range(3):
        ours.write({"number": number})
        assert theirs.read(1.0) == {"number": number}
        theirs.write({"answer": number})
        assert ours.read(1.0) == {"answer": number}


@pytest.mark.parametrize("fault", ["altered", "repeated", "left out", "sent back", "too long"])
def test_frames_that_were_touched_end_the_connection(pair, fault):
    ours, theirs, (our_end, their_end) = pair
    frames = []
    for number in range(2):
        ours.write({"number": number})
        frames.append(their_end.recv(65536))
    reader = theirs
    if fault == "altered":
        our_end.sendall(frames[0][:-2] + b"7}")
    elif fault == "repeated":
        our_end.sendall(frames[0] + frames[0])
        assert theirs.read(1.0) == {"number": 0}
    elif fault == "left out":
        our_end.sendall(frames[1])
    elif fault == "sent back":
        their_end.sendall(frames[0])
        reader = ours
    else:
        our_end.sendall(struct.pack(">I", 2**31) + frames[0][4:])
    with pytest.raises(AgentError):
        reader.read(0.5)


def test_a_wrong_secret_is_refused_on_both_sides(nodes, caplog):
    _, server, _ = nodes
    with pytest.raises(AgentGone):
        Link("127.0.0.1", server.port, b"another secret of that length", 0.3).exchange({"job": "job"})
    until(lambda: any("knows the secret" in record.getMessage() for record in caplog.records))
    assert SECRET.decode() not in caplog.text
    with pytest.raises(AgentError, match="fewer than 16"):
        Link("127.0.0.1", server.port, b"short")


def test_a_server_that_does_not_know_the_secret_learns_nothing():
    with socket.create_server(("127.0.0.1", 0)) as false_hub:

        def pretend():
            connection, _ = false_hub.accept()
            with connection:
                connection.sendall(b"n" * 32)
                connection.recv(64)
                connection.sendall(b"m" * 32)

        thread = threading.Thread(target=pretend)
        thread.start()
        with pytest.raises(AgentError, match="knows the secret"):
            Link("127.0.0.1", false_hub.getsockname()[1], SECRET, 0.5).exchange({"job": "job"})
        thread.join()


def test_what_a_node_may_not_say_is_told_to_it(nodes):
    _, server, _ = nodes
    link = Link("127.0.0.1", server.port, SECRET, 0.5)
    with pytest.raises(AgentError, match="refuses"):
        link.exchange({"uid": 0, "job": "job", "ranks": 2, "reports": [{"rank": 5}], "lost": []})
    # The connection is as good as before.
    assert link.exchange({"uid": 0, "job": "job", "ranks": 2, "reports": [], "lost": []})["order"]["phase"] == "idle"
    link.close()
