"""The site file's table for `gridpace serve`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.config.fields import Name, Table

Approver = Literal["person", "policy"]
Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class ServiceTable(Table):
    """How the service runs week by week; `gridpace serve` alone reads it."""

    approve: Approver = Field(
        default="person",
        description='who approves weekly drafts: "policy" approves what keeps every promise, a person the rest',
    )
    approve_answers: Approver = Field(default="policy", description="who approves answers to grid events, likewise")
    replan_hour: int = Field(
        default=6, ge=0, le=23, description="hour of the daily draft of the coming week, site time"
    )
    publish_day: Day = Field(default="friday", description="day on which the coming week is published")
    publish_hour: int = Field(default=12, ge=0, le=23, description="hour at which it is published, site time")
    raw_days: int = Field(
        default=90, ge=8, le=3660, description="how long single telemetry records are kept, days; sums by the hour stay"
    )
    log_days: int = Field(
        default=400, ge=8, le=3660, description="how long closed alarms and what jobs did are kept, days"
    )
    drift_share: float = Field(
        default=0.1, gt=0, le=1, description="how far what is measured may be off what was planned without an alarm"
    )
    plant_telemetry: dict[Name, str] = Field(
        default={}, description="table of the meters of a block's cooling, CSV or Parquet, by the block's name"
    )
