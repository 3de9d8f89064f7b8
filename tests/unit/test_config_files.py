"""Site files as they lie on disk, and the bundled examples."""

from __future__ import annotations

import pytest

from planner.config import load_site, site_from_text, starter_site
from planner.config.files import read_user_text
from planner.errors import ConfigError
from tests.starter import FILE, SITES


@pytest.mark.parametrize(
    ("broken", "line"),
    [("[site\nname = 1", 1), ("a = 1\na = 2\n", 2), ('x = """open', 1), ("a = 1\nb = \n", 2), ("a = 1\nb = [1,\n", 3)],
)
def test_what_is_no_toml_is_told_with_its_line(broken, line):
    with pytest.raises(ConfigError) as caught:
        site_from_text(broken, FILE)
    assert caught.value.what.startswith(f"site.toml:{line}: no sound TOML")
    assert caught.value.fix


def test_deep_nesting_is_refused_without_a_crash():
    with pytest.raises(ConfigError, match="nested too deeply"):
        site_from_text("x = " + "[" * 100_000 + "]" * 100_000, FILE)


def test_a_missing_file_a_folder_and_a_file_of_another_encoding(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        load_site(tmp_path / "no.toml")
    with pytest.raises(ConfigError, match=r"is a folder"):
        load_site(tmp_path)
    (tmp_path / "latin.toml").write_bytes('[site]\nname = "Köln"\n'.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.toml:2: byte 0xf6 is not UTF-8"):
        load_site(tmp_path / "latin.toml")
    with pytest.raises(ConfigError, match=r"cannot be read|does not exist"):
        load_site("a\0b.toml")


@pytest.mark.parametrize(
    ("what", "writer"),
    [("site file", "gridpace init"), ("recipe", "gridpace recipe save"), ("sweep file", "gridpace-sweep")],
)
def test_a_missing_file_is_told_with_the_command_that_writes_its_kind(tmp_path, what, writer):
    with pytest.raises(ConfigError) as caught:
        read_user_text(tmp_path / "no.such", what)
    assert caught.value.fix == f"check the path, or write one by `{writer}`"
    with pytest.raises(ConfigError) as caught:
        read_user_text(tmp_path, what)
    assert ("site.toml" in caught.value.fix) == (what == "site file")


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(ConfigError, match=r"17\.0 MiB; at most 16 MiB"):
        load_site(path)


def test_a_byte_order_mark_and_carriage_returns_are_fine(tmp_path):
    path = tmp_path / "Ünï côdé.toml"
    path.write_bytes(b"\xef\xbb\xbf" + starter_site().replace("\n", "\r\n").encode())
    assert load_site(path).name == "my-site"


@pytest.mark.parametrize("name", SITES)
def test_example_sites_are_sound(root, name):
    site = load_site(root / "data" / "sites" / f"{name}.toml")
    assert site.name == name
    assert site.warnings == ()


def test_example_sites_are_what_they_claim(root):
    lab, block, factory = (load_site(root / "data" / "sites" / f"{name}.toml") for name in SITES)
    assert (lab.horizon.slot_minutes, len(lab.runs), lab.pools[0].commissioning[-1][1]) == (15, 6, 8)
    assert len(block.runs) == 12
    assert {run.gpus for run in block.runs} >= {64, 4096}
    assert all(len(run.stages) == 2 for run in block.runs)
    assert block.blocks[0].solar.inverter_kw == 10_000
    assert [b.power.capacity_kw for b in factory.blocks] == [150_000, 150_000]
    assert [count for _, count in factory.pools[1].commissioning] == [18_000, 34_000, 50_000]
    gangs = sorted((run.gpus for run in factory.runs), reverse=True)
    assert gangs[:4] == [65_536, 16_384, 16_384, 16_384]
    assert len(gangs) == 24
    assert (gangs[4], gangs[-1]) == (8_192, 256)
