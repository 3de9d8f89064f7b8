"""Runs as rows of a CSV file: the same meaning and the same care as in the site file."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planner.config import SiteFaults, load_site, starter_site
from planner.config.runs_csv import COLUMNS
from planner.precedence import After
from power.flexibility import Flexibility

HEADER = "name,gpus,stages,tokens_per_gpu_s,pools,power_limits_w,earliest_start,min_run_h\n"
ROW = '"a, b",8,pretrain=1e9@2024-05-16T18:00; align=2e8@2024-05-19T12:00:00Z,H100-SXM=8400,racks,500; 700,,\n'


SPARE = '[[pool]]\nname = "spare"\nblock = "hall"\ngpu = "H100-SXM"\ncount = 8\n'


def _load(folder, csv_text, name="runs.csv", more=""):
    (folder / name).write_bytes(csv_text if isinstance(csv_text, bytes) else csv_text.encode())
    site = folder / "site.toml"
    site.write_text(f'runs_csv = "{name}"\n' + starter_site() + more, encoding="utf-8")
    return load_site(site)


def _faults(folder, csv_text):
    with pytest.raises(SiteFaults) as caught:
        _load(folder, csv_text)
    return caught.value.faults


def test_a_row_means_what_a_run_table_means(tmp_path):
    run = _load(tmp_path, HEADER + "\n" + ROW).run("a, b")
    assert run.gpus == 8
    assert [(s.name, s.tokens) for s in run.stages] == [("pretrain", 1e9), ("align", 2e8)]
    assert run.stages[0].deadline == datetime(2024, 5, 16, 16, tzinfo=UTC)  # site time
    assert run.stages[1].deadline == datetime(2024, 5, 19, 12, tzinfo=UTC)
    assert [p.gpu_power_limit_w for p in run.options[0].points] == [500.0, 700.0]
    assert (run.min_run_h, run.priority) == (2.0, 3)


def test_every_key_of_a_run_table_is_a_column(tmp_path):
    cells = {
        "name": "x",
        "gpus": "8",
        "stages": "s=1e12@2024-05-16 18:00",
        "tokens_per_gpu_s": "8400",
        "pools": "racks;spare",
        "power_limits_w": "700",
        "earliest_start": "2024-05-13T06:00+00:00",
        "priority": "1",
        "checkpoint_s": "1.5",
        "reload_s": "2",
        "min_run_h": "3",
        "min_pause_h": "4",
        "max_pauses": "5",
        "on_off_grid_h": "6",
        "tokens_done": "1e6",
        "running_in": "racks",
        "goodput": "failures_per_gpu_day=0.01; restart_s=900",
        "sweep": "sweep.csv",
        "sweep_workload": "mine",
        "data": "site=my-site; size_tb=40",
        "flexibility": "tier=1; max_loss_share=0.03",
        "after": "first=s@2",
        "sizes": "4=0.6",
        "running_gpus": "4",
        "migration": "size_tb=2; rate_gb_per_s=5; settle_s=100",
    }
    first = {key: cells[key] for key in ("gpus", "stages", "tokens_per_gpu_s")} | {
        "name": "first",
        "tokens_done": "1e12",
    }
    assert set(cells) == set(COLUMNS)
    sweep = "Workload,GPU power cap,throughput,power per GPU\nmine,400,60,390\nmine,550,85,530\nmine,700,100,660\n"
    (tmp_path / "sweep.csv").write_text(sweep, "utf-8")
    rows = [cells, cells.values(), (first.get(key, "") for key in cells)]
    site = _load(tmp_path, "".join(",".join(row) + "\n" for row in rows), more=SPARE)
    run = site.run("x")
    assert [(o.pool, run.size(o)) for o in run.options] == [("racks", 8), ("spare", 8), ("racks", 4), ("spare", 4)]
    assert run.option("racks", 4).tokens_per_gpu_s == 2 * 0.6 * run.option("racks", 8).tokens_per_gpu_s
    assert run.runs_on("racks", 4)
    assert run.migration.way("racks", "spare").time_s == 100.0 + 2e12 / 5e9
    assert run.after == (After("first", "s", 2.0),)
    assert site.flexibility["x"] == Flexibility(tier=1, max_loss_share=0.03)
    assert run.earliest_start == datetime(2024, 5, 13, 6, tzinfo=UTC)
    assert (run.priority, run.checkpoint_s, run.reload_s, run.min_run_h) == (1, 1.5, 2.0, 3.0)
    assert (run.min_pause_h, run.max_pauses, run.on_off_grid_h) == (4.0, 5, 6.0)
    assert (run.tokens_done, run.running_in) == (1e6, "racks")
    assert run.goodput.failures_per_s == 8 * 0.01 / 86400
    assert run.goodput.restart_s == 900.0
    assert [point.relative_throughput for point in run.options[0].points] == [1.0]


def test_a_tier_alone_or_none(tmp_path):
    rows = "name,gpus,stages,tokens_per_gpu_s,flexibility\nx,8,s=1e12@2024-05-16T18:00,8400,3\n"
    rows += "y,8,s=1e12@2024-05-16T18:00,8400,\n"
    site = _load(tmp_path, rows)
    assert (site.flexibility["x"], site.flexibility["y"]) == (Flexibility(3, 0.4), Flexibility(2, 0.2))


@pytest.mark.parametrize(
    ("row", "key", "words"),
    [
        ("x,eight,s=1@2024-05-16T18:00,1,,,,", "gpus", "'eight' is no number"),
        ("x,8.5,s=1@2024-05-16T18:00,1,,,,", "gpus", "a whole number is wanted"),
        ("x,,s=1@2024-05-16T18:00,1,,,,", "gpus", "is missing"),
        ("x,8,pretrain 1e9,1,,,,", "stages", "is no list of stages"),
        ("x,8,s=1@16.05.2024,1,,,,", "stages", "is no date-time"),
        ("x,8,s=1@2024-05-16,1,,,,", "stages", "is no date-time"),
        ("x,8,s=many@2024-05-16T18:00,1,,,,", "stages", "is no number"),
        ("x,8,s=1@2024-05-16T18:00,fast,,,,", "tokens_per_gpu_s", "is no number"),
        ("x,8,s=1@2024-05-16T18:00,1,rack,,,", "pools[0]", "did you mean 'racks'"),
        ("x,8,s=1@2024-05-16T18:00,1,,90,,", "power_limits_w[0]", "90 W is outside 200 to 700 W"),
        ("x,8,s=1@2024-05-16T18:00,1,,,2024-03-31T02:30,", "earliest_start", "does not exist"),
        ("x,8,s=1@2024-05-16T18:00,1,,,,nan", "min_run_h", "no finite number"),
        ("vision-3b,8,s=1@2024-05-16T18:00,1,,,,", "name", "name of an earlier run"),
        ("x,8", "", "has 2 cells; the header has 8"),
    ],
)
def test_a_fault_of_a_row_names_its_line_and_column(tmp_path, row, key, words):
    (fault,) = _faults(tmp_path, HEADER + ROW + row + "\n")
    assert fault.file.endswith("runs.csv")
    assert fault.line == 3
    assert fault.key == f"row 3{'.' if key else ''}{key}"
    assert words in f"{fault.what} {fault.fix}"


def test_faults_of_the_site_and_of_all_rows_come_together(tmp_path):
    (tmp_path / "runs.csv").write_text(HEADER + "x,0,s=1@2024-05-16T18:00,1,,,,\ny,8,s=-1@2024-05-16T18:00,1,,,,\n")
    site = tmp_path / "site.toml"
    site.write_text('runs_csv = "runs.csv"\n' + starter_site().replace("latitude = 51.0", "latitude = 151.0"))
    with pytest.raises(SiteFaults) as caught:
        load_site(site)
    assert [f.key for f in caught.value.faults] == ["site.latitude", "row 2.gpus", "row 3.stages[0].tokens"]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (HEADER.replace("pools", "pool"), "did you mean 'pools'"),
        (HEADER.replace("gpus,", ""), "column is missing (gang size)"),
        (HEADER.replace("pools", "gpus"), "stands 2 times"),
    ],
)
def test_a_wrong_header_is_told(tmp_path, header, words):
    assert any(words in f"{f.what} {f.fix}" for f in _faults(tmp_path, header + ROW))


def test_an_open_quote_and_an_empty_file_are_told(tmp_path):
    assert "is not sound CSV" in _faults(tmp_path, HEADER + '"x,8\n')[0].what
    assert {f.key for f in _faults(tmp_path, "")} >= {"header.name", "header.gpus"}


def test_a_missing_file_is_a_fault_of_the_key_that_names_it(tmp_path):
    site = tmp_path / "site.toml"
    site.write_text('runs_csv = "no.csv"\n' + starter_site())
    with pytest.raises(SiteFaults) as caught:
        load_site(site)
    (fault,) = caught.value.faults
    assert (fault.key, fault.line) == ("runs_csv", 1)
    assert "no.csv does not exist" in fault.what


def test_a_file_of_another_encoding_is_told(tmp_path):
    (fault,) = _faults(tmp_path, HEADER.encode() + "Köln".encode("latin-1"))
    assert "is not UTF-8" in fault.what


def test_carriage_returns_and_a_byte_order_mark_are_fine(tmp_path):
    assert _load(tmp_path, b"\xef\xbb\xbf" + (HEADER + ROW).replace("\n", "\r\n").encode()).run("a, b").gpus == 8


def test_ten_thousand_rows_with_one_fault(tmp_path):
    rows = [f"r{i},8,s=1e9@2024-05-16T18:00,8400,,,," for i in range(10_000)]
    rows[7_000] = rows[7_000].replace(",8,", ",0,")
    (fault,) = _faults(tmp_path, HEADER + "\n".join(rows))
    assert fault.line == 7_002
