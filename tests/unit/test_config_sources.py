"""Where a site file takes its series from, and what can be wrong with that."""

from __future__ import annotations

import pytest

from tests.starter import assert_told

CSV_PRICE = """[sources.price]
provider = "csv"
path = "no.csv"
time_column = "t"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "actual"
columns = { price = { column = "p", unit = "EUR/MWh" } }
"""


FAULTS = {
    "unknown provider": ("# [sources.carbon]", '[sources.carbon]\nprovider = "demmo"\n#', "did you mean 'demo'"),
    "provider of other things": (
        "# [sources.carbon]",
        '[sources.price]\nprovider = "open-meteo"\n#',
        "open-meteo gives weather, not price",
    ),
    "option of the provider": (
        "# [sources.carbon]",
        '[sources.carbon]\nprovider = "demo"\nbasiss = "direct"\n#',
        "has no option 'basiss'",
    ),
    "file of the provider": (
        "# [sources.carbon]",
        f"{CSV_PRICE}\n#",
        "there is no file no.csv",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_one_fault_is_told_once_on_its_line_with_a_mend(case):
    assert_told(*FAULTS[case])
