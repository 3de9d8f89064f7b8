"""What a calendar says about energy contracts: written, read and refused as the rest of the header is."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from tests.run_calendars import two_hours
from trainer_hooks.calendar import CalendarError, ContractPlan, read_calendar, write_calendar

BLOCK = ContractPlan("cal-24", 0.25, (1000.0, 500.123456), "cheaper than the hours")


def two(*contracts: ContractPlan):
    header, runs = two_hours("a")
    return replace(header, contracts=contracts), runs


def test_contracts_are_read_as_written_and_fit_the_schema(tmp_path, root):
    header, runs = two(BLOCK, ContractPlan("base", 1.0, (0.0, 0.0)))
    home = write_calendar(tmp_path, header, runs)
    assert read_calendar(home).contracts == header.contracts
    rules = json.loads((root / "data" / "schema" / "calendar.schema.json").read_text())
    jsonschema.Draft202012Validator(rules).validate(json.loads((home / "calendar.json").read_text()))


def test_a_calendar_without_contracts_does_not_name_them(tmp_path):
    home = write_calendar(tmp_path, *two())
    assert "contracts" not in json.loads((home / "calendar.json").read_text())
    assert read_calendar(home).contracts == ()


@pytest.mark.parametrize(
    ("contracts", "told"),
    [
        ((replace(BLOCK, take_kw=(1.0,)),), "1 entries for 2 slots"),
        ((replace(BLOCK, take_kw=(1.0, float("nan"))),), "not finite"),
        ((replace(BLOCK, bought_share=1.5),), "from 0 to 1"),
        ((BLOCK, BLOCK), "more than once"),
    ],
)
def test_contracts_that_cannot_be_are_refused(tmp_path, contracts, told):
    with pytest.raises(CalendarError, match=told):
        write_calendar(tmp_path, *two(*contracts))


@pytest.mark.parametrize("value", [None, {}, [1], [{"contract": "x", "bought_share": 1.0, "take_kw": "0"}]])
def test_contracts_of_another_shape_are_refused(tmp_path, value):
    home = write_calendar(tmp_path, *two(BLOCK))
    path = home / "calendar.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "contracts": value}))
    with pytest.raises(CalendarError, match="contracts"):
        read_calendar(home, verify=False)
