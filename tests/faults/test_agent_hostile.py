"""A local user who means harm: no other job's limit, nothing above the ceiling, no flood, no path, no secret.

As root the requests come from a child that has become another user; else they are given to the handlers as if from one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import socket
import stat
import sys
import threading
import time

import pytest

from tests.agents import NOBODY, A, B, PlainGpu, agent_here, as_user, free_port, grant, place, until
from tests.run_calendars import two_hours
from trainer_hooks.agent_client import AgentClient
from trainer_hooks.calendar import write_calendar
from trainer_hooks.errors import AgentBusy, AgentError, HookError
from trainer_hooks.lines import LINE_LIMIT_BYTES
from trainer_hooks.wire import Peer, call

IS_ROOT = os.getuid() == 0
GROUP = 54321 if IS_ROOT else os.getgid()
SECRET = "s3cret-of-the-node-agent-0123456789"


@pytest.fixture
def spot():
    with place() as folder:
        yield folder


@pytest.fixture
def boards():
    return PlainGpu(A, 650.0), PlainGpu(B, 500.0)


@pytest.fixture
def agent(spot, boards):
    """Board A is the victim's (this user), board B the hostile user's, at most 400 W."""
    header, runs = two_hours("victims-run")
    write_calendar(spot / "published", header, runs)
    key = spot / "key"
    key.write_text(SECRET)
    key.chmod(0o600)
    sections = (
        grant(A, "victim"),
        grant(B, "theirs", NOBODY, "runs = their-run"),
        f"[bounds {B}]\nfloor_w = 200\nceiling_w = 400\n",
        f"[calendar]\nsource = {spot}/published\npoll_s = 60\n",
    )
    with agent_here(spot, boards, *sections, agent=f"group = {GROUP}") as agent:
        until(lambda: agent.keeper.kept)
        yield agent


@pytest.fixture
def victim(agent):
    client = AgentClient(agent._config.socket, ttl_s=30.0)
    assert client.limit(A, 600.0).applied
    yield client
    client.close()


def ask(agent, request):
    """Ask as the hostile user; returns the answer, or the refusal's sentence."""

    def spoken():
        try:
            return call(agent._config.socket, request, 5.0)
        except HookError as error:
            return {"refused": str(error)}

    if IS_ROOT:
        return as_user(NOBODY, GROUP, spoken)
    request = json.loads(json.dumps(request))
    try:
        return agent._server._handlers[request.pop("op")](Peer(os.getpid(), NOBODY, GROUP), request)
    except HookError as error:
        return {"refused": str(error)}


def wants(gpu, limit_w=300.0, **more):
    return {"op": "lease", "gpus": [gpu], "limit_w": limit_w, "ttl_s": 20.0, **more}


def test_who_is_not_in_the_group_may_not_even_connect(agent):
    facts = agent._config.socket.lstat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_gid) == (0o660, GROUP)
    if IS_ROOT:
        told = as_user(NOBODY, NOBODY, lambda: call(agent._config.socket, {"op": "status"}, 5.0))
        assert told["raised"] == "AgentGone"
        assert "this user may not speak to it" in told["text"]


def test_nobody_sets_another_job_s_limit(agent, victim, boards):
    name = victim._leases[A].name
    for request in (
        wants(A),
        wants(A, leases=[name]),
        {**wants(B), "gpus": [B, A]},
        {**wants(B), "gpus": [B.lower(), A.lower()]},
        wants("all"),
        wants("*"),
        wants(""),
    ):
        assert "has no grant for it in this job" in ask(agent, request)["refused"]
    assert ask(agent, {"op": "release", "leases": [name]}) == {"verdicts": []}
    assert ask(agent, {"op": "renew", "leases": [name]})["kept"] == {name: False}
    assert (boards[0].sets, boards[1].sets) == ([600.0], [])


def test_nobody_is_shown_another_job_s_boards_or_leases(agent, victim):
    told = json.dumps([ask(agent, {"op": "status"}), ask(agent, {"op": "renew", "leases": []}), ask(agent, wants(B))])
    assert A not in told
    assert victim._leases[A].name not in told


@pytest.mark.parametrize("limit_w", [401.0, 500.0, 700.0, 20_000.0])
def test_nobody_raises_above_the_ceiling(agent, boards, limit_w):
    (verdict,) = ask(agent, wants(B, limit_w))["verdicts"]
    assert (verdict["outcome"], verdict["limit_w"], boards[1].limit_w) == ("clamped", 400.0, 400.0)


@pytest.mark.parametrize("limit_w", [1e308, 0, -300.0, "700", True, None, [700], {"w": 700}, 10**400, 700_000])
def test_what_is_no_limit_is_refused(agent, boards, limit_w):
    assert "refused" in ask(agent, wants(B, limit_w))
    assert boards[1].sets == []


@pytest.mark.parametrize(
    "request_",
    [
        {"op": "lease"},
        {"op": "lease", "gpus": [], "limit_w": 300.0, "ttl_s": 20.0},
        {"op": "lease", "gpus": [B] * 3 + [f"GPU-{n}" for n in range(70)], "limit_w": 300.0, "ttl_s": 20.0},
        {"op": "lease", "gpus": B, "limit_w": 300.0, "ttl_s": 20.0},
        {"op": "lease", "gpus": [7], "limit_w": 300.0, "ttl_s": 20.0},
        {"op": "lease", "gpus": [B], "limit_w": 300.0, "ttl_s": 1e9},
        {"op": "lease", "gpus": [B], "limit_w": 300.0, "ttl_s": 20.0, "leases": [["x"]]},
        {"op": "renew", "leases": ["x"] * 2 + [str(n) for n in range(300)]},
        {"op": "release", "leases": "x"},
        {"op": "calendar"},
        {"op": "calendar", "run": 7},
    ],
)
def test_requests_that_make_no_sense_are_refused_in_words(agent, boards, request_):
    assert re.search(r"must be|missing|names \d+ GPUs|not within|has \d+ names", ask(agent, request_)["refused"])
    assert boards[1].sets == []


def test_a_number_of_a_job_in_the_environment_is_nobody_s_word(spot, boards, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    with agent_here(spot, boards, "[grant job]\ngpus = all\nslurm_jobs = 4711\n", agent=f"group = {GROUP}") as agent:
        assert "has no grant" in ask(agent, wants(B))["refused"]


def test_a_flood_of_leases_is_few_writes_and_others_are_served(agent, victim, boards):
    def flood():
        told = {}
        for _ in range(300):
            try:
                answer = call(agent._config.socket, wants(B, 250.0), 5.0)
                key = answer["verdicts"][0]["outcome"]
            except HookError as error:
                key = type(error).__name__
            told[key] = told.get(key, 0) + 1
        return told

    told: list[dict] = []
    flooding = threading.Thread(target=lambda: told.append(as_user(NOBODY, GROUP, flood) if IS_ROOT else flood()))
    begin_s = time.monotonic()
    flooding.start()
    waits_s = []
    while flooding.is_alive():
        asked_s = time.monotonic()
        call(agent._config.socket, {"op": "status"}, 5.0)
        waits_s.append(time.monotonic() - asked_s)
        time.sleep(0.02)
    flooding.join()
    rules, took_s = agent._config.leases, time.monotonic() - begin_s
    if IS_ROOT:
        # not root: one user is both, has no grant for board B, and all is refused
        assert 0 < told[0]["applied"] <= rules.write_burst + rules.writes_per_s * took_s + 1
    assert len(boards[1].sets) <= rules.write_burst + rules.writes_per_s * took_s + 1
    assert sum(told[0].values()) == 300
    assert max(waits_s) < 2.0
    assert victim.limit(A, 590.0).applied


def hold_open(path, content, count):
    """Open connections, say something, and neither go on nor go away."""
    held = []
    for _ in range(count):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(2.0)
        with contextlib.suppress(OSError):
            connection.connect(str(path))
            connection.sendall(content)
            held.append(connection)
    return held


@pytest.mark.parametrize("content", [b"", b'{"v":1,', b"x" * (LINE_LIMIT_BYTES - 1), b'{"v":' + b"[" * 60_000])
def test_slow_and_many_connections_keep_nobody_else_out(agent, boards, content):
    path, limits = agent._config.socket, agent._config.limits

    def linger():
        held = hold_open(path, content, 2 * limits.connections_per_user)
        time.sleep(0.4)
        for connection in held:
            connection.close()
        return len(held)

    if not IS_ROOT:
        assert linger() > 0  # one user is both: all that can be seen is that the agent is there afterwards
        until(lambda: not agent._server._open)
        assert call(path, {"op": "status"}, 5.0)["calendar_id"] == "c0ffee"
        return
    lingering = threading.Thread(target=as_user, args=(NOBODY, GROUP, linger))
    lingering.start()
    while lingering.is_alive():
        begin_s = time.monotonic()
        assert call(path, {"op": "status"}, 5.0)["calendar_id"] == "c0ffee"
        assert time.monotonic() - begin_s < 2.0
        assert agent._server._open[NOBODY] <= limits.connections_per_user
        time.sleep(0.05)
    lingering.join()
    until(lambda: not agent._server._open)


def test_nonsense_without_end_costs_no_memory_and_no_life(agent):
    def nonsense():
        for number in range(150):
            content = (b"[" * 60_000, b"x" * 200_000, b'{"v":1,"op":"lease","gpus":[' + b"1," * 30_000, b"\x00\xff\n")[
                number % 4
            ]
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(2.0)
                connection.connect(str(agent._config.socket))
                connection.sendall(content + b"\n")
                connection.recv(1000)

    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if IS_ROOT:
        as_user(NOBODY, GROUP, nonsense)
    else:
        nonsense()
        time.sleep(0.5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 30_000
    assert call(agent._config.socket, {"op": "status"}, 5.0)["calendar_id"] == "c0ffee"


class Opened(list):
    """Every path that this process opens while it is listening."""

    listening = False

    def __call__(self, event, arguments):
        if self.listening and event == "open" and arguments:
            self.append(str(arguments[0]))


def test_nothing_that_is_asked_becomes_a_path(agent, spot):
    opened = Opened()
    sys.addaudithook(opened)  # there is no way to take one away: it is deaf afterwards
    bait = spot / "bait"
    bait.write_text("{}")
    names = [
        str(bait),
        "../bait",
        "../../etc/passwd",
        f"runs/{bait.name}",
        "victims-run\x00",
        "%2e%2e%2fbait",
        "a" * 5000,
    ]
    opened.listening = True
    try:
        for name in names:
            told = [
                ask(agent, {"op": "calendar", "run": name}),
                ask(agent, wants(name)),
                ask(agent, {"op": "release", "leases": [name]}),
                ask(agent, {"op": "renew", "leases": [name], "run": name}),
                ask(agent, {"op": f"agree.{name}"}) if IS_ROOT else {},
            ]
            assert "refused" in told[0]
    finally:
        opened.listening = False
    assert opened, "it does listen"
    assert [path for path in opened if "bait" in path or "passwd" in path or path.startswith("aaaa")] == []


def test_nobody_reads_a_run_that_was_not_granted(agent):
    assert "has no grant to read it" in ask(agent, {"op": "calendar", "run": "victims-run"})["refused"]
    assert ask(agent, {"op": "renew", "leases": [], "run": "victims-run"})["etag"] is None
    assert "this node has none" in ask(agent, {"op": "calendar", "run": "their-run"})["refused"]


def test_nobody_puts_anything_into_the_agent_s_folders_or_reads_its_record(agent, victim, spot):
    assert stat.S_IMODE((spot / "state").stat().st_mode) == 0o700
    record = spot / "state/leases.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert victim._leases[A].name in record.read_text()
    if not IS_ROOT:
        return

    def tries():
        told = []
        for act in (
            record.read_text,
            (spot / "key").read_text,
            lambda: (spot / "state/calendars").iterdir().__next__(),
            (spot / "run/agent.sock").unlink,
            lambda: (spot / "run/other.sock").symlink_to("/etc/passwd"),
            lambda: (spot / "run/agent.sock.lock").write_text(""),
        ):
            try:
                act()
                told.append("done")
            except PermissionError:
                told.append("refused")
        return told

    assert as_user(NOBODY, GROUP, tries) == ["refused"] * 6


def test_no_secret_is_ever_said(spot, boards, caplog, capfd):
    """A token and a key of an agent whose server refuses, through everything it says."""
    caplog.set_level("DEBUG")
    (spot / "key").write_text(SECRET)
    (spot / "key").chmod(0o600)
    files = f"token_file = {spot}/key\nhmac_key_file = {spot}/key"
    source = f"[calendar]\nsource = http://127.0.0.1:9/c\n{files}\npoll_s = 0.1\n"
    port = f"[metrics]\nport = {free_port()}\n"
    with agent_here(spot, boards, grant(B, "theirs", NOBODY), source, port, agent=f"group = {GROUP}") as agent:
        until(lambda: agent._puller.failures)
        answers = [ask(agent, {"op": op, "run": "r", "leases": []}) for op in ("status", "renew", "calendar")]
        from trainer_hooks.agent.metrics import exposition

        said = json.dumps(answers) + exposition(agent._collect()) + repr(agent._config) + caplog.text
    out, err = capfd.readouterr()
    assert SECRET not in said + out + err
    assert "cannot be fetched" in caplog.text


def test_too_many_claims_of_one_user_are_refused(spot, boards):
    generous = f"group = {GROUP}\nlimit_changes_per_s = 100\nlimit_change_burst = 1000"
    with agent_here(spot, boards, grant(B, "mine"), agent=generous) as agent:
        for _ in range(agent._config.leases.claims_per_user):
            call(agent._config.socket, wants(B), 5.0)
        with pytest.raises(AgentError, match="claims on it already") as told:
            call(agent._config.socket, wants(B), 5.0)
        assert not isinstance(told.value, AgentBusy)
