"""Telemetry that leaves a node by itself: read once, kept on the disk, sent until the server has it."""

from __future__ import annotations

import errno
import http.server
import json
import logging
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.agents import config_file
from trainer_hooks.agent import sender as sender_module
from trainer_hooks.agent import tail as tail_module
from trainer_hooks.agent.config import read_config
from trainer_hooks.agent.secret import Secret
from trainer_hooks.agent.sender import TelemetrySender
from trainer_hooks.agent.spool import Spool
from trainer_hooks.agent.tail import Tail
from trainer_hooks.agent.telemetry_section import sender_for
from trainer_hooks.agent.upload import NotSent, Refused, Upload
from trainer_hooks.errors import AgentError
from trainer_hooks.telemetry import Record, TelemetryWriter, parse_line, record_line

TOKEN = "token-that-nobody-may-see"
NOON = datetime(2024, 5, 13, 12, tzinfo=UTC)
RECORD = Record("r1", "c0", "w1", 0, NOON, NOON, "run", 10, 9, 10, 5.5, 0.1, "counter", 1, None, None, None)


def numbered(count, writer="w1", first=0):
    return [replace(RECORD, writer=writer, sequence=first + i) for i in range(count)]


class Intake:
    """A server that keeps what comes, and answers as a test says."""

    def __init__(self):
        self.bodies, self.headers, self.act = [], [], None
        intake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                intake.headers.append(dict(self.headers))
                if intake.act is not None and intake.act(self, body):
                    return
                intake.bodies.append(body)
                self.answer(200, {"added": body.count(b"\n"), "repeated": 0, "refused": 0, "faults": []})

            def answer(self, status, document=None, **headers):
                content = json.dumps(document).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(content)
                return True

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def records(self):
        lines = b"".join(self.bodies).splitlines(keepends=True)
        return [(r.writer, r.sequence) for r in (parse_line(line, "x") for line in lines)]


@pytest.fixture
def intake():
    found = Intake()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def written(tmp_path):
    folder = tmp_path / "telemetry"
    folder.mkdir()
    return folder


def sender(tmp_path, written, intake, most_bytes=8_000_000):
    spool = Spool(tmp_path / "spool", most_bytes)
    tail = Tail(written, tmp_path / "read.json")
    return TelemetrySender(tail, spool, Upload(intake.url, Secret(TOKEN.encode())), 30.0)


def write(folder, records, name="a.jsonl"):
    with (folder / name).open("ab") as stream:
        stream.write(b"".join(map(record_line, records)))


def test_what_trainings_write_is_sent_once_and_read_on_after_a_restart(tmp_path, written, intake):
    writer = TelemetryWriter(written, "r1", "w1")
    for record in numbered(3):
        writer.write(record)
    (written / "alice").mkdir()
    write(written / "alice", numbered(2, "w2"))
    first = sender(tmp_path, written, intake)
    assert first.look() == 30.0
    assert sorted(intake.records) == [("w1", 0), ("w1", 1), ("w1", 2), ("w2", 0), ("w2", 1)]
    assert first.look() == 30.0
    writer.write(numbered(1, first=3)[0])
    assert sender(tmp_path, written, intake).look() == 30.0
    assert len(intake.bodies) == 2
    assert intake.records[-1] == ("w1", 3)
    assert intake.headers[0]["Authorization"] == f"Bearer {TOKEN}"
    assert not list((tmp_path / "spool").iterdir())


def test_a_server_that_is_away_costs_nothing_but_time(tmp_path, written, intake, caplog):
    caplog.set_level(logging.INFO, "trainer_hooks.agent")
    sending = sender(tmp_path, written, intake)
    intake.act = lambda handler, _: handler.answer(503)
    write(written, numbered(2))
    pauses = [sending.look() for _ in range(6)]
    assert 30.0 <= pauses[0] <= 60.0
    assert 150.0 <= pauses[-1] <= 300.0
    (written / "a.jsonl").unlink()  # the job has ended and cleaned up after itself
    intake.act = None
    assert sender(tmp_path, written, intake).look() == 30.0
    assert intake.records == [("w1", 0), ("w1", 1)]
    told = [entry.getMessage() for entry in caplog.records]
    assert len(told) == 1
    assert "telemetry waits on this node's disk" in told[0]
    assert TOKEN not in caplog.text


def test_an_answer_that_is_lost_sends_the_batch_again(tmp_path, written, intake):
    sending = sender(tmp_path, written, intake)
    write(written, numbered(2))

    def lost(handler, body):
        intake.bodies.append(body)
        handler.close_connection = True
        return True

    intake.act = lost
    assert sending.look() > 30.0
    intake.act = None
    assert sending.look() == 30.0
    assert intake.records == [("w1", 0), ("w1", 1)] * 2  # the service counts each once


def test_a_full_spool_reads_no_more_and_loses_nothing(tmp_path, written, intake, monkeypatch):
    monkeypatch.setattr(sender_module, "PIECE_BYTES", 2000)
    sending = sender(tmp_path, written, intake, most_bytes=9000)
    intake.act = lambda handler, _: handler.answer(502)
    write(written, numbered(100))
    for _ in range(3):
        sending.look()
    waiting = sum(path.stat().st_size for path in (tmp_path / "spool").iterdir())
    assert 4000 < waiting <= 9000
    intake.act = None
    sending.look()
    assert intake.records == [("w1", i) for i in range(100)]
    assert max(map(len, intake.bodies)) <= 2000 + 500


def test_a_full_disk_is_emptied_by_sending(tmp_path, written, intake, monkeypatch, caplog):
    sending = sender(tmp_path, written, intake)
    intake.act = lambda handler, _: handler.answer(502)
    write(written, numbered(2))
    sending.look()
    intake.act = None
    write(written, numbered(1, first=2))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Spool, "add", full)
        assert sending.look() > 30.0
    assert intake.records == [("w1", 0), ("w1", 1)]
    assert "the disk refuses" in caplog.text
    assert sending.look() == 30.0
    assert intake.records == [("w1", 0), ("w1", 1), ("w1", 2)]


def test_a_disk_that_takes_no_note_of_what_was_read_does_not_send_without_end(tmp_path, written, intake, monkeypatch):
    sending = sender(tmp_path, written, intake)
    write(written, numbered(1))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Tail, "keep", full)
    assert sending.look() > 30.0
    assert intake.records == [("w1", 0)]


def test_a_batch_that_is_refused_for_good_does_not_stand_in_the_way(tmp_path, written, intake, caplog):
    sending = sender(tmp_path, written, intake)
    write(written, numbered(1))
    intake.act = lambda handler, _: handler.answer(422)
    assert sending.look() == 30.0
    intake.act = None
    write(written, numbered(1, first=1))
    assert sending.look() == 30.0
    assert intake.records == [("w1", 1)]
    assert [path.suffix for path in (tmp_path / "spool").iterdir()] == [".refused"]
    assert "is refused" in caplog.text


def test_lines_that_are_refused_are_told_and_let_go(tmp_path, written, intake, caplog):
    answer = {"added": 1, "repeated": 0, "refused": 1, "faults": ["line 2: it is no record"]}
    intake.act = lambda handler, _: handler.answer(200, answer)
    write(written, numbered(2))
    sending = sender(tmp_path, written, intake)
    assert sending.look() == 30.0
    assert "1 records are refused, as line 2: it is no record" in caplog.text
    values = {metric.name: metric.values[0][1] for metric in sending.metrics()}
    assert values == {
        "gridpace_telemetry_spool_bytes": 0.0,
        "gridpace_telemetry_failures": 0,
        "gridpace_telemetry_sent_records_total": 1,
        "gridpace_telemetry_refused_records_total": 1,
    }


def test_a_server_that_asks_for_patience_has_it(tmp_path, written, intake):
    write(written, numbered(1))
    intake.act = lambda handler, _: handler.answer(429, Retry_After="900")
    assert sender(tmp_path, written, intake).look() == 900.0


@pytest.mark.parametrize("answer", [[], {}, {"added": "x", "repeated": 0, "refused": 0, "faults": []}])
def test_what_answers_as_no_service_does_has_not_taken_it(tmp_path, written, intake, answer):
    write(written, numbered(1))
    intake.act = lambda handler, _: handler.answer(200, answer)
    assert sender(tmp_path, written, intake).look() > 30.0
    assert len(list((tmp_path / "spool").iterdir())) == 1


def test_telemetry_goes_to_nobody_else(intake):
    intake.act = lambda handler, _: handler.answer(302, Location="http://127.0.0.1:1/x")
    with pytest.raises(NotSent, match="sends elsewhere"):
        Upload(intake.url).send(b"x\n")
    assert len(intake.headers) == 1
    intake.act = lambda handler, _: handler.answer(400)
    with pytest.raises(Refused):
        Upload(intake.url).send(b"x\n")


def test_links_pipes_and_endless_lines_are_passed_over(tmp_path, written):
    (tmp_path / "secret").write_bytes(b"secret\n")
    (written / "link.jsonl").symlink_to(tmp_path / "secret")
    (written / "folder").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(written / "pipe.jsonl")
    (written / "long.jsonl").write_bytes(b"x" * 70_000 + b"\n" + b"y" * 70_000)
    write(written, numbered(1))
    with (written / "a.jsonl").open("ab") as stream:
        stream.write(b'{"half": ')
    tail = Tail(written, tmp_path / "read.json")
    taken = tail.take(1_000_000)
    assert taken.content == record_line(RECORD)
    tail.keep(taken)
    assert tail.take(1_000_000).content == b""
    (written / "a.jsonl").write_bytes(record_line(numbered(1, "w9")[0])[:-1])
    taken = tail.take(1_000_000)
    assert taken.content == b""
    tail.keep(taken)
    with (written / "a.jsonl").open("ab") as stream:
        stream.write(b"\n")
    assert b"w9" in tail.take(1_000_000).content


def test_a_note_of_what_was_read_that_is_damaged_reads_all_again(tmp_path, written, caplog):
    write(written, numbered(1))
    (tmp_path / "read.json").write_text("{")
    assert Tail(written, tmp_path / "read.json").take(1_000_000).content == record_line(RECORD)
    assert "read from its begin again" in caplog.text


def test_an_agent_that_was_killed_as_it_wrote_leaves_no_half_piece(tmp_path):
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool/000000000007.new").write_bytes(b"half")
    (tmp_path / "spool/000000000006.jsonl").write_bytes(b"whole\n")
    spool = Spool(tmp_path / "spool", 1_000_000)
    spool.add(b"next\n")
    assert sorted(path.name for path in (tmp_path / "spool").iterdir()) == [
        "000000000006.jsonl",
        "000000000007.jsonl",
    ]
    piece = spool.oldest()
    assert piece.content == b"whole\n"
    spool.drop(piece)
    spool.drop(piece)
    assert spool.oldest().content == b"next\n"


def test_the_section_says_where_from_and_where_to(spot, intake, monkeypatch):
    section = f"[telemetry]\nfolder = {spot}/telemetry\nserver = {intake.url}\nspool_mb = 5\n"
    monkeypatch.setenv("GRIDPACE_TOKEN", TOKEN)
    rules = read_config(config_file(spot, section)).telemetry
    assert (rules.every_s, rules.spool_bytes) == (30.0, 5_000_000)
    (spot / "telemetry").mkdir()
    write(spot / "telemetry", numbered(1))
    assert sender_for(rules, spot).look() == 30.0
    assert intake.headers[0]["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in repr(rules)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("server = https://x", "key folder: it is missing"),
        ("folder = telemetry\nserver = https://x", "not an absolute path"),
        ("folder = /t", "key server: it is missing"),
        ("folder = /t\nserver = ftp://x", "no address of http or https"),
        ("folder = /t\nserver = http://example.com", "in the clear"),
        ("folder = /t\nserver = https://x\nevery = 3", "Did you mean 'every_s'?"),
    ],
)
def test_what_is_wrong_in_the_section_is_told(spot, section, told, monkeypatch):
    monkeypatch.setenv("GRIDPACE_TOKEN", TOKEN)
    with pytest.raises(AgentError) as caught:
        read_config(config_file(spot, f"[telemetry]\n{section}\n"))
    assert told in f"{caught.value}"
    assert TOKEN not in f"{caught.value}"


@pytest.mark.parametrize("token", [f"{TOKEN}\nsecond", f"{TOKEN} x", f"{TOKEN}\x7f", f"{TOKEN}\u00e9"])
def test_a_token_that_no_header_carries_is_refused_and_not_shown(spot, token, monkeypatch):
    path = spot / "token"
    path.write_text(f"{token}\n")
    path.chmod(0o600)
    sections = ("[telemetry]\nfolder = /t\nserver = https://x\n", "[calendar]\nsource = https://x\n")
    monkeypatch.delenv("GRIDPACE_TOKEN", raising=False)
    for section in sections:
        with pytest.raises(AgentError, match="not printable ASCII") as caught:
            read_config(config_file(spot, f"{section}token_file = {path}\n"))
        assert TOKEN not in f"{caught.value}"
    monkeypatch.setenv("GRIDPACE_TOKEN", token)
    with pytest.raises(AgentError, match=r"GRIDPACE_TOKEN.*not printable ASCII") as caught:
        read_config(config_file(spot, sections[0]))
    assert TOKEN not in f"{caught.value}"


def test_a_token_that_is_too_short_is_refused(spot, monkeypatch):
    monkeypatch.setenv("GRIDPACE_TOKEN", "short")
    with pytest.raises(AgentError, match=r"GRIDPACE_TOKEN.* fewer than 8"):
        read_config(config_file(spot, "[telemetry]\nfolder = /t\nserver = https://x\n"))


def test_of_too_many_files_those_written_last_are_read_and_that_is_told_once(tmp_path, written, monkeypatch, caplog):
    monkeypatch.setattr(tail_module, "_MOST_FILES", 2)
    for second, name in enumerate(("c", "b", "a", "d")):
        file = written / f"{name}.jsonl"
        file.write_text(f'{{"from": "{name}"}}\n', encoding="utf-8")
        os.utime(file, (second, second))
    tail = Tail(written, tmp_path / "read.json")
    taken = tail.take(1_000_000)
    assert taken.content == b'{"from": "a"}\n{"from": "d"}\n'
    tail.take(1_000_000)
    assert caplog.text.count("has 4 files of telemetry; the 2 written last are read") == 1


def test_what_is_too_large_for_something_on_the_way_goes_in_halves(tmp_path, written, intake):
    write(written, numbered(5))
    most = 2 * len(record_line(RECORD))
    intake.act = lambda handler, body: len(body) > most and (handler.answer(413) or True)
    found = sender(tmp_path, written, intake)
    assert found.look() == 30.0
    assert b"".join(intake.bodies) == b"".join(map(record_line, numbered(5)))
    assert {one.name: one.values[0][1] for one in found.metrics()}["gridpace_telemetry_sent_records_total"] == 5
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_single_record_that_is_too_large_is_set_aside_and_the_others_arrive(tmp_path, written, intake):
    long = replace(RECORD, sequence=3, run="r" * 500)
    write(written, [*numbered(3), long])
    intake.act = lambda handler, body: b"r" * 500 in body and (handler.answer(413) or True)
    sender(tmp_path, written, intake).look()
    assert b"".join(intake.bodies) == b"".join(map(record_line, numbered(3)))
    (aside,) = (tmp_path / "spool").iterdir()
    assert aside.suffix == ".refused"
