"""What a site file may say of runs that change their pool or their count of GPUs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.config.fields import Gpus, Money, Name, Seconds, Table

Rate = Annotated[float, Field(gt=0, le=1e6)]
Size = Annotated[float, Field(ge=0, le=1e6)]
Throughput = Annotated[float, Field(gt=0, le=1e4)]


class SizeTable(Table):
    """A count of GPUs that a run may have besides its own."""

    gpus: Gpus = Field(description="GPUs of the gang")
    throughput_share: Throughput = Field(
        description="its measured throughput over that of the run's own count of GPUs, such as 0.55 for half of them"
    )


class MigrationTable(Table):
    """What it takes a run to go on in another pool; between sites its state goes over their [[link]]."""

    size_tb: Size = Field(
        default=0.0, description="what goes with it, such as its checkpoint, TB of 1e12 bytes; 0 where nothing does"
    )
    rate_gb_per_s: Rate | None = Field(
        default=None, description="rate between pools of one site, GB/s; they share a store where left out"
    )
    energy_kwh_per_tb: Money = Field(default=0.0, description="energy of the network within a site, kWh per TB")
    cost_per_tb: Money = Field(default=0.0, description="money per TB within a site")
    settle_s: Seconds = Field(default=0.0, description="what a change of pool takes besides, s")
    lies_in: Name | None = Field(
        default=None, description="pool in which its state lies as the horizon starts, where it is not running"
    )
