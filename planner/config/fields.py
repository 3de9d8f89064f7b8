"""What the values of a site file may be: the types that its tables are made of, and what holds for every table."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

When = Annotated[
    datetime,
    WithJsonSchema({"type": "string"}),
]
"""A TOML date-time: with an offset, or without one in the site's time zone."""

Name = Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")]
Power = Annotated[float, Field(gt=0, le=1e8)]
Energy = Annotated[float, Field(gt=0, le=1e9)]
Money = Annotated[float, Field(ge=0, le=1e9)]
Signed = Annotated[float, Field(ge=-1e9, le=1e9)]
Hours = Annotated[float, Field(gt=0, le=1e4)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
Rate = Annotated[float, Field(gt=0, le=1e9)]
Tokens = Annotated[float, Field(gt=0, le=1e20)]
Gpus = Annotated[int, Field(ge=1, le=10_000_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Efficiency = Annotated[float, Field(gt=0, le=1)]
Chance = Annotated[float, Field(gt=0, lt=1)]
WattsPerGpu = Annotated[float, Field(gt=0, le=20_000)]

MOST_GCO2_PER_KWH = 1500
"""No grid comes near it: what is above stands in another unit."""

Intensity = Annotated[float, Field(ge=0, le=MOST_GCO2_PER_KWH)]

Rates = Annotated[
    Annotated[Rate, Tag("<number>")] | Annotated[dict[str, Rate], Tag("<table>")],
    Discriminator(lambda value: "<table>" if isinstance(value, dict) else "<number>"),
]


class Table(BaseModel):
    """A table of the file: unknown keys, wrong types, nan and inf are faults."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)
