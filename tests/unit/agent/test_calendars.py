"""Calendars pulled from a folder or a web server: verified, kept over outages, never from a stranger."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.run_calendars import two_hours
from trainer_hooks.agent.calendars import CalendarKeeper, CalendarPuller
from trainer_hooks.agent.origin import FolderOrigin
from trainer_hooks.agent.secret import Secret, read_secret
from trainer_hooks.agent.sign import main as sign
from trainer_hooks.agent.signature import Ed25519Verifier, hmac_verifier
from trainer_hooks.agent.web import HttpOrigin
from trainer_hooks.calendar import parse_run, write_calendar
from trainer_hooks.errors import AgentError, CalendarError

KEY, TOKEN = "k" * 32, "token-that-nobody-may-see"


def publish(root: Path, calendar_id: str = "c0ffee", later_s: float = 0.0, runs=("llm-8b", "llm 70b")):
    header, calendars = two_hours(*runs, calendar_id=calendar_id)
    issued = header.issued_at + timedelta(seconds=later_s)
    write_calendar(root, replace(header, issued_at=issued), [replace(run, issued_at=issued) for run in calendars])


@pytest.fixture
def root(tmp_path):
    publish(tmp_path / "published")
    return tmp_path / "published"


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(0o600)
    return path


def keeper(tmp_path, origin, verifier=None, runs=()):
    return CalendarKeeper(tmp_path / "kept", origin, verifier, frozenset(runs))


class Web:
    """A web server that hands out a folder, counts, and misbehaves on demand."""

    def __init__(self, root: Path) -> None:
        self.requests, self.headers, self.unchanged, self.answer = [], [], 0, None
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                web.requests.append(self.path)
                web.headers.append(dict(self.headers))
                if web.answer is not None:
                    web.answer(self)
                    return
                file = root / http.server.urllib.parse.unquote(self.path).removeprefix("/c/")
                if not file.is_file():
                    self.send_error(404)
                    return
                etag = f'"{file.stat().st_ino}-{file.stat().st_mtime_ns}"'
                if self.headers.get("If-None-Match") == etag:
                    web.unchanged += 1
                    self.send_response(304)
                    self.end_headers()
                    return
                content = file.read_bytes()
                self.send_response(200)
                self.send_header("ETag", etag)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/c"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def web(root):
    web = Web(root)
    yield web
    web.server.shutdown()
    web.server.server_close()


def test_a_folder_is_pulled_once_and_kept_over_a_restart(tmp_path, root):
    first = keeper(tmp_path, FolderOrigin(root))
    assert first.pull()
    assert not first.pull()
    content, etag = first.text("llm-8b")
    assert parse_run(content, "x").run == "llm-8b"
    assert len(etag) == 64
    assert first.text("unknown") is None
    shutil.rmtree(root)
    with pytest.raises(CalendarError):
        first.pull()
    again = keeper(tmp_path, FolderOrigin(root))
    again.load()
    assert again.text("llm-8b") == (content, etag)


def test_a_web_server_is_asked_whether_there_is_news(tmp_path, root, web):
    pulled = keeper(tmp_path, HttpOrigin(web.url, Secret(TOKEN.encode())))
    assert pulled.pull()
    assert parse_run(pulled.text("llm 70b")[0], "x").run == "llm 70b"
    count = len(web.requests)
    assert not pulled.pull()
    assert (web.unchanged, len(web.requests)) == (1, count + 1)
    assert web.headers[0]["Authorization"] == f"Bearer {TOKEN}"
    publish(root, "decaf", later_s=1.0)
    assert pulled.pull()
    assert pulled.kept.calendar_id == "decaf"
    publish(root, "third", later_s=2.0)
    assert pulled.pull()
    kept = {entry.name for entry in (tmp_path / "kept").iterdir()}
    assert kept == {"current", "decaf", "third"}, "the last and the one before"


def test_only_the_runs_of_this_node_are_kept(tmp_path, web):
    pulled = keeper(tmp_path, HttpOrigin(web.url), runs=["llm-8b"])
    pulled.pull()
    assert pulled.text("llm-8b") is not None
    assert pulled.text("llm 70b") is None
    assert not any("70b" in path for path in web.requests)
    more = keeper(tmp_path, HttpOrigin(web.url), runs=["llm-8b", "llm 70b"])
    more.load()
    assert more.kept is None, "one that lacks a run is pulled again"
    assert more.pull()
    assert more.text("llm 70b") is not None


def test_a_run_s_file_that_is_not_what_the_header_says_keeps_the_one_before(tmp_path, root):
    pulled = keeper(tmp_path, FolderOrigin(root))
    pulled.pull()
    publish(root, "decaf", later_s=1.0)
    file = root / "decaf/runs/llm-8b.json"
    file.write_bytes(file.read_bytes().replace(b'"gpus": 8', b'"gpus": 9'))
    with pytest.raises(CalendarError, match="SHA-256"):
        pulled.pull()
    assert pulled.kept.calendar_id == "c0ffee"
    assert not (tmp_path / "kept/decaf").exists()
    assert (tmp_path / "kept/current").read_text().strip() == "c0ffee"


@pytest.mark.parametrize("pointer", ["../../etc", "a/b", "", "x" * 300, ".hidden"])
def test_a_pointer_is_a_name_and_never_a_path(tmp_path, root, pointer):
    (root / "current").write_text(pointer)
    with pytest.raises(CalendarError):
        keeper(tmp_path, FolderOrigin(root)).pull()


def test_a_signed_calendar_is_taken_and_no_other(tmp_path, root, key):
    verifier = hmac_verifier(key)
    with pytest.raises(CalendarError, match="cannot be read"):
        keeper(tmp_path, FolderOrigin(root), verifier).pull()
    assert sign([str(root), "--key-file", str(key)]) == 0
    pulled = keeper(tmp_path, FolderOrigin(root), verifier)
    assert pulled.pull()
    again = keeper(tmp_path, FolderOrigin(root), verifier)
    again.load()
    assert again.kept.calendar_id == "c0ffee"
    (tmp_path / "kept/c0ffee.sig").write_text("hmac-sha256 " + "0" * 64)
    again.load()
    assert again.kept is None, "also what lies on the own disk is verified"


@pytest.mark.parametrize("text", ["", "hmac-sha256", "hmac-sha256 " + "0" * 64, "ed25519 AAAA", "x" * 600])
def test_a_signature_of_another_key_or_none_is_refused(tmp_path, root, key, text):
    (root / "c0ffee.sig").write_text(text)
    pulled = keeper(tmp_path, FolderOrigin(root), hmac_verifier(key))
    with pytest.raises(CalendarError):
        pulled.pull()
    assert pulled.kept is None


def test_an_older_calendar_with_its_good_old_signature_is_not_taken_again(tmp_path, root, key):
    pulled = keeper(tmp_path, FolderOrigin(root), hmac_verifier(key))
    sign([str(root), "--key-file", str(key)])
    pulled.pull()
    publish(root, "decaf", later_s=60.0)
    sign([str(root), "--key-file", str(key)])
    pulled.pull()
    (root / "current").write_text("c0ffee\n")
    with pytest.raises(CalendarError, match="before the one in force"):
        pulled.pull()
    assert pulled.kept.calendar_id == "decaf"


def test_the_week_that_follows_may_be_older_than_the_last_answer_in_this_one(tmp_path, root, key):
    header, runs = two_hours("llm-8b", calendar_id="next")
    hour = timedelta(hours=1)

    def later(by):
        moved = [
            replace(
                run,
                valid_from=run.valid_from + by,
                valid_until=run.valid_until + by,
                windows=tuple(replace(one, start=one.start + by, end=one.end + by) for one in run.windows),
            )
            for run in runs
        ]
        return replace(header, valid_from=header.valid_from + by, valid_until=header.valid_until + by), moved

    publish(root, "answer", later_s=60.0)
    sign([str(root), "--key-file", str(key)])
    keeper(tmp_path, FolderOrigin(root), hmac_verifier(key)).pull()
    pulled = keeper(tmp_path, FolderOrigin(root), hmac_verifier(key))
    pulled.load()
    write_calendar(root, *later(hour))
    sign([str(root), "--key-file", str(key)])
    with pytest.raises(CalendarError, match="before the one in force"):
        pulled.pull()
    shutil.rmtree(root / "next")
    (root / "next.sig").unlink()
    write_calendar(root, *later(2 * hour))
    sign([str(root), "--key-file", str(key)])
    assert pulled.pull()
    assert pulled.kept.calendar_id == "next"
    # an answer in the week that is over was made after the next one, and must not be handed out again
    publish(root, "replayed", later_s=120.0)
    sign([str(root), "--key-file", str(key)])
    with pytest.raises(CalendarError, match="before the one in force begins"):
        pulled.pull()
    assert pulled.kept.calendar_id == "next"


def test_a_key_pair_signs_as_well(tmp_path, root):
    pytest.importorskip("cryptography", reason="the package cryptography, an extra, is not installed")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    for name in ("ours", "theirs"):
        private = Ed25519PrivateKey.generate()
        (tmp_path / f"{name}.pem").write_bytes(
            private.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
        )
        (tmp_path / f"{name}.pem").chmod(0o600)
        public = private.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub").write_bytes(public)
    verifier = Ed25519Verifier(tmp_path / "ours.pub")
    assert sign([str(root), "--ed25519", "--key-file", str(tmp_path / "theirs.pem")]) == 0
    with pytest.raises(CalendarError, match="not of this key"):
        keeper(tmp_path, FolderOrigin(root), verifier).pull()
    assert sign([str(root), "--ed25519", "--key-file", str(tmp_path / "ours.pem")]) == 0
    assert keeper(tmp_path, FolderOrigin(root), verifier).pull()
    with pytest.raises(AgentError, match="it holds no key in PEM"):
        Ed25519Verifier(root / "current")


def test_without_the_package_a_key_pair_is_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    with pytest.raises(AgentError, match=r"Install gridpace-hooks\[ed25519\]"):
        Ed25519Verifier(tmp_path / "x.pub")


def test_nothing_that_is_imported_needs_the_extra():
    code = "import sys, trainer_hooks.agent.main; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_signing_says_what_is_wrong(tmp_path, root, key, capsys):
    key.chmod(0o644)
    assert sign([str(root), "--key-file", str(key)]) == 2
    key.chmod(0o600)
    assert sign([str(tmp_path), "--key-file", str(key)]) == 2
    told = capsys.readouterr().err
    assert "not 0600" in told
    assert KEY not in told


def redirect(to):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.end_headers()

    return answer


@pytest.mark.parametrize(
    "to", ["http://127.0.0.2:1/c/current", "https://127.0.0.1/c/current", "file:///etc/passwd", "ftp://x/y"]
)
def test_a_server_that_sends_elsewhere_is_not_followed(tmp_path, web, to):
    web.answer = redirect(to)
    with pytest.raises(CalendarError) as told:
        keeper(tmp_path, HttpOrigin(web.url, Secret(TOKEN.encode()))).pull()
    assert TOKEN not in str(told.value)
    assert len(web.requests) == 1


def test_a_server_that_sends_to_itself_is_followed(root, web):
    web.answer = lambda handler: (setattr(web, "answer", None), redirect("/c/current")(handler))
    assert HttpOrigin(web.url).get("elsewhere", 256).content == b"c0ffee\n"


def huge(handler):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b"x" * 100_000)


def cut(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"c0f")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (huge, "larger than the limit of 256 bytes"),
        (cut, "ended after 3 bytes, before its own length"),
        (lambda handler: handler.send_error(503), "the server answers 503"),
        (lambda handler: handler.wfile.write(b"nonsense\r\n\r\n"), "cannot be fetched"),
        (lambda handler: handler.connection.close(), "cannot be fetched"),
    ],
)
def test_a_server_that_misbehaves_is_told_in_words(tmp_path, web, answer, why):
    web.answer = answer
    pulled = keeper(tmp_path, HttpOrigin(web.url))
    with pytest.raises(CalendarError, match=why):
        pulled.pull()
    web.answer = None
    assert pulled.pull()


def test_a_server_that_drips_is_given_up(web):
    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(40):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            threading.Event().wait(0.02)

    web.answer = drip
    with pytest.raises(CalendarError, match="did not come whole in time"):
        HttpOrigin(web.url, timeout_s=0.2).get("current", 256)


def test_outages_are_told_once_and_the_pause_grows(tmp_path, root, caplog):
    caplog.set_level("INFO")
    puller = CalendarPuller(keeper(tmp_path, FolderOrigin(root)), 60.0, lambda: None)
    assert puller.look() == 60.0
    hidden = root.rename(root.with_name("hidden"))
    assert [puller.look() for _ in range(12)] == [60.0 * min(1 + n, 10) for n in range(1, 13)]
    hidden.rename(root)
    assert puller.look() == 60.0
    told = [record.getMessage() for record in caplog.records]
    assert sum("the last good one stays in force" in text for text in told) == 1
    assert sum("answers again" in text for text in told) == 1


def test_a_secret_does_not_show_itself(key):
    secret = read_secret(key, 8)
    assert KEY not in f"{secret} {secret!r}"


def test_a_token_for_this_machine_does_not_go_by_way_of_a_proxy(web, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert HttpOrigin(web.url, Secret(TOKEN.encode())).get("current", 256) is not None
