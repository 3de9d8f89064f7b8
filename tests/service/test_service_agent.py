"""A node agent and a training that follow the service, as they are installed: HTTPS, a token, signed calendars."""

from __future__ import annotations

import shutil
import subprocess
from datetime import timedelta

import pytest

from tests.agents import PlainGpu, agent_here, grant, place, until
from tests.served import NOON, calendar, enter, served
from trainer_hooks.agent.secret import Secret
from trainer_hooks.agent.signature import sign_hmac
from trainer_hooks.agent_client import AgentClient
from trainer_hooks.calendar import parse_run

KEY = "k" * 64
RUN = "llm/70B <x>"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("the program openssl is not there to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    kind = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    named = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
    subprocess.run(["openssl", "req", *kind, *named, *files], check=True, capture_output=True)
    return folder


def test_a_job_on_a_node_gets_its_windows_through_its_agent_and_sees_a_new_calendar(tmp_path, certificate):
    ssl = {"ssl_certfile": str(certificate / "cert.pem"), "ssl_keyfile": str(certificate / "key.pem")}
    sign = lambda content: sign_hmac(content, Secret(KEY.encode()))  # noqa: E731 - as the service makes it of its file
    with served(tmp_path / "s", sign=sign, ssl=ssl) as service, place() as folder:
        first = enter(service.state.ledger, calendar(name=RUN))
        for name, content in (("token", service.tokens["agent"]), ("key", KEY)):
            (folder / name).write_text(content)
            (folder / name).chmod(0o600)
        source = (
            f"[calendar]\nsource = {service.site}/calendars\ntoken_file = {folder}/token\n"
            f"hmac_key_file = {folder}/key\nca_file = {certificate}/cert.pem\npoll_s = 0.1\n"
        )
        granted = grant(more=f"runs = {RUN}")
        with agent_here(folder, [PlainGpu("GPU-a")], granted, source) as agent:
            until(lambda: agent.keeper.kept is not None, 10.0)
            client = AgentClient(folder / "run/agent.sock")
            content, etag = client.calendar(RUN, "")
            assert parse_run(content, "x").calendar_id == first
            assert client.calendar(RUN, etag) is None
            second = enter(service.state.ledger, calendar(name=RUN, issued=NOON - timedelta(hours=1)))
            until(lambda: agent.keeper.kept.calendar_id == second, 10.0)
            assert parse_run(client.calendar(RUN, etag)[0], "x").calendar_id == second
            client.close()
