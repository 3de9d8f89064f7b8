"""A disk that refuses leaves every file as it was."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from planner.errors import ExportError
from planner.export import files as module
from planner.export.files import staged_files, write_files


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


def test_files_are_written_and_replaced(tmp_path):
    write_files({tmp_path / "a" / "one": b"1", tmp_path / "two": b"2"})
    write_files({tmp_path / "two": b"2 again"})
    assert (tmp_path / "a" / "one").read_bytes() == b"1"
    assert (tmp_path / "two").read_bytes() == b"2 again"
    assert names(tmp_path) == {"a", "one", "two"}


def test_a_disk_that_fills_at_the_second_file_leaves_both_as_they_were(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"old")
    real = module._write

    def full(path: Path, content: bytes) -> None:
        if content == b"new 2":
            path.write_bytes(content[:2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(module, "_write", full)
    with pytest.raises(ExportError, match=r"second cannot be written \(No space left on device\)"):
        write_files({first: b"new 1", second: b"new 2"})
    assert first.read_bytes() == b"old"
    assert names(tmp_path) == {"first"}


def test_a_fault_in_the_body_leaves_no_file(tmp_path):
    (tmp_path / "here").mkdir()
    with pytest.raises(RuntimeError), staged_files({tmp_path / "here/one": b"1", tmp_path / "a/b/two": b"2"}):
        raise RuntimeError
    assert names(tmp_path) == {"here"}


def test_the_files_appear_only_after_the_body(tmp_path):
    with staged_files({tmp_path / "one": b"1"}):
        assert not (tmp_path / "one").exists()
    assert (tmp_path / "one").read_bytes() == b"1"


def test_a_file_where_a_folder_should_be_is_told(tmp_path):
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(ExportError, match="cannot be written") as caught:
        write_files({tmp_path / "out" / "report.html": b""})
    assert "another folder" in caught.value.fix


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_really_full_device_is_an_export_error(tmp_path, monkeypatch):
    monkeypatch.setattr(module.secrets, "token_hex", lambda _: "x")
    (tmp_path / ".report.html.x").symlink_to("/dev/full")
    with pytest.raises(ExportError):
        write_files({tmp_path / "report.html": b"page"})
    assert names(tmp_path) == set()
