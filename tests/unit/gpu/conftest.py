"""GPUs of this process on a twin of NVML whose clock stands still between steps of a test."""

from __future__ import annotations

import contextlib

import pytest

from trainer_hooks.devices import machine_gpus
from trainer_hooks.gpu import NvmlSession


@pytest.fixture
def machine(nvml_twin):
    """Make a twin with its clock stopped; returns it and its GPUs as the device layer sees them."""
    with contextlib.ExitStack() as entered:

        def make(profile="h100", *, root=True, **options):
            twin = nvml_twin(profile, stopped=True, **options)
            entered.enter_context(twin.in_process(root=root))
            return twin, machine_gpus(NvmlSession(monotonic=twin.now_s))

        yield make
