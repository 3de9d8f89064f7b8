"""`[sources]` of a site whose series are CSV files of its own, hour by hour in UTC."""

from __future__ import annotations

_SOURCE = """
[sources.{name}]
provider = "csv"
path = "{file}"
time_column = "time"
stamp = "start"
time_zone = "UTC"
step_minutes = 60
kind = "actual"
columns = {columns}
"""
COLUMNS = {
    "carbon": '{ carbon = { column = "carbon", unit = "gCO2e/kWh", basis = "direct" } }',
    "price": '{ price = { column = "price", unit = "EUR/MWh" } }',
    "weather": '{ dry_bulb = { column = "dry", unit = "degC" }, wet_bulb = { column = "wet", unit = "degC" } }',
}
"""Group of signals -> how its columns are declared: time,carbon; time,price; time,dry,wet."""


def own_sources(file="{name}.csv"):
    """The tables, each group from a file that may be named after it."""
    return "".join(
        _SOURCE.format(name=name, file=file.format(name=name), columns=columns) for name, columns in COLUMNS.items()
    )
