"""What a calendar says about its carbon budget: written, read and refused as the rest of the header is."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from tests.run_calendars import two_hours
from trainer_hooks.calendar import CalendarError, CarbonBudgetPlan, read_calendar, write_calendar

BUDGET = CarbonBudgetPlan(1500.0, 1600.25, "missed by 100.25 kg")


def with_budget(plan):
    header, runs = two_hours("a")
    return replace(header, carbon_budget=plan), runs


def test_a_budget_is_read_as_written_and_fits_the_schema(tmp_path, root):
    home = write_calendar(tmp_path, *with_budget(BUDGET))
    assert read_calendar(home).carbon_budget == BUDGET
    rules = json.loads((root / "data" / "schema" / "calendar.schema.json").read_text())
    jsonschema.Draft202012Validator(rules).validate(json.loads((home / "calendar.json").read_text()))


def test_a_calendar_without_a_budget_does_not_name_it(tmp_path):
    home = write_calendar(tmp_path, *with_budget(None))
    assert "carbon_budget" not in json.loads((home / "calendar.json").read_text())
    assert read_calendar(home).carbon_budget is None


@pytest.mark.parametrize("plan", [replace(BUDGET, most_kg=-1.0), replace(BUDGET, planned_kg=float("nan"))])
def test_a_budget_that_is_no_number_is_refused(tmp_path, plan):
    with pytest.raises(CalendarError, match="carbon_budget"):
        write_calendar(tmp_path, *with_budget(plan))
