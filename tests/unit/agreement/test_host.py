"""A hub in a training process: what a killed one left is cleared, and a full disk costs no open files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.agents import until
from trainer_hooks.agreement.coordinator import Timing
from trainer_hooks.agreement.host import HostedHub
from trainer_hooks.agreement.hub import Hub
from trainer_hooks.agreement.link import Link, LinkServer
from trainer_hooks.agreement.relay import Relay
from trainer_hooks.agreement.word import WordFile
from trainer_hooks.errors import AgentError


def test_what_a_killed_host_left_is_cleared_and_nothing_stays(tmp_path):
    tmp_path.chmod(0o700)
    left = tmp_path / "job.words"
    left.mkdir()
    (left / "word-of-a-dead-hub").touch()
    hosted = HostedHub(tmp_path / "job.sock", Timing())
    assert list(left.iterdir()) == []
    with pytest.raises(AgentError, match="another process that lives has it"):
        HostedHub(tmp_path / "job.sock", Timing())
    assert left.is_dir(), "the second one has not touched what is the first one's"
    hosted.close()
    assert [path.name for path in tmp_path.iterdir()] == ["job.sock.lock"]


def test_a_word_that_cannot_be_written_leaves_neither_file_nor_descriptor(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(os, "pwrite", full)
    for _ in range(3):
        with pytest.raises(AgentError, match="cannot be made"):
            WordFile(tmp_path, None)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list(tmp_path.iterdir()) == []


def test_a_relay_goes_on_after_an_answer_of_no_use(monkeypatch):
    monkeypatch.setattr("trainer_hooks.agreement.relay._REST_S", 0.01)
    asked = []

    class Link:
        def exchange(self, _message):
            asked.append(1)
            if len(asked) < 3:
                raise TypeError("an answer of another shape")
            return {"order": None}

    relay = Relay(Link(), {"job": "a"}, lambda: None, lambda: 0.0)
    try:
        until(lambda: len(asked) > 3)
    finally:
        relay.close()


def test_a_hub_goes_on_after_a_look_that_failed(tmp_path, monkeypatch):
    looks = []

    def tick(_hub):
        looks.append(1)
        if len(looks) == 1:
            raise RuntimeError("a fault of one job")
        return True

    monkeypatch.setattr(Hub, "tick", tick)
    hub = Hub(tmp_path)
    hub._start()
    until(lambda: len(looks) > 2)
    hub.close()


def test_a_node_that_was_out_of_descriptors_listens_again():
    server = LinkServer("127.0.0.1", 0, b"s" * 32, lambda message: {"had": message["n"]})
    listening, refused = server._listening, []

    class Full:
        def accept(self):
            if len(refused) < 2:
                refused.append(1)
                raise OSError(errno.EMFILE, "Too many open files")
            return listening.accept()

        shutdown, close = listening.shutdown, listening.close

    link = Link("127.0.0.1", server.port, b"s" * 32)
    try:
        assert link.exchange({"n": 1}) == {"had": 1}
        server._listening = Full()
        link._drop()
        assert link.exchange({"n": 2}) == {"had": 2}  # the accept that was under way
        link._drop()
        assert link.exchange({"n": 3}) == {"had": 3}
        assert len(refused) == 2
    finally:
        link.close()
        server.close()
