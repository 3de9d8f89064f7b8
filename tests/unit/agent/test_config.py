"""The agent's configuration: what it comes to, and every fault named with key, value, limit and mend."""

from __future__ import annotations

import json

import pytest

from tests.agents import A
from trainer_hooks.agent.bounds import Bounds
from trainer_hooks.agent.config import read_config
from trainer_hooks.agent.origin import FolderOrigin
from trainer_hooks.agent.signature import HmacVerifier
from trainer_hooks.agent.web import HttpOrigin
from trainer_hooks.errors import AgentError

KEY = "0123456789abcdef0123456789abcdef"
WHOLE = f"""
[agent]
socket = /run/gridpace/agent.sock
group = root
state_dir = /var/lib/gridpace
sample_s = 0.5
longest_lease_s = 60
[bounds]
floor_w = 200
ceiling_w = 700
[bounds {A}]
ceiling_w = 500          ; a weaker cable
[grant team-a]
gpus = {A}
uids = root
runs = llm-8b
[calendar]
source = https://planner.example/calendars
token_file = TOKEN
hmac_key_file = SECRET
poll_s = 30
[guard]
lower_below_c = 4
[ramp]
nodes = gpu[001-064]
node = gpu007
node_swing_kw = 8.4
ramp_kw_per_min = 5000
[metrics]
port = 9475
"""


@pytest.fixture
def write(tmp_path):
    for name in ("TOKEN", "SECRET"):
        (tmp_path / name).write_text(KEY + "\n")
        (tmp_path / name).chmod(0o600)

    def write_(text, name="agent.ini", mode=0o644):
        path = tmp_path / name
        path.write_text(text.replace("TOKEN", str(tmp_path / "TOKEN")).replace("SECRET", str(tmp_path / "SECRET")))
        path.chmod(mode)
        return path

    return write_


@pytest.mark.parametrize(("source", "pause_s"), [("/srv/calendars", 0.4), ("https://planner.example/calendars", 60.0)])
def test_a_folder_is_looked_at_often_and_a_server_seldom(write, source, pause_s):
    config = read_config(write(f"[bounds]\nfloor_w = 200\nceiling_w = 700\n[calendar]\nsource = {source}\n"))
    assert config.calendar.poll_s == pause_s


def test_a_whole_configuration(write):
    config = read_config(write(WHOLE))
    assert str(config.socket) == "/run/gridpace/agent.sock"
    assert (config.gid, config.sample_s, config.metrics_port) == (0, 0.5, 9475)
    assert config.bounds == Bounds(200.0, 700.0)
    assert config.gpu_bounds == {A: Bounds(200.0, 500.0)}
    assert config.grants[0].name == "team-a"
    assert config.calendar.poll_s == 30.0
    assert isinstance(config.calendar.origin, HttpOrigin)
    assert isinstance(config.calendar.verifier, HmacVerifier)
    assert config.guard.lower_below_c == 4.0
    assert (config.ramp.index, config.ramp.nodes) == (6, 64)
    assert config.leases.rise_after_s == pytest.approx(7 * 8.4 / 5000 * 60)
    assert config.leases.longest_s == 60.0
    assert KEY not in repr(config)


def test_json_says_the_same(write):
    config = read_config(
        write(
            json.dumps({"agent": {"sample_s": 2}, "grant a": {"gpus": [A], "uids": [0]}, "bounds": {"floor_w": 150.5}}),
            "a.json",
        )
    )
    assert (config.sample_s, config.bounds.floor_w) == (2.0, 150.5)
    assert config.grants[0].uids == {0}


def test_an_empty_file_is_an_agent_that_grants_nothing(write):
    config = read_config(write(""))
    assert (config.grants, config.calendar, config.guard, config.ramp, config.metrics_port) == (
        (),
        None,
        None,
        None,
        None,
    )
    assert str(config.socket) == "/run/gridpace/agent.sock"


def test_a_folder_is_a_source_too(write):
    assert isinstance(read_config(write("[calendar]\nsource = /srv/calendars\n")).calendar.origin, FolderOrigin)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[agent]\nsample_s = 0\n", "section [agent], key sample_s: 0 s is not within 0.05 to 60 s. Set a number from"),
        ("[agent]\nsample_s = fast\n", "key sample_s: 'fast' is not a number. Set a number from 0.05 to 60 s."),
        ("[agent]\nsample_s = nan\n", "key sample_s: nan s is not within"),
        ("[agent]\nsocket = agent.sock\n", "key socket: 'agent.sock' is not an absolute path."),
        ("[agent]\nsokcet = /x\n", "key sokcet: there is no such key. Did you mean 'socket'?"),
        ("[agent]\ngroup = no-such-group\n", "key group: this node has no group 'no-such-group'. Make it: `groupadd"),
        ("[agent]\ngroup = 4294967295\n", "key group: this node has no group '4294967295'."),
        ("[grant a]\ngpus = all\nuids = 4294967295\n", "key uids: this node has no user '4294967295'."),
        ("[calendar]\nsource = http://[::1\n", "key source: 'http://[::1' is no address of http or https."),
        ("[calendar]\nsource = http://planner:99999/\n", "key source: 'http://planner:99999/' is no address"),
        ("[agnet]\n", "section [agnet]: there is no such section. Known are [agent], [bounds]"),
        ("[grant]\ngpus = all\n", "section [grant]: there is no such section."),
        ("[bounds]\nfloor_w = 500\nceiling_w = 400\n", "key floor_w: 500 W is above ceiling_w, 400 W."),
        ("[bounds]\nceiling_w = 700000\n", "key ceiling_w: 700000 W is not within 1 to 20000 W."),
        ("[guard]\nlower_below_c = 10\ngive_back_above_c = 10\n", "10 K leaves less than 1 K above lower_below_c"),
        ("[metrics]\n", "section [metrics], key port: it is missing."),
        ("[metrics]\nport = 94.5\n", "key port: 94.5 is not a whole number."),
        ("[calendar]\n", "section [calendar], key source: it is missing."),
        ("[calendar]\nsource = calendars\n", "is neither an address nor an absolute path"),
        ("[calendar]\nsource = ftp://x/y\n", "is no address of http or https"),
        ("[calendar]\nsource = https://me:pw@x/y\n", "it carries a user, a password or a query"),
        ("[calendar]\nsource = http://x/y\ntoken_file = TOKEN\n", "the token would go over the network in the clear"),
        ("[calendar]\nsource = /srv\ntoken_file = TOKEN\n", "the source is a folder"),
        ("[calendar]\nsource = /srv\nwait_s = 30\n", "key wait_s: the source is a folder"),
        ("[calendar]\nsource = /srv\nhmac_key_file = SECRET\ned25519_public_key_file = SECRET\n", "set as well"),
        ("[ramp]\nnodes = gpu[001-0x4]\n", "is not a node or a range of nodes"),
        ("[ramp]\nnodes = a,b\nnode = c\nnode_swing_kw = 1\nramp_kw_per_min = 1\n", "'c' is not among the 2 nodes"),
        ("[ramp]\nnodes = a[1-9999]\nnode = a1\nnode_swing_kw = 10\nramp_kw_per_min = 5\n", "take 1.19988e+06 s"),
        ("no section\n", "it is not an INI file"),
        ("[agent]\n[agent]\n", "it is not an INI file"),
    ],
)
def test_every_fault_is_told_in_words(write, text, told):
    with pytest.raises(AgentError) as error:
        read_config(write(text))
    assert told in str(error.value)
    assert str(error.value).startswith(("/", "calendar"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not whole, valid JSON"),
        ('{"agent": 3}', "must be an object"),
        ('{"agent": {"sample_s": {}}}', "a text, a number"),
    ],
)
def test_json_that_is_none_is_told_too(write, text, told):
    with pytest.raises(AgentError, match=told):
        read_config(write(text, "agent.json"))


def test_a_file_that_others_may_write_is_refused(write):
    with pytest.raises(AgentError, match=r"its mode is 0666: others may write it. Run `chmod go-w"):
        read_config(write("", mode=0o666))


def test_a_link_is_refused(write, tmp_path):
    write("")
    (tmp_path / "link.ini").symlink_to(tmp_path / "agent.ini")
    with pytest.raises(AgentError, match="it is a link"):
        read_config(tmp_path / "link.ini")


@pytest.mark.parametrize(("mode", "text", "told"), [(0o640, KEY, "not 0600"), (0o600, "short", "fewer than 32")])
def test_a_secret_is_for_its_owner_alone_and_long_enough(write, tmp_path, mode, text, told):
    path = write("[calendar]\nsource = /srv\nhmac_key_file = SECRET\n")
    (tmp_path / "SECRET").write_text(text)
    (tmp_path / "SECRET").chmod(mode)
    with pytest.raises(AgentError, match=told) as error:
        read_config(path)
    assert text not in str(error.value)
