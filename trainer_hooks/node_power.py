"""The power of the whole node as its PDU or BMC tells it: a command that prints watts, or a file that holds them."""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trainer_hooks.energy import NO_ENERGY, Energy
from trainer_hooks.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

# BMCs renew their figure every second or more slowly; asking more often costs and tells nothing.
PERIOD_S = 10.0
TIMEOUT_S = 5.0
# Source: IEC 62053-21, class 1 meters, as rack PDUs carry, 1 %; BMCs' own sensors are stated by vendors at 2 to 5 %.
METER_ERROR = 0.05
_LONGEST_BYTES = 256
_WATTS = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*(?:W|w|watts?|Watts?)?\s*", re.ASCII)


class PowerReading(NamedTuple):
    """What the meter said last.

    Attributes:
        time_s: When, by the monotonic clock, s.
        power_w: Power of the node, W.
    """

    time_s: float
    power_w: float


def parse_watts(text: str) -> float:
    """Read the one number that a power meter's command or file gives.

    Args:
        text: A number of watts, with or without `W` behind it, and nothing else.

    Returns:
        Power, W.

    Raises:
        ValueError: It is anything else, or not finite.
    """
    found = _WATTS.fullmatch(text)
    if found is None or not math.isfinite(float(found[1])):
        raise ValueError(f"{text.strip()[:60]!r} is not a number of watts")
    return float(found[1])


def command_reader(command: str) -> Callable[[], float]:
    """Make a reader of a command that prints watts; it is run without a shell.

    Args:
        command: Program and arguments, quoted as in a shell.

    Returns:
        A function that runs it once, for at most `TIMEOUT_S`, and returns watts.

    Raises:
        SettingError: The command is empty or its quotes do not close.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise SettingError("GRIDPACE_NODE_POWER_COMMAND", f"{command!r}: {error}.", "Close its quotes.") from error
    if not argv:
        raise SettingError("GRIDPACE_NODE_POWER_COMMAND", "it names no program.", "Name one that prints watts.")

    def read() -> float:
        ends_s = time.monotonic() + TIMEOUT_S
        with subprocess.Popen(  # noqa: S603 - the administrator's own words, and no shell reads them
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        ) as process:
            try:
                printed = _printed(process, ends_s)
                code = process.wait(max(ends_s - time.monotonic(), 0.0))
            finally:
                # What the command has started goes with it; a group that is gone already is none.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        if code:
            raise subprocess.CalledProcessError(code, argv[0])
        return parse_watts(printed.decode("utf-8", "replace"))

    return read


def _printed(process: subprocess.Popen[bytes], ends_s: float) -> bytes:
    """Return what a command prints until it closes its output, however slowly or much that is."""
    assert process.stdout is not None
    descriptor, printed = process.stdout.fileno(), b""
    while len(printed) <= _LONGEST_BYTES:
        left_s = ends_s - time.monotonic()
        if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
            raise subprocess.TimeoutExpired(process.args, TIMEOUT_S)
        part = os.read(descriptor, _LONGEST_BYTES)
        if not part:
            return printed
        printed += part
    raise ValueError(f"it prints more than {_LONGEST_BYTES} bytes")


def file_reader(path: Path) -> Callable[[], float]:
    """Make a reader of a file that something else keeps up to date.

    Args:
        path: File that holds watts.

    Returns:
        A function that reads it and returns watts.
    """

    def read() -> float:
        # A pipe put in the file's place must not stop the thread for good.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return parse_watts(os.read(descriptor, _LONGEST_BYTES).decode("utf-8", "replace"))
        finally:
            os.close(descriptor)

    return read


class NodePowerMeter:
    """Integrates the node's power; the meter is asked in a thread, so that a slow one never stops a step.

    Args:
        read: Asks the meter once; returns W.
        monotonic: Clock, s.
        period_s: How often it is asked, s.

    Attributes:
        notice: A sentence about a meter that does not answer, or "".
    """

    def __init__(self, read: Callable[[], float], monotonic: Callable[[], float], period_s: float = PERIOD_S) -> None:
        self._read = read
        self._monotonic = monotonic
        self._period_s = period_s
        self.notice = ""
        self._lock = threading.Lock()
        self._last: PowerReading | None = None
        self._pending = NO_ENERGY
        self._stop = threading.Event()
        threading.Thread(target=self._watch, name="gridpace-node-power", daemon=True).start()

    def ask(self) -> None:
        """Ask the meter once and add the energy since it was asked before."""
        try:
            power_w = self._read()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self.notice = f"the node's power meter does not answer ({error}); its joules have a gap until it does."
            with self._lock:
                self._last = None
            return
        reading = PowerReading(self._monotonic(), power_w)
        with self._lock:
            if self._last is not None:
                self._pending = self._pending.then(_between(self._last, reading))
            self._last = reading

    def sample(self) -> Energy:
        """Return the node's energy between the answers that came since the last sample."""
        with self._lock:
            energy, self._pending = self._pending, NO_ENERGY
        return energy

    def close(self) -> None:
        """End the thread after its present question."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.is_set():
            self.ask()
            self._stop.wait(self._period_s)


def _between(before: PowerReading, after: PowerReading) -> Energy:
    elapsed_s = after.time_s - before.time_s
    used_j = (before.power_w + after.power_w) / 2.0 * elapsed_s
    if elapsed_s <= 0:
        return NO_ENERGY
    spread_j = abs(after.power_w - before.power_w) / 2.0 * elapsed_s
    # The meter is asked at its own times: a stretch may begin and end one answer away from that of the boards.
    return Energy(used_j, METER_ERROR * used_j + spread_j, used_j / elapsed_s * PERIOD_S, "power")
