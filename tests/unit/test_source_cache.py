"""Kept answers: found again, shared between processes, and never in the way."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planner.sources.cache import Answer, ResponseCache, default_folder

NOON = datetime(2024, 5, 13, 12, tzinfo=UTC)


def answer(body=b"{}", at=NOON):
    return Answer(200, {"content-type": "application/json"}, body, at)


def test_an_answer_is_found_again_and_replaced(tmp_path):
    cache = ResponseCache(tmp_path / "deep" / "folder")
    assert cache.get("a") is None
    cache.put("a", answer(b"1"))
    cache.put("b", answer(b"2"))
    assert cache.get("a") == answer(b"1")
    cache.put("a", answer(b"3", NOON + timedelta(hours=1)))
    assert ResponseCache(tmp_path / "deep" / "folder").get("a") == answer(b"3", NOON + timedelta(hours=1))


def test_what_is_too_old_to_be_served_is_dropped(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.put("old", answer())
    cache.put("new", answer(at=NOON + timedelta(days=91)))
    assert cache.get("old") is None
    assert cache.get("new") is not None


def test_what_no_longer_changes_is_kept_for_good(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.put("of an earlier gridpace", answer())
    cache.put("settled", answer(b"1"), settled=True)
    cache.put("settled", answer(b"2"), settled=True)
    cache.put("new", answer(at=NOON + timedelta(days=500)))
    assert cache.get("settled") == answer(b"2")
    assert cache.get("of an earlier gridpace") is None


@pytest.mark.parametrize("damage", ["text", "page", "schema", "headers"])
def test_a_broken_file_is_set_aside_and_a_new_one_started(tmp_path, caplog, damage):
    cache = ResponseCache(tmp_path)
    cache.put("a", answer(b"x" * 50_000))
    if damage == "text":
        cache.path.write_text("this is no database " * 500)
    elif damage == "page":
        raw = bytearray(cache.path.read_bytes())
        raw[4096:] = b"\xff" * (len(raw) - 4096)
        cache.path.write_bytes(raw)
    else:
        with sqlite3.connect(cache.path) as db:
            db.execute("PRAGMA user_version = 99" if damage == "schema" else "UPDATE answer SET headers = '{'")
        db.close()
    with caplog.at_level(logging.WARNING):
        assert cache.get("a") is None
    assert "set aside" in caplog.text
    assert (tmp_path / "responses.sqlite.broken").is_file()
    cache.put("a", answer())
    assert cache.get("a") == answer()


def test_a_folder_that_cannot_be_made_means_no_cache(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    cache = ResponseCache(tmp_path / "file" / "cache")
    cache.put("a", answer())
    assert cache.get("a") is None
    assert "answers are not kept" in caplog.text


def test_a_full_disk_means_no_cache(tmp_path, caplog, monkeypatch):
    cache = ResponseCache(tmp_path)
    cache.put("a", answer(b"1"))
    real = sqlite3.connect

    def small(*args, **kwargs):
        db = real(*args, **kwargs)
        db.execute("PRAGMA max_page_count = 4")
        return db

    monkeypatch.setattr(sqlite3, "connect", small)
    cache.put("a", answer(b"x" * 200_000))
    assert "full" in caplog.text
    assert cache.get("a") == answer(b"1")


def test_several_processes_write_at_once(tmp_path, root):
    program = (
        "import sys; from datetime import datetime, UTC; from pathlib import Path\n"
        "from planner.sources.cache import Answer, ResponseCache\n"
        "cache = ResponseCache(Path(sys.argv[1]))\n"
        "for i in range(40):\n"
        "    cache.put(f'{sys.argv[2]}-{i}', Answer(200, {}, b'x' * 1000, datetime(2024, 5, 13, tzinfo=UTC)))\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], cwd=root, stderr=subprocess.PIPE)
        for name in "abc"
    ]
    errors = [w.communicate(timeout=60)[1] for w in workers]
    assert [w.returncode for w in workers] == [0, 0, 0]
    assert errors == [b"", b"", b""]
    cache = ResponseCache(tmp_path)
    assert all(cache.get(f"{name}-{i}") for name in "abc" for i in range(40))


def in_the_way(times, code):
    """A connect that is refused so many times."""
    real, left = sqlite3.connect, iter(range(times))

    def connect(*args, **kwargs):
        if next(left, None) is not None:
            exc = sqlite3.OperationalError("database is locked")
            exc.sqlite_errorcode = code
            raise exc
        return real(*args, **kwargs)

    return connect


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY, sqlite3.SQLITE_LOCKED])
def test_another_process_in_the_way_is_waited_for(tmp_path, monkeypatch, caplog, code):
    cache = ResponseCache(tmp_path)
    monkeypatch.setattr(sqlite3, "connect", in_the_way(3, code))
    cache.put("a", answer())
    assert cache.get("a") == answer()
    assert not caplog.text


def test_another_process_in_the_way_is_not_waited_for_without_end(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("planner.sources.store._BUSY_S", 0.05)
    monkeypatch.setattr(sqlite3, "connect", in_the_way(10_000, sqlite3.SQLITE_BUSY))
    ResponseCache(tmp_path).put("a", answer())
    assert "answers are not kept" in caplog.text


def test_the_folder_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GRIDPACE_CACHE", str(tmp_path / "named"))
    assert default_folder() == tmp_path / "named"
    monkeypatch.delenv("GRIDPACE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "gridpace"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder() == Path.home() / ".cache" / "gridpace"


def test_a_user_without_a_home_keeps_nothing_and_is_not_stopped(monkeypatch, caplog):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("GRIDPACE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert ResponseCache(default_folder()).get("any") is None
    assert "answers are not kept" in caplog.text
