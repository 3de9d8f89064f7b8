"""The tables [plan.uncertainty] and [plan.rolling]: how far plans look at what is not known, and how they go on."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.config.fields import Money, Share, Table


class UncertaintyTable(Table):
    """How far a plan looks at what its forecasts do not know; all of it is off where left out."""

    scenarios: Annotated[int, Field(ge=0, le=50)] = Field(
        default=0,
        description="weighted paths of the forecast that starts, stops and pools are planned on together; 0 plans on "
        "the forecast alone",
    )
    cvar_alpha: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.9, description="share of the paths, from the best on, that the mean of the worst leaves out"
    )
    cvar_weight: Share = Field(
        default=0.05, description="weight of the worst paths' mean against that of all, for carbon and for lateness"
    )
    w_max_quantile: Annotated[float, Field(ge=0.5, le=0.95)] | None = Field(
        default=None,
        description="level of the forecast's dry and wet bulb in which the limits of cooling and power must hold too; "
        "the forecast itself where left out",
    )


class RollingTable(Table):
    """How a plan goes on from the one in force."""

    frozen_h: Annotated[float, Field(ge=0, le=168)] = Field(
        default=4.0, description="hours from now on in which starts, stops and pools stay as announced, h"
    )
    change_cost_per_gpu_h: Money = Field(
        default=0.001, description="what a GPU-hour turned on or off against what was announced costs, money"
    )
    fresh_share: Share = Field(
        default=1.0,
        description="weight of a new forecast of carbon intensity against the one that the plan in force was made on",
    )
    daily: bool = Field(
        default=False,
        description="whether the service plans the running week anew each day, going on from the calendar in force",
    )
