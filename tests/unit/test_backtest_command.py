"""The command, its page and its JSON, on made-up weeks in a file."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from click.testing import CliRunner

from planner import backtest_pool
from planner.backtest_kept import CARBON, MONEY, ORACLE
from planner.backtest_pool import in_processes, on_dask
from planner.cli import cli, run
from planner.errors import ConfigError, DataUnavailable
from planner.forecast import backtest, boosted
from planner.forecast.issued import BLEND, NAIVE, Task, issue
from planner.forecast.lead_error import STATEMENT
from planner.forecast.scale import Scale
from tests.forecasts import START, made_up
from tests.unit.test_backtest_plans import SITE

SOURCES = """
[sources.all]
provider = "csv"
path = "zone.csv"
time_column = "t"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "actual"
[sources.all.columns]
carbon = { column = "carbon", unit = "g/kWh", basis = "direct" }
price = { column = "price", unit = "EUR/kWh" }
dry_bulb = { column = "dry_bulb", unit = "degC" }
relative_humidity = { column = "humidity", unit = "%" }
wind_speed_10m = { column = "wind_speed_10m", unit = "m/s" }
"""


@pytest.fixture
def sources(tmp_path):
    history = made_up(130)
    names = list(history.signals)
    rows = [
        ",".join([history.at(h).isoformat(), *(f"{history.signals[name][h]:.6f}" for name in names), "70"])
        for h in range(history.n_hours)
    ]
    (tmp_path / "zone.csv").write_text("\n".join([",".join(["t", *names, "humidity"]), *rows]), encoding="utf-8")
    file = tmp_path / "sources.toml"
    file.write_text(SOURCES, encoding="utf-8")
    return file


def arguments(sources, *more):
    days = [f"{START + timedelta(days=d):%Y-%m-%d}" for d in (110, 114)]
    return ["backtest", "XX", "--from", days[0], "--to", days[1], "--sources", str(sources), *more]


def test_table_page_and_json(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, arguments(sources, "--signal", "carbon", "--signal", "price", "--out", str(out)))
    assert done.exit_code == 0, done.output
    assert "XX: 5 daily forecasts of 168 h, from 2023-04-22 to 2023-04-26" in done.stdout
    assert "weather input: none" in done.stdout
    found = json.loads((out / "backtest.json").read_text(encoding="utf-8"))
    assert [(s["signal"], s["model"]) for s in found["scores"]] == [
        ("carbon", NAIVE), ("carbon", BLEND), ("price", NAIVE), ("price", BLEND)
    ]  # fmt: skip
    assert found["signals"]["carbon"] == {"unit": "gCO2e/kWh", "basis": "direct", "source": "csv zone.csv"}
    assert len(found["scores"][0]["by_lead_day"]["mape_pct"]) == 7
    page = (out / "backtest.html").read_text(encoding="utf-8")
    assert re.findall(r'src="|href="(?!data:)', page.split("<script>")[0]) == []
    assert page.count('class="chart"') == 2
    assert "<td" in page


def test_weather_is_stated_wherever_trees_are_scored(sources, tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(boosted, "_ROUNDS", 5)
    monkeypatch.setattr(boosted, "LEAST_TRAINING_H", 5 * 24)
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, arguments(sources, "--signal", "carbon", "--out", str(out)))
    assert done.exit_code == 0, done.output
    found = json.loads((out / "backtest.json").read_text(encoding="utf-8"))
    assert [s["version"] for s in found["scores"]] == ["seasonal-naive/1", "robust-blend/1", "lightgbm-wx/2"]
    assert STATEMENT in found["weather_input"]
    assert STATEMENT in done.stdout
    assert STATEMENT[1:] in (out / "backtest.html").read_text(encoding="utf-8")


def test_weeks_planned_on_forecasts_stand_in_table_page_and_json(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(backtest, "MODELS", (BLEND,))
    site = tmp_path / "small.toml"
    site.write_text(SITE, encoding="utf-8")
    out = tmp_path / "out"
    chosen = ["--signal", "carbon", "--signal", "price", "--plan", str(site), "--plan-every", "5"]
    done = CliRunner().invoke(cli, arguments(sources, *chosen, "--out", str(out)))
    assert done.exit_code == 0, done.output
    planner = json.loads((out / "backtest.json").read_text(encoding="utf-8"))["planner"]
    found = {(one["weight"], one["model"]): one for one in planner["kept"]}
    assert list(found) == [(weight, model) for weight in (CARBON, MONEY) for model in (ORACLE, BLEND)]
    assert [week["start"] for week in planner["weeks"]] == ["2023-04-22T00:00:00Z"] * 2
    for (weight, model), one in found.items():
        assert (one["weeks"], one["weeks_compared"], one["deadlines_missed"]) == (1, 1, 0)
        assert one["share"]["asap"] <= 1.02  # a gap is left to the search for foresight too
        if model == ORACLE:
            assert one["share"] == {"asap": 1.0, "steady": 1.0}
            assert one["saved_pct"]["asap"] > 1.0
        saved, possible = (
            sum(
                plan["without_a_plan"]["asap"] - plan["figure"]
                for week in planner["weeks"]
                if week["weight"] == weight
                for plan in week["plans"]
                if plan["name"] == name
            )
            for name in (model, ORACLE)
        )
        assert one["share"]["asap"] == pytest.approx(saved / possible, rel=1e-12)
    told = f"kept is the sum of the savings over that with perfect foresight. W{STATEMENT[1:]}"
    assert told in planner["statement"]
    assert "saw dry_bulb, wet_bulb so" in done.stdout
    assert re.search(rf"^carbon +{ORACLE} +100 % +100 % ", done.stdout, re.MULTILINE)
    page = (out / "backtest.html").read_text(encoding="utf-8")
    assert told in page
    assert page.count('class="chart"') == 4
    assert "What plans by money save, EUR" in page


def test_a_plan_asks_for_a_site_and_for_what_it_needs(sources, tmp_path, capsys):
    assert run(arguments(sources, "--plan-every", "3")) == 2
    assert "--plan-every asks for weeks of no site" in capsys.readouterr().err
    site = tmp_path / "small.toml"
    site.write_text(SITE, encoding="utf-8")
    assert run(arguments(sources, "--signal", "price", "--plan", str(site))) == 2
    assert "--plan needs forecasts of carbon" in capsys.readouterr().err


def test_json_alone_on_standard_output(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(boosted, "available", lambda: False)
    done = CliRunner().invoke(cli, arguments(sources, "--signal", "price", "--json", "--out", str(tmp_path / "o")))
    assert json.loads(done.stdout)["schema"] == "gridpace.backtest/1"


def test_too_short_a_past_exits_with_data_unavailable(sources, capsys):
    days = ["--from", "2023-02-01", "--to", "2023-02-03"]
    assert run(["backtest", "XX", *days, "--sources", str(sources)]) == 4
    capsys.readouterr()
    assert run(["backtest", "XX", *days, "--sources", str(sources), "--json"]) == 4
    told = json.loads(capsys.readouterr().out)["error"]
    assert (told["kind"], told["exit_code"]) == ("DataUnavailable", 4)


def test_days_the_wrong_way_round_are_told_as_such(sources, capsys):
    assert run(["backtest", "XX", "--from", "2023-04-26", "--to", "2023-04-22", "--sources", str(sources)]) == 2
    assert "--to 2023-04-22 lies before --from 2023-04-26" in capsys.readouterr().err


TASKS = [Task(made_up(40), "carbon", model, (960,), 24, Scale(), 960) for model in (NAIVE, BLEND)]


def test_processes_give_the_same_in_order():
    told = []
    here = [issue(task) for task in TASKS]
    there = list(in_processes(issue, 2, lambda *n: told.append(n))(TASKS))
    assert [(a == b).all() for a, b in zip(here, there, strict=True)] == [True, True]
    assert told == [(1, 2), (2, 2)]


def test_dask_gives_the_same_in_order():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        there = list(on_dask(issue, cluster.scheduler_address, lambda *_: None)(TASKS))
    assert [(a == issue(task)).all() for a, task in zip(there, TASKS, strict=True)] == [True, True]


def test_no_scheduler_and_no_dask(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(backtest_pool, "_PATIENCE_S", 0.2)
    with pytest.raises(DataUnavailable, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"):
        list(on_dask(issue, "tcp://127.0.0.1:9", lambda *_: None)(TASKS))
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ConfigError, match=r"--dask needs dask\.distributed"):
        on_dask(issue, "tcp://127.0.0.1:9", lambda *_: None)
