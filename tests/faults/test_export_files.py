"""A disk that refuses leaves every file as it was."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
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
    real = module.write_file

    def full(path: Path, content: bytes) -> None:
        if content == b"new 2":
            path.write_bytes(content[:2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(module, "write_file", full)
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


def test_a_kernel_that_refuses_more_bytes_is_an_export_error(tmp_path, root):
    (tmp_path / "one").write_bytes(b"old")
    script = (
        "import resource, signal, sys; from pathlib import Path;"
        "from planner.export.files import write_files; from planner.errors import ExportError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_files({Path(sys.argv[1]) / 'one': b'new', Path(sys.argv[1]) / 'two': bytes(5000)})\n"
        "except ExportError as error: print(error.what)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{tmp_path / 'two'} cannot be written (File too large)\n"
    assert (tmp_path / "one").read_bytes() == b"old"
    assert names(tmp_path) == {"one"}


def test_a_folder_in_a_files_place_is_told_before_any_file_is_replaced(tmp_path):
    (tmp_path / "one").write_bytes(b"old")
    (tmp_path / "two").mkdir()
    entered = []
    with (
        pytest.raises(ExportError, match=r"two cannot be written \(Is a directory\)"),
        staged_files({tmp_path / "one": b"new", tmp_path / "two": b"new"}),
    ):
        entered.append(True)
    assert entered == []
    assert (tmp_path / "one").read_bytes() == b"old"
    assert names(tmp_path) == {"one", "two"}


def test_what_a_killed_process_left_is_swept_once_it_is_old_and_nothing_else_is(tmp_path):
    old, young = tmp_path / ".gridpace-0123456789ab-0", tmp_path / ".gridpace-ba9876543210-3"
    theirs = tmp_path / ".gridpace-notes", tmp_path / ".report.html.0123456789ab"
    for path in (old, young, *theirs):
        path.write_bytes(b"half")
    an_hour_ago = time.time() - 4000.0
    for path in (old, *theirs):
        os.utime(path, (an_hour_ago, an_hour_ago))
    write_files({tmp_path / "one": b"1"})
    assert names(tmp_path) == {"one", young.name, *(path.name for path in theirs)}


def test_the_longest_name_a_file_system_takes_can_be_written(tmp_path):
    write_files({tmp_path / ("n" * 255): b"1"})
    assert names(tmp_path) == {"n" * 255}
