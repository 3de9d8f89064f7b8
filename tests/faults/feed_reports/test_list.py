"""Faults that feeds of others had, each by the public report that names it: none of the list is without its test."""

from __future__ import annotations

import ast
from pathlib import Path

REFERENCE = (
    "entsoe-py#468",
    "entsoe-py#388",
    "entsoe-py#331",
    "gridstatus-PR#354",
    "gridstatus-PR#473",
    "gridstatus-PR#703",
    "gridstatus#171",
    "home-assistant/core#155210",
    "entsoe-py#187",
    "entsoe-py#445",
    "entsoe-py#469",
    "hass-entso-e#272",
    "ha_epex_spot-PR#317",
    "evcc#16519",
    "entsoe-api-client#7",
    "entsoe-apy-PR#153",
    "entsoe-py#236",
    "entsoe-py#66",
    "carbon-aware-sdk#571",
    "carbon-aware-sdk#570",
    "electricitymaps-contrib#4734",
    "electricitymaps-contrib-PR#7232",
    "open-meteo#71",
    "carbon-aware-sdk#573",
    "electricitymaps-contrib#4052",
    "codecarbon#211",
    "PV_Live-API#49",
    "hass-entso-e#321",
    "evcc#33597",
    "entsoe-py#548",
    "entsoe-apy#98",
    "ha_epex_spot#322",
    "api-definitions#19",
    "api-definitions#12",
    "batpred-PR#4958",
    "home-assistant/core#109233",
    "home-assistant/core#146234",
    "gridstatus#941",
    "worldmonitor-PR#3878",
)
"""Reports that the feeds are to be immune to."""


def test_every_report_of_the_list_has_a_test_of_its_name():
    named = [
        argument.value
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "report"
        for argument in node.args
    ]
    assert sorted(named) == sorted(REFERENCE)
