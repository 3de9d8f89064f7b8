"""docs/metering.md tells the metrics, settings, keys and errors that the code has."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields

import pytest

from tests.conftest import ROOT
from trainer_hooks.energy import OBSERVED_SHARE, SHORT_S, counted
from trainer_hooks.metering import metering_from
from trainer_hooks.metric_names import METRICS
from trainer_hooks.node_power import PERIOD_S, TIMEOUT_S
from trainer_hooks.power_model import modelled_power
from trainer_hooks.telemetry import Record
from trainer_hooks.waste import Waste

PAGE = (ROOT / "docs" / "metering.md").read_text(encoding="utf-8")


def test_every_metric_stands_there_and_no_other():
    rows = re.findall(r"^\| `(gridpace_\w+)` \| `([\w.]+)` \| (?:`(\w+)` )?\|$", PAGE, re.MULTILINE)
    assert rows == [(metric.prometheus, metric.otel, metric.label) for metric in METRICS]


def test_every_setting_of_the_meter_stands_there():
    class Asked(dict):
        def get(self, name, default=None):
            self[name] = default
            return default

    asked = Asked()
    metering_from(asked)
    named = set(re.findall(r"^\| `(GRIDPACE_\w+)`", PAGE, re.MULTILINE))
    assert named == {*asked, "GRIDPACE_TELEMETRY"}
    assert f"every {PERIOD_S:g} s without a shell and for at most {TIMEOUT_S:g} s" in PAGE


def test_every_cause_and_every_later_key_stands_there():
    causes = re.findall(r"^\| `(\w+)` \| [a-z]", PAGE.split("## What they were wasted on")[1], re.MULTILINE)
    assert {f"{cause}_j" for cause in causes[: len(fields(Waste))]} == {field.name for field in fields(Waste)}
    records = " ".join(PAGE.split("## Records")[1].split("## Metrics")[0].split())
    for field in fields(Record):
        if field.default is not MISSING:
            assert f"`{field.name}`" in records


@pytest.mark.parametrize(("seconds", "told"), [(1.0, "39 %"), (10.0, "13.5 %"), (60.0, "8 %"), (3600.0, "5.4 %")])
def test_the_errors_told_are_those_of_the_code(seconds, told):
    energy = counted(500.0 * seconds, seconds, highest_w=500.0)
    number = told.removesuffix(" %")
    decimals = len(number.partition(".")[2])
    assert f"{100 * energy.error_j / energy.energy_j:.{decimals}f}" == number
    assert told in PAGE


def test_the_model_told_is_that_of_the_code():
    busy, idle = (
        modelled_power(busy=True, limit_w=100.0, highest_w=100.0),
        modelled_power(busy=False, limit_w=None, highest_w=100.0),
    )
    for told in (
        f"{busy.power_w:g} % of the window's limit",
        f"({busy.power_w - busy.error_w:g} to {busy.power_w + busy.error_w:g} %)",
        f"{idle.power_w:g} % of the",
        f"({idle.power_w - idle.error_w:g} to {idle.power_w + idle.error_w:g} %)",
        f"{OBSERVED_SHARE * 100:g} ms of every 100 ms",
        f"below {SHORT_S:g} s",
    ):
        assert told in PAGE
