"""What a site file may say of GPUs, and of how gangs fail and save."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.config.fields import Chance, Efficiency, Name, Seconds, Table, WattsPerGpu

Interval = Annotated[float, Field(ge=60, le=1e6)]
Failures = Annotated[float, Field(ge=0, le=1)]


class OperatingPointTable(Table):
    """A measured point of a power-limit sweep."""

    gpu_power_limit_w: WattsPerGpu = Field(description="limit set on the GPU, W")
    it_w_per_gpu: WattsPerGpu = Field(description="IT power per GPU with its share of the node, W")
    relative_throughput: Efficiency = Field(description="tokens per second over those at the highest limit")


class GpuTable(Table):
    """A GPU type of your own, or in place of the catalogue's."""

    idle_w_per_gpu: WattsPerGpu = Field(description="IT power per GPU without a job, W")
    points: list[OperatingPointTable] = Field(default=[], description="operating points, by rising limit; or a sweep")
    sweep: Name | None = Field(default=None, description="file of a measured sweep of power limits, beside this file")
    sweep_workload: Name | None = Field(
        default=None, description="workload of the sweep, where its file holds several of them"
    )
    overhead_w_per_gpu: WattsPerGpu | None = Field(
        default=None, description="IT power of the node beside its GPUs in training, W per GPU; sweeps need it"
    )
    held_w_per_gpu: WattsPerGpu | None = Field(
        default=None,
        description="IT power per GPU with the job alive at a step boundary, W; that of the sweep, else idle_w_per_gpu",
    )


class GoodputTable(Table):
    """How gangs fail and save, for runs that say nothing else."""

    failures_per_gpu_day: Failures | None = Field(
        default=None, description="failures that stop a gang, per GPU and day; none are reckoned with where left out"
    )
    restart_s: Seconds = Field(default=600.0, description="time from a failure to the next useful token, s")
    checkpoint_every_s: Interval | None = Field(
        default=None, description="training between two checkpoints, s; Daly's interval where left out"
    )
    storage_gb_per_s: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        default=None, description="bandwidth of the store that all runs save into, GB/s"
    )
    bytes_per_parameter: float = Field(
        default=12.0, gt=0, le=64, description="bytes in a checkpoint for each parameter of the model"
    )
    deadline_confidence: Chance | None = Field(
        default=None, description="chance at which every deadline is to be kept, such as 0.9; no margin where left out"
    )


class RunGoodputTable(Table):
    """How one gang fails and saves; what is left out is as in [goodput]."""

    failures_per_gpu_day: Failures | None = Field(
        default=None, description="failures that stop the gang, per GPU and day"
    )
    restart_s: Seconds | None = Field(default=None, description="time from a failure to the next useful token, s")
    checkpoint_every_s: Interval | None = Field(default=None, description="training between two checkpoints, s")
    checkpoint_bytes: Annotated[float, Field(gt=0, le=1e18)] | None = Field(
        default=None, description="size of a checkpoint, bytes; or give parameters"
    )
    parameters: Annotated[float, Field(gt=0, le=1e15)] | None = Field(
        default=None, description="parameters of the model, which give the size of its checkpoint"
    )
    deadline_confidence: Chance | None = Field(
        default=None, description="chance at which the run's deadlines are to be kept"
    )
