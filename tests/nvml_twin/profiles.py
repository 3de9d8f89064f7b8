"""Machines that the twin can be: their boards, in watts, degrees C, MHz and seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace

AMPERE, ADA, HOPPER, BLACKWELL = 7, 8, 9, 10  # NVML_DEVICE_ARCH_*

# Bits of a board's faults, as in twin.h.
FAULTS = {
    name: 1 << bit
    for bit, name in enumerate(
        (
            "lost",  # every call: GPU is lost
            "timeout",  # every call: timeout
            "no-energy",  # no energy counter
            "no-power",  # no power reading
            "denied",  # setters: no permission, whoever asks
            "ignored",  # setters succeed and change nothing
            "blank",  # readings succeed with all bits set
            "no-fields",  # a driver without the fields of limits, causes and margins
            "no-margin",  # no margin temperature
            "no-causes",  # no throttle-time counters
            "no-limit",  # no limit for the GPU itself
            "stuck",  # a limit is taken, but never enforced
            "no-read",  # a limit can be set, not read
            "unknown",  # every call: unknown error
            "old-fields",  # a driver that refuses all fields where it does not know one
        )
    )
}


@dataclass(frozen=True)
class Board:
    """One board; the figures are those of an H100 SXM where public, else plausible."""

    name: str = "NVIDIA H100 80GB HBM3"
    architecture: int = HOPPER
    lowest_w: float = 200.0
    highest_w: float = 700.0
    idle_w: float = 75.0
    demand_w: float = 690.0
    highest_mhz: float = 1980.0
    exponent: float = 2.4
    settle_s: float = 0.05
    average_s: float = 1.0
    coolant_c: float = 30.0
    resistance_c_per_w: float = 0.06
    time_constant_s: float = 20.0
    max_c: float = 87.0
    slowdown_c: float = 89.0
    shutdown_c: float = 95.0
    module_w: float = 0.0
    module_other_w: float = 0.0
    mig: tuple[tuple[str, int, int], ...] = ()  # profile, GPU instance, compute instance
    faults: tuple[str, ...] = ()


H100 = Board()
# An A100 shows the power of the instant, and no margin temperature.
A100 = Board(
    "NVIDIA A100-SXM4-80GB", AMPERE, 100.0, 400.0, 50.0, 395.0, 1410.0, average_s=0.0, resistance_c_per_w=0.1,
    faults=("no-margin",),
)  # fmt: skip
L4 = Board("NVIDIA L4", ADA, 40.0, 72.0, 16.0, 72.0, 2040.0, resistance_c_per_w=0.5)
GH200 = Board("NVIDIA GH200 480GB", HOPPER, 100.0, 900.0, 90.0, 680.0, 1980.0, module_w=1000.0, module_other_w=150.0)
SLICES = (("3g.40gb", 1, 0), ("2g.20gb", 3, 0), ("1g.10gb", 9, 0))

PROFILES: dict[str, tuple[Board, ...]] = {
    "h100x8": (H100,) * 8,
    "h100": (H100,),
    "a100": (A100,),
    "mig": (replace(A100, mig=SLICES), A100),
    "grace": (GH200,),
    # A module that takes a limit for GPU and CPU together only.
    "module": (replace(GH200, faults=("no-limit",)),),
    "mixed": (L4, H100),
    # A board or driver without the newer counters.
    "bare": (replace(A100, faults=("no-energy", "no-fields", "no-margin", "no-causes")),),
}
