"""Metrics in Prometheus' text format, on the loopback interface; and what systemd is told."""

from __future__ import annotations

import logging
import math
import socket
import urllib.error
import urllib.request

import pytest

from tests.agents import A, PlainGpu, agent_here, free_port, grant, place, until
from trainer_hooks.agent.metrics import Metric, MetricsServer, exposition
from trainer_hooks.agent.systemd import JournalFormatter, notify
from trainer_hooks.errors import AgentError
from trainer_hooks.wire import call

POWER = Metric("gridpace_gpu_power_watts", "gauge", "Power.", (({"gpu": 'a"b\\\n'}, 120.5), ({}, float("nan"))))


def test_the_text_format():
    assert exposition([POWER]) == (
        "# HELP gridpace_gpu_power_watts Power.\n"
        "# TYPE gridpace_gpu_power_watts gauge\n"
        'gridpace_gpu_power_watts{gpu="a\\"b\\\\\\n"} 120.5\n'
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [("gridpace_power", "gauge"), ("gridpace_energy_joules", "counter"), ("gridpace_power_watts_total", "gauge")],
)
def test_a_name_ends_in_its_unit(name, kind):
    with pytest.raises(ValueError, match=r"must end in its unit|end in _total"):
        Metric(name, kind, "text", ())


@pytest.fixture
def server():
    server = MetricsServer(0, lambda: [POWER])
    server.start()
    yield server
    server.close()


def test_only_one_path_is_answered_and_only_here(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert b"120.5" in answer.read()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/../etc/passwd", timeout=5)
    with pytest.raises(AgentError, match="cannot be listened on"):
        MetricsServer(server.port, list)


@pytest.mark.parametrize("content", [b"x" * 20_000, b"", b"POST /metrics HTTP/1.1\r\n\r\n", b"\r\n\r\n"])
def test_nonsense_does_not_keep_it_from_the_next_one(server, content):
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(content)
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as answer:
        assert answer.status == 200


def test_a_fault_in_collecting_is_logged(caplog):
    server = MetricsServer(0, lambda: 1 / 0)
    server.start()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=5) as answer:
        assert answer.read() == b""
    server.close()
    assert "cannot be collected" in caplog.text


def test_an_agent_tells_its_boards():
    silent = PlainGpu("GPU-silent", silent=True)
    with (
        place() as spot,
        agent_here(spot, [PlainGpu(A), silent], grant(), f"[metrics]\nport = {free_port()}\n") as agent,
    ):
        call(agent._config.socket, {"op": "lease", "gpus": [A], "limit_w": 300.0, "ttl_s": 5.0}, 5.0)
        until(lambda: agent._server.served == 1)  # counted once the answer is on its way
        agent._sampled_s = -math.inf
        agent.look()
        text = exposition(agent._collect())
    for line in (
        f'gridpace_gpu_power_watts{{gpu="{A}"}} 120.5',
        f'gridpace_gpu_energy_joules_total{{gpu="{A}"}} 5000',
        f'gridpace_gpu_prior_limit_watts{{gpu="{A}"}} 650',
        f'gridpace_gpu_wanted_limit_watts{{gpu="{A}"}} 300',
        f'gridpace_gpu_claims{{gpu="{A}"}} 1',
        f'gridpace_gpu_answers_bool{{gpu="{A}"}} 1',
        'gridpace_gpu_answers_bool{gpu="GPU-silent"} 0',
        "gridpace_answered_requests_total 1",
    ):
        assert line in text.splitlines()
    assert 'gridpace_gpu_power_watts{gpu="GPU-silent"}' not in text


def test_the_service_manager_is_told_where_there_is_one(tmp_path):
    notify("READY=1", {})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        manager.settimeout(5)
        notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "n")})
        assert manager.recv(100) == b"READY=1"
    notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "gone")})


def test_a_line_of_the_journal_has_its_rank_and_no_line_of_a_stranger_s():
    record = logging.LogRecord("x", logging.WARNING, "f", 1, "user said %s", ("a\n<0>b\x1b[31m",), None)
    assert JournalFormatter("%(message)s").format(record) == "<4>user said a\n<4><0>b?[31m"
