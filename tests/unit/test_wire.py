"""Requests and answers over a Unix socket, between processes that do not trust each other."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import threading
import time

import pytest

from tests.agents import place
from trainer_hooks.buckets import Buckets
from trainer_hooks.errors import AgentBusy, AgentError, AgentGone, HookError
from trainer_hooks.lines import LINE_LIMIT_BYTES, dump_line, parse_line
from trainer_hooks.wire import Peer, Server, ServerLimits, call


def serving(path, handlers, *, mode=0o660, gid=None, limits=None):
    return Server(path, handlers, mode=mode, gid=gid, limits=limits).start()


@pytest.fixture
def path():
    with place() as folder:
        yield folder / "run/a.sock"


def raw(path, content, wait_s=3.0):
    """Send bytes as they are and return whatever comes back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(wait_s)
        connection.connect(str(path))
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(content)
        told = b""
        while not told.endswith(b"\n"):
            part = connection.recv(65536)
            if not part:
                break
            told += part
    return json.loads(told) if told else None


def test_a_handler_learns_who_asks_from_the_kernel(path):
    seen = []
    with serving(path, {"echo": lambda peer, request: seen.append(peer) or {"back": request["x"]}}):
        assert call(path, {"op": "echo", "x": [1, "ü"]}, 2.0) == {"back": [1, "ü"]}
    assert seen == [Peer(os.getpid(), os.getuid(), os.getgid())]


def test_a_whole_family_of_operations_goes_to_one_handler_with_its_name(path):
    handlers = {"agree.*": lambda _peer, request: {"told": request["op"]}, "agree.own": lambda _p, r: {"told": str(r)}}
    with serving(path, handlers):
        assert call(path, {"op": "agree.prepare"}, 2.0) == {"told": "agree.prepare"}
        assert call(path, {"op": "agree.own"}, 2.0) == {"told": "{}"}


def test_what_a_handler_refuses_arrives_in_its_three_parts(path):
    def refuse(_peer, _request):
        raise HookError("GPU 3", "it is not yours.", "Ask for your own.")

    def busy(_peer, _request):
        raise AgentBusy("GPU 3", "too often.", "Wait.")

    with serving(path, {"a": refuse, "b": busy}):
        with pytest.raises(AgentError, match=r"GPU 3: it is not yours. Ask for your own.") as told:
            call(path, {"op": "a"}, 2.0)
        assert not isinstance(told.value, AgentBusy)
        with pytest.raises(AgentBusy, match="too often"):
            call(path, {"op": "b"}, 2.0)


def test_a_fault_of_a_handler_stays_in_the_log(path, caplog):
    def fail(_peer, _request):
        raise RuntimeError("secret-token-4711")

    with serving(path, {"a": fail}), pytest.raises(AgentError, match="it failed at this request") as told:
        call(path, {"op": "a"}, 2.0)
    assert "4711" not in str(told.value)
    assert "4711" in caplog.text


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"not json\n", "not whole, valid JSON"),
        (b"[1]\n", "must be an object"),
        (b'{"v":1,"op":"a","op":"b"}\n', "stands twice"),
        (b'{"v":1,"op":"a","x":NaN}\n', "not a number of JSON"),
        (b'{"v":2,"op":"a"}\n', "speaks version 1 only"),
        (b'{"v":true,"op":"a"}\n', "speaks version 1 only"),
        (b'{"v":1,"op":7}\n', "must be a string"),
        (b'{"v":1,"op":"b"}\n', "known are a"),
        (b'{"v":1,"op":"a"}\n{"v":1', "more follows"),
        (b'{"v":1,"op":"a","x":' + b"[" * 60_000 + b"\n", "nested too deep"),
        (b"\xff\xfe\n", "not whole, valid JSON"),
        (b"x" * (LINE_LIMIT_BYTES + 20_000) + b"\n", "longer than 65536 bytes"),
    ],
)
def test_a_request_that_is_no_request_is_refused_in_words(path, content, why):
    with serving(path, {"a": lambda _p, _r: {}}):
        told = raw(path, content)
        assert told["ok"] is False
        assert why in told["error"]["why"]
        assert call(path, {"op": "a"}, 2.0) == {}, "and the next one is answered"


def test_an_answer_that_is_too_long_is_refused_by_the_one_who_made_it():
    assert len(dump_line({"x": "y" * (LINE_LIMIT_BYTES - 8)})) == LINE_LIMIT_BYTES + 1
    with pytest.raises(AgentError, match="longer than"):
        dump_line({"x": "y" * (LINE_LIMIT_BYTES - 7)})
    with pytest.raises(AgentError, match="whole, valid JSON"):
        parse_line(b'{"x": 1', "line")


def test_a_slow_writer_is_left_alone_after_the_deadline(path):
    with serving(path, {"a": lambda _p, _r: {}}, limits=ServerLimits(deadline_s=0.2)) as server:
        begin_s = time.monotonic()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(3.0)
            connection.connect(str(path))
            connection.sendall(b'{"v":')
            assert connection.recv(100) == b""
        assert 0.15 < time.monotonic() - begin_s < 1.5
        assert server.served == 0


def test_connections_of_one_user_are_counted(path):
    limits = ServerLimits(deadline_s=1.0, connections_per_user=3)
    with serving(path, {"a": lambda _p, _r: {}}, limits=limits) as server:
        idle = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        try:
            for connection in idle:
                connection.connect(str(path))
            deadline_s = time.monotonic() + 2.0
            while server._open[os.getuid()] < 3 and time.monotonic() < deadline_s:
                time.sleep(0.002)
            with pytest.raises(AgentBusy, match="3 of 3 are open"):
                call(path, {"op": "a"}, 2.0)
        finally:
            for connection in idle:
                connection.close()
        deadline_s = time.monotonic() + 2.0
        while server._open and time.monotonic() < deadline_s:
            time.sleep(0.002)
        assert call(path, {"op": "a"}, 2.0) == {}


def test_requests_of_one_user_are_counted(path):
    limits = ServerLimits(requests_per_s=0.5, request_burst=5)
    with serving(path, {"a": lambda _p, _r: {}}, limits=limits) as server:
        for _ in range(5):
            call(path, {"op": "a"}, 2.0)
        with pytest.raises(AgentBusy, match=r"more than 0.5 a second"):
            call(path, {"op": "a"}, 2.0)
        assert (server.served, server.refused) == (5, 1)


def test_nobody_there_is_told_from_a_refusal(path):
    with pytest.raises(AgentGone, match="does not answer"):
        call(path, {"op": "a"}, 0.5)
    with serving(path, {"a": lambda _p, _r: time.sleep(0.3) or {}}), pytest.raises(AgentGone, match="does not answer"):
        call(path, {"op": "a"}, 0.05)


def test_a_socket_that_a_dead_process_left_is_taken_over(path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with serving(path, {"a": lambda _p, _r: {}}):
        assert stat.S_IMODE(path.lstat().st_mode) == 0o660
        assert call(path, {"op": "a"}, 2.0) == {}
        with pytest.raises(AgentError, match="another process that lives has it"):
            serving(path, {})
        assert call(path, {"op": "a"}, 2.0) == {}
    assert not path.exists()


def test_what_is_no_socket_is_never_removed(path):
    path.write_text("someone's file")
    with pytest.raises(AgentError, match="something that is no socket stands there"):
        serving(path, {})
    assert path.read_text() == "someone's file"
    path.unlink()
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(AgentError, match="something that is no socket"):
        serving(path, {})
    assert path.is_symlink()


def test_a_link_in_the_lock_s_place_is_not_followed(path):
    victim = path.parent / "victim"
    path.with_name("a.sock.lock").symlink_to(victim)
    with pytest.raises(AgentError, match="its lock cannot be made"):
        serving(path, {})
    assert not victim.exists()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_may_write_is_refused(path, mode):
    path.parent.chmod(mode)
    with pytest.raises(AgentError, match="others could put another socket there"):
        serving(path, {})


def test_a_folder_that_is_a_link_is_refused(path):
    link = path.parent.parent / "link"
    link.symlink_to(path.parent)
    with pytest.raises(AgentError, match="it is not a folder itself"):
        serving(link / "a.sock", {})


def test_a_path_that_no_socket_can_have_is_refused(path):
    with pytest.raises(AgentError, match="at most 107"):
        serving(path.with_name("x" * 120), {})


def test_many_askers_at_once_are_all_answered(path):
    told = []
    with serving(path, {"a": lambda _p, r: {"n": r["n"]}}):
        threads = [
            threading.Thread(target=lambda n=n: told.append(call(path, {"op": "a", "n": n}, 5.0)["n"]))
            for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(told) == list(range(20))


def test_a_bucket_lends_its_burst_and_then_its_rate():
    buckets = Buckets(2.0, 3.0)
    assert [buckets.take("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert buckets.take("b", 0.0)
    assert not buckets.take("a", 0.4)
    assert buckets.take("a", 0.5)
    assert [buckets.take("a", 100.0) for _ in range(4)] == [True, True, True, False]
    with pytest.raises(ValueError, match="rate above 0"):
        Buckets(0.0, 1.0)


def test_the_buckets_of_strangers_do_not_fill_the_memory():
    buckets = Buckets(1.0, 2.0)
    for stranger in range(10_000):
        buckets.take(stranger, 0.0)
    assert len(buckets._levels) <= 4096
