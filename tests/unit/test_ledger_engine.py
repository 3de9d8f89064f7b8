from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import ConfigError
from planner.ledger import Ledger
from planner.ledger.engine import open_engine, shown

URL = "postgresql://me:s3cr%40t@db.example/gridpace"


def test_a_url_is_shown_without_its_password():
    assert shown(URL) == "postgresql://me:***@db.example/gridpace"
    assert shown(Path("a/b.sqlite")) == "a/b.sqlite"


@pytest.mark.parametrize("url", ["mysql://me:s3cret@host/x", "postgresql://me:s3cret@[::1/x", "s3cret"])
def test_another_kind_of_database_is_refused_without_telling_the_password(url):
    with pytest.raises(ConfigError) as told:
        open_engine(url)
    assert "s3cret" not in str(told.value)
    assert "postgresql://" in told.value.fix


def test_a_url_of_a_file_is_a_file(tmp_path):
    engine = open_engine(f"sqlite:///{tmp_path}/made/ledger.sqlite")
    assert engine.dialect.name == "sqlite"
    assert (tmp_path / "made").is_dir()
    engine.dispose()


def test_a_damaged_ledger_is_told_from_a_full_disk(tmp_path):
    file = tmp_path / "l.sqlite"
    Ledger(file).close()
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="is damaged: database disk image is malformed") as caught:
        Ledger(file)
    assert ".recover" in caught.value.fix
    assert file.read_bytes() == content
