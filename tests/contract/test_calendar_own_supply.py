"""What a calendar says about own supply and agreements: written, read and refused as the rest of the header is."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from tests.run_calendars import two_hours
from trainer_hooks.calendar import CalendarError, GeneratorPlan, PpaPlan, read_calendar, write_calendar

SETS = GeneratorPlan("sets", (2, 0), (150.123456, 0.0))
FARM = PpaPlan("farm", (10.0, 20.0), (10.0, 5.0), (0.0, 15.0), (0.0, 0.0))
OWN = {"wind_kw": (5.0, 0.0), "export_kw": (0.0, 3.5), "generators": (SETS,)}


def two(ppas=(FARM,), **own):
    header, runs = two_hours("a")
    block, *others = header.blocks
    return replace(header, blocks=(replace(block, **own), *others), ppas=tuple(ppas)), runs


def test_own_supply_is_read_as_written_and_fits_the_schema(tmp_path, root):
    header, runs = two(**OWN)
    home = write_calendar(tmp_path, header, runs)
    read = read_calendar(home)
    assert read.ppas == (FARM,)
    assert read.blocks[0].generators == (SETS,)
    assert (read.blocks[0].wind_kw, read.blocks[0].export_kw) == (OWN["wind_kw"], OWN["export_kw"])
    rules = json.loads((root / "data" / "schema" / "calendar.schema.json").read_text())
    jsonschema.Draft202012Validator(rules).validate(json.loads((home / "calendar.json").read_text()))


def test_a_calendar_without_own_supply_does_not_name_it(tmp_path):
    home = write_calendar(tmp_path, *two(()))
    written = json.loads((home / "calendar.json").read_text())
    assert "ppas" not in written
    assert not {"wind_kw", "export_kw", "generators"} & set(written["blocks"][0])
    assert read_calendar(home).blocks[0].wind_kw == ()


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"wind_kw": (1.0,)}, "wind_kw has 1 entries for 2 slots"),
        ({"export_kw": (1.0, float("inf"))}, "export_kw holds a number that is not finite"),
        ({"generators": (replace(SETS, units_on=(1,)),)}, "units_on has 1 entries"),
        ({"generators": (replace(SETS, units_on=(1, -1)),)}, "fewer than no units"),
        ({"generators": (replace(SETS, generation_kw=(float("nan"), 0.0)),)}, "generation_kw holds"),
        (
            {"generators": (SETS, replace(SETS, units_on=(0, 0)))},
            "1 of its generators' names stand there",
        ),
        ({"ppas": (replace(FARM, sold_kw=(1.0,)),)}, "sold_kw has 1 entries"),
        ({"ppas": (FARM, FARM)}, "more than once"),
    ],
)
def test_own_supply_that_cannot_be_is_refused(tmp_path, own, told):
    with pytest.raises(CalendarError, match=told):
        write_calendar(tmp_path, *two(**own))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("wind_kw", None),
        ("export_kw", ["1"]),
        ("generators", {}),
        ("generators", [{"generator": "x", "units_on": [1.5, 0], "generation_kw": [0, 0]}]),
        ("generators", [{"generator": "x", "units_on": [1, 0]}]),
    ],
)
def test_own_supply_of_another_shape_is_refused(tmp_path, key, value):
    home = write_calendar(tmp_path, *two(**OWN))
    path = home / "calendar.json"
    document = json.loads(path.read_text())
    document["blocks"][0][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(CalendarError, match=key):
        read_calendar(home, verify=False)
