"""The twin's control handle: what its boards truly do, and what is done to them from outside NVML."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.nvml_twin.build import twin_functions, twin_library
from tests.nvml_twin.profiles import FAULTS, PROFILES, Board

STATE, ROOT = "GRIDPACE_TWIN_STATE", "GRIDPACE_TWIN_ROOT"
_NOT_NUMBERS = {"name", "mig", "faults"}


class TwinBoard:
    """One board of a twin; see `twin.h` for the quantities that `get` and `set` know."""

    def __init__(self, state: int, index: int) -> None:
        self._state, self._index = state, index

    def get(self, quantity: str) -> float:
        value = twin_functions().twin_get(self._state, self._index, quantity.encode())
        if math.isnan(value):
            raise KeyError(quantity)
        return value

    def set(self, quantity: str, value: float) -> None:
        if twin_functions().twin_set(self._state, self._index, quantity.encode(), value):
            raise KeyError(quantity)

    def text(self, quantity: str) -> str:
        return twin_functions().twin_text(self._state, self._index, quantity.encode()).decode()

    def set_text(self, quantity: str, value: str) -> None:
        if twin_functions().twin_set_text(self._state, self._index, quantity.encode(), value.encode()):
            raise KeyError(quantity)

    @property
    def uuid(self) -> str:
        return self.text("uuid")

    @property
    def limit_w(self) -> float:
        """The limit requested last; setting it is what someone else does."""
        return self.get("requested_w")

    @limit_w.setter
    def limit_w(self, limit_w: float) -> None:
        self.set("requested_w", limit_w)

    @property
    def enforced_w(self) -> float:
        return self.get("enforced_w")

    @property
    def power_w(self) -> float:
        return self.get("power_w")

    @property
    def energy_j(self) -> float:
        """True energy: not renewed every 100 ms, and reset by `set("energy_j", 0.0)` and by the driver only."""
        return self.get("energy_j")

    @property
    def temperature_c(self) -> float:
        return self.get("temperature_c")

    @property
    def load(self) -> float:
        """Share of the board's demand that is asked for, 0 to 1; whoever plays the training sets it."""
        return self.get("load")

    @load.setter
    def load(self, load: float) -> None:
        self.set("load", load)

    @property
    def throughput(self) -> float:
        """Work per second under the present limit, over that at the highest clock and full load."""
        return self.load * self.get("clock_mhz") / self.get("highest_mhz")

    @property
    def writes(self) -> int:
        """How many limits were set through NVML."""
        return int(self.get("writes"))

    @property
    def reads(self) -> int:
        return int(self.get("reads"))

    @property
    def faults(self) -> frozenset[str]:
        present = int(self.get("faults"))
        return frozenset(name for name, bit in FAULTS.items() if present & bit)

    def fault(self, *names: str) -> None:
        """Have these faults and no others; none mends the board."""
        self.set("faults", sum(FAULTS[name] for name in names))

    def reset(self) -> None:
        """Come back as from a reset: counters at 0 and the limit at its default, both at once."""
        twin_functions().twin_reset(self._state, self._index)

    def rival(self, limit_w: float, after_s: float) -> None:
        """Have someone else set a limit some seconds after each that is set through NVML."""
        self.set("rival_s", after_s)
        self.set("rival_w", limit_w)


class Twin:
    """A machine of boards in a shared file.

    Args:
        path: The shared file.
        boards: Boards to make it with; None opens what is there.
        stopped: Whether its clock stands still from the start.
    """

    def __init__(self, path: Path, boards: tuple[Board, ...] | None = None, *, stopped: bool = False) -> None:
        library, name = twin_functions(), str(path).encode()
        self.path = path
        self._state = library.twin_open(name) if boards is None else library.twin_create(name, len(boards))
        if not self._state:
            raise FileNotFoundError(path)
        if stopped:
            self.stop_clock()
        self.boards = tuple(TwinBoard(self._state, index) for index in range(library.twin_boards(self._state)))
        for index, board in enumerate(boards or ()):
            self._furnish(index, board)

    @classmethod
    def of_environment(cls) -> Twin:
        """Open the twin that this process was given, to play the load of a training on it."""
        return cls(Path(os.environ[STATE]))

    def __getitem__(self, index: int) -> TwinBoard:
        return self.boards[index]

    def __len__(self) -> int:
        return len(self.boards)

    def close(self) -> None:
        twin_functions().twin_close(self._state)

    def environment(self, *, root: bool | None = True) -> dict[str, str]:
        """Return the variables by which a child process loads the twin as its driver's library.

        Args:
            root: Whether it may set limits; None leaves that to its user id.
        """
        paths = [str(twin_library().parent), os.environ.get("LD_LIBRARY_PATH", "")]
        found = {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths)), STATE: str(self.path)}
        return found if root is None else found | {ROOT: str(int(root))}

    @contextlib.contextmanager
    def in_process(self, *, root: bool | None = True) -> Iterator[None]:
        """Let `pynvml` of this process meet the twin; what it holds of NVML before and after is void."""
        import pynvml

        names = (STATE, ROOT)
        before = {name: os.environ.get(name) for name in names}
        wanted = {name: self.environment(root=root).get(name) for name in names}
        _shut_down(pynvml)
        try:
            _set_variables(wanted)
            yield
        finally:
            _shut_down(pynvml)
            _set_variables(before)

    def stop_clock(self) -> None:
        """Let time stand still from now on, but for `advance`."""
        twin_functions().twin_stop_clock(self._state)

    def advance(self, duration_s: float) -> None:
        """Let time pass on a twin whose clock was stopped."""
        twin_functions().twin_pass(self._state, duration_s)

    def now_s(self) -> float:
        """Return the time that the twin lives by, s: a monotonic clock for what is tested against it."""
        return float(twin_functions().twin_now_s(self._state))

    def delay_calls(self, latency_s: float) -> None:
        """Let every call of NVML take so long, in real seconds."""
        twin_functions().twin_set_latency(self._state, latency_s)

    def unload_driver(self) -> None:
        twin_functions().twin_set_driver(self._state, 0)

    def load_driver(self) -> None:
        """Load the driver (again): limits and counters are as at boot, and handles of before are void."""
        twin_functions().twin_set_driver(self._state, 1)

    def _furnish(self, index: int, board: Board) -> None:
        present = self.boards[index]
        present.set_text("uuid", f"GPU-{0x3EB79704 + 0x01010101 * index:08x}-1571-707c-aee8-{index:012x}")
        present.set_text("name", board.name)
        present.set_text("bus_id", f"00000000:{0x17 + 0x11 * index:02X}:00.0")
        for field in dataclasses.fields(board):
            if field.name not in _NOT_NUMBERS:
                present.set(field.name, getattr(board, field.name))
        present.set("period_s", 0.1)
        present.set("default_w", board.highest_w)
        present.set("average_w", board.idle_w)
        present.set("temperature_c", board.coolant_c + board.resistance_c_per_w * board.idle_w)
        present.limit_w = board.highest_w
        present.set("enforced_w", board.highest_w)
        present.set("mig_mode", float(bool(board.mig)))
        for number, (profile, gpu_instance, compute_instance) in enumerate(board.mig):
            uuid = f"MIG-{0xD184F67C + 0x01010101 * number:08x}-c95f-5ef2-a935-{index:012x}"
            twin_functions().twin_add_slice(
                self._state, index, uuid.encode(), profile.encode(), gpu_instance, compute_instance
            )
        present.fault(*board.faults)


@contextlib.contextmanager
def nvml_twin(
    folder: Path,
    profile: str | Iterable[Board] = "h100x8",
    *,
    faults: Mapping[int, Iterable[str]] | None = None,
    stopped: bool = False,
) -> Iterator[Twin]:
    """Make a twin.

    Args:
        folder: Where its shared file may lie.
        profile: Name of a profile, or boards.
        faults: Faults by board, beside those of the profile.
        stopped: Whether its clock stands still from the start, and passes by `advance` only.

    Yields:
        The control handle.

    Raises:
        TwinUnavailable: No compiler, or no header.
    """
    boards = PROFILES[profile] if isinstance(profile, str) else tuple(profile)
    file, path = tempfile.mkstemp(".state", "nvml-twin-", folder)
    os.close(file)
    twin = Twin(Path(path), boards, stopped=stopped)
    for index, names in (faults or {}).items():
        twin[index].fault(*names, *boards[index].faults)
    try:
        yield twin
    finally:
        twin.close()


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _shut_down(pynvml: Any) -> None:
    twin_functions()
    # The binding remembers the library that it found first.
    pynvml.nvmlLib = None
    pynvml._nvmlGetFunctionPointer_cache.clear()
    pynvml._LoadNvmlLibrary()
    with contextlib.suppress(pynvml.NVMLError):
        while True:
            pynvml.nvmlShutdown()
