"""All faults, in the order of the table; what each means for each subject stands with it."""

from __future__ import annotations

from tests.faults.matrix.board_faults import CounterReset, ElsesLimit, GpuLost, NoPermission
from tests.faults.matrix.calendar_faults import ClockBack, ClockOn, Expired, Future, Truncated, WrongRun
from tests.faults.matrix.fault import Fault
from tests.faults.matrix.process_faults import Killed, Stopped, Terminated
from tests.faults.matrix.storing_faults import DiskFull, SocketGone, Unsaved

FAULTS: tuple[type[Fault], ...] = (
    Killed, Terminated, Stopped, Unsaved, DiskFull, Truncated, Expired, Future, WrongRun, ClockOn, ClockBack,
    SocketGone, GpuLost, CounterReset, ElsesLimit, NoPermission,
)  # fmt: skip
