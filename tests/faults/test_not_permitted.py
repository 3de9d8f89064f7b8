from __future__ import annotations

import errno
from pathlib import Path

import pytest

from planner.errors import ExportError, NotPermitted
from planner.export.files import write_files


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EACCES, NotPermitted),
        (errno.EPERM, NotPermitted),
        (errno.EROFS, ExportError),
        (errno.ENOSPC, ExportError),
    ],
)
def test_a_refused_write_says_whether_it_was_the_disk_or_the_user(monkeypatch, tmp_path, number, kind):
    def refuse(self, *arguments, **named):
        raise OSError(number, "refused", str(self))

    (tmp_path / "a.txt").write_text("before")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        with pytest.raises(kind, match="cannot be written"):
            write_files({tmp_path / "a.txt": b"after"})
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "before")]
