"""Tariff periods, contracts and connections in the site file: what they mean, and a sentence for each fault."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planner.config import SiteFaults, load_site, site_from_text, starter_site
from power.blocks import import_limit_kw
from power.connection import CapacityStep, GridUnit, UnitOutage
from power.contracts import Attributes, EnergyContract, Interruption
from power.tariff import ContractedDemand, Period

CONTRACT = '[[contract]]\nname = "c"\nkw = 10\nprice_per_kwh = 0.07\n'
UNITS = (
    '[block.connection]\nn1 = true\nunit = [{ name = "T1", kind = "transformer", rating_kw = 60 }, '
    '{ name = "T2", kind = "transformer", rating_kw = 60 }]\n'
)


def text_of(*, tariff: str = "", contract: str = "", connection: str = "") -> str:
    """The starter site with keys or tables of the tariff, contracts and its block's connection put in."""
    text = starter_site().replace("# Without [sources]", f"{tariff}\n# Without [sources]", 1)
    return text.replace("[block.cooling]\n", f"{connection}\n[block.cooling]\n", 1) + "\n" + contract


def site_of(**changes: str):
    return site_from_text(text_of(**changes), Path("site.toml"))


def test_a_period():
    site = site_of(
        tariff='[[tariff.period]]\nname = "night"\nmonths = [1, 12]\nweekdays = ["mon", "sun"]\nhours = "22:15-06:00"\n'
        "price_per_kwh = 0.05\nadder_per_kwh = 0.01\ndemand_charge_per_kw_month = 2\nmonth_to_date_peak_kw = 3"
    )
    assert site.tariff.periods == (Period("night", (1, 12), (1, 7), 22 * 60 + 15, 360, 0.05, 0.01, 2.0, 3.0),)


def test_contracted_demand():
    site = site_of(
        tariff="demand_interval_min = 30\n[tariff.contracted]\ncontract_kw = 90\nmin_share = 0.85\n"
        "ratchet_share = 0.6\npast_peaks_kw = [80, 90]"
    )
    assert site.tariff.contracted == ContractedDemand(90.0, 0.85, 0.6, (80.0, 90.0))
    assert site.tariff.demand_interval_min == 30


def test_a_contract():
    site = site_of(
        contract=CONTRACT + 'kind = "interruptible"\nprofile = "custom"\nhour_share = [1, 0.5]\n'
        "start = 2024-05-13T00:00:00\nend = 2024-05-14T00:00:00\nmin_take_share = 0.85\noffered = true\n"
        'all_or_none = true\nnotice_min = 60\ntechnology = "wind"\nfactor_gco2_per_kwh = 11\nbasis = "direct"\n'
        "interruption = [{ start = 2024-05-13T01:00:00, end = 2024-05-13T02:00:00, called_at = 2024-05-12T12:00:00 }]\n"
    )
    assert site.contracts == (
        EnergyContract(
            name="c",
            kw=10.0,
            price_per_kwh=0.07,
            profile="custom",
            hour_share=(1.0, 0.5),
            start=datetime(2024, 5, 12, 22, tzinfo=UTC),
            end=datetime(2024, 5, 13, 22, tzinfo=UTC),
            min_take_share=0.85,
            offered=True,
            all_or_none=True,
            interruptible=True,
            interruptions=(
                Interruption(
                    datetime(2024, 5, 12, 23, tzinfo=UTC),
                    datetime(2024, 5, 13, 0, tzinfo=UTC),
                    datetime(2024, 5, 12, 10, tzinfo=UTC),
                ),
            ),
            notice_min=60.0,
            attributes=Attributes("wind", 11.0, "direct", "demo-central"),
        ),
    )


def test_a_connection():
    site = site_of(
        connection=UNITS + 'outage = [{ unit = "T2", start = 2024-05-13T00:00:00, end = 2024-05-13T02:00:00 }]\n'
        "step = [{ since = 2024-05-01T00:00:00, capacity_kw = 80 }]\ninterruptible_kw = 10\nnotice_min = 20"
    )
    connection = site.blocks[0].power.connection
    assert connection is not None
    assert connection.n1
    assert connection.units == (GridUnit("T1", "transformer", 60.0), GridUnit("T2", "transformer", 60.0))
    begin, end = datetime(2024, 5, 12, 22, tzinfo=UTC), datetime(2024, 5, 13, 0, tzinfo=UTC)
    assert connection.outages == (UnitOutage("T2", begin, end),)
    assert connection.steps == (CapacityStep(datetime(2024, 4, 30, 22, tzinfo=UTC), 80.0),)
    assert (connection.interruptible_kw, connection.notice_min) == (10.0, 20.0)


def test_the_fall_of_a_block_may_have_a_limit_of_its_own():
    text = starter_site().replace("ramp_kw_per_min = 20", "ramp_kw_per_min = 20\nramp_fall_kw_per_min = 50")
    power = site_from_text(text, Path("site.toml")).blocks[0].power
    assert (power.rise_step_kw, power.fall_step_kw) == (300.0, 750.0)


def period(keys: str) -> dict[str, str]:
    return {"tariff": f'[[tariff.period]]\nname = "p"\n{keys}'}


def contracted(keys: str) -> dict[str, str]:
    return {"tariff": f"[tariff.contracted]\ncontract_kw = 90\nmin_share = 0.8\n{keys}"}


FAULTS = {
    "hours of no form": (period('hours = "8-20"'), "period[0].hours", "form"),
    "hours off the quarter": (period('hours = "08:10-20:00"'), "period[0].hours", "form"),
    "no hours": (period('hours = "08:00-08:00"'), "period[0].hours", "holds no minute"),
    "no weekday": (period('weekdays = ["monday"]'), "period[0].weekdays", "mon"),
    "a month too many": (period("months = [13]"), "period[0].months", "12"),
    "a peak without a charge": (period("month_to_date_peak_kw = 5"), "month_to_date_peak_kw", "does nothing"),
    "two periods of a name": (
        {"tariff": '[[tariff.period]]\nname = "p"\n[[tariff.period]]\nname = "p"'},
        "period[1].name",
        "earlier tariff period",
    ),
    "past peaks without a ratchet": (contracted("past_peaks_kw = [1]"), "past_peaks_kw", "does nothing"),
    "twelve past peaks": (contracted(f"ratchet_share = 1\npast_peaks_kw = {[1] * 12}"), "past_peaks_kw", "11"),
    "an interval of another length": ({"tariff": "demand_interval_min = 20"}, "demand_interval_min", "15"),
    "a week of a day": (
        {"contract": CONTRACT + f'profile = "week"\nhour_share = {[1] * 24}'},
        "hour_share",
        "168 hours, but there are 24",
    ),
    "custom without a start": (
        {"contract": CONTRACT + 'profile = "custom"\nhour_share = [1]'},
        "profile",
        "from a start",
    ),
    "custom without shares": (
        {"contract": CONTRACT + 'profile = "custom"\nstart = 2024-05-13T00:00:00'},
        "profile",
        "needs shares",
    ),
    "base with shares": ({"contract": CONTRACT + "hour_share = [1]"}, "hour_share", "has its shares already"),
    "all or none in force": ({"contract": CONTRACT + "all_or_none = true"}, "all_or_none", "decides nothing"),
    "firm with a notice": ({"contract": CONTRACT + "notice_min = 15"}, "notice_min", "interruptible"),
    "a notice off the quarter": (
        {"contract": CONTRACT + 'kind = "interruptible"\nnotice_min = 20'},
        "notice_min",
        "quarter hours",
    ),
    "a start off the quarter": (
        {"contract": CONTRACT + "start = 2024-05-13T00:10:00"},
        "start",
        "not on a quarter hour",
    ),
    "an end before its start": (
        {"contract": CONTRACT + "start = 2024-05-14T00:00:00\nend = 2024-05-13T00:00:00"},
        "end",
        "not after start",
    ),
    "a factor without its basis": (
        {"contract": CONTRACT + 'technology = "wind"\nfactor_gco2_per_kwh = 0'},
        "technology",
        "without basis",
    ),
    "a boundary without a factor": ({"contract": CONTRACT + 'boundary = "GB"'}, "boundary", "does nothing"),
    "two contracts of a name": ({"contract": CONTRACT + CONTRACT}, "name", "earlier contract"),
    "one transformer with N-1": (
        {"connection": UNITS.replace(', { name = "T2", kind = "transformer", rating_kw = 60 }', "")},
        "n1",
        "single transformer",
    ),
    "N-1 without units": ({"connection": "[block.connection]\nn1 = true"}, "n1", "without units"),
    "two units of a name": ({"connection": UNITS.replace("T2", "T1")}, "unit[1].name", "earlier unit"),
    "an outage of no unit": (
        {"connection": UNITS + 'outage = [{ unit = "T3", start = 2024-05-13T00:00:00, end = 2024-05-14T00:00:00 }]'},
        "outage[0].unit",
        "no unit",
    ),
    "an outage that ends first": (
        {"connection": UNITS + 'outage = [{ unit = "T1", start = 2024-05-14T00:00:00, end = 2024-05-13T00:00:00 }]'},
        "outage[0].end",
        "not after start",
    ),
    "steps out of order": (
        {
            "connection": UNITS + "step = [{ since = 2024-05-14T00:00:00, capacity_kw = 1 }, "
            "{ since = 2024-05-13T00:00:00, capacity_kw = 2 }]"
        },
        "step[1].since",
        "2024-05-13 00:00:00 is not after 2024-05-14 00:00:00 before it",
    ),
    "a call of nothing": (
        {"connection": UNITS + "interruption = [{ start = 2024-05-13T00:00:00, end = 2024-05-14T00:00:00 }]"},
        "interruption",
        "calls off nothing",
    ),
    "more to call than there is": (
        {"connection": UNITS + "interruptible_kw = 200"},
        "interruptible_kw",
        "above the block's capacity",
    ),
}


@pytest.mark.parametrize(("changes", "key", "told"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_told_with_its_key(changes, key, told):
    with pytest.raises(SiteFaults) as caught:
        site_of(**changes)
    (fault,) = caught.value.faults
    assert key in str(fault)
    assert told in str(fault)


@pytest.mark.parametrize(
    ("tariff", "told"),
    [
        ("demand_interval_min = 30", "does nothing without a demand charge"),
        ("[tariff.contracted]\ncontract_kw = 90\nmin_share = 0.8", "bills nothing without a demand charge"),
    ],
)
def test_demand_that_nobody_charges_is_refused(tariff, told):
    text = text_of(tariff=tariff).replace("demand_charge_per_kw_month = 9.0", "")
    with pytest.raises(SiteFaults, match=told):
        site_from_text(text, Path("site.toml"))


def test_the_large_example_has_what_it_claims(root):
    site = load_site(root / "data" / "sites" / "superfactory-power.toml")
    assert site.warnings == ()
    first, second = (block.power for block in site.blocks)
    before, during = datetime(2024, 5, 15, 8, tzinfo=UTC), datetime(2024, 5, 15, 9, tzinfo=UTC)
    hour = timedelta(hours=1)
    # by N-1 two transformers of 75 MW; one while another is out, in Los Angeles from 02:00
    assert import_limit_kw(first, [before, during], hour).tolist() == [150_000.0, 75_000.0]
    assert import_limit_kw(second, [datetime(2024, 5, 14, tzinfo=UTC), during], hour).tolist() == [60_000.0, 120_000.0]
    assert [(c.min_take_share, c.all_or_none) for c in site.contracts] == [(0.85, False), (1.0, True)]
