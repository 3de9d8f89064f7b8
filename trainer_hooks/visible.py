"""CUDA_VISIBLE_DEVICES, read as CUDA reads it, without CUDA.

Source: CUDA Programming Guide, CUDA environment variables; checked in tests against nvitop's own reading on the same
boards. The list holds numbers, or UUIDs that may be cut short, of GPUs (GPU-...) or of MIG instances (MIG-...). The
first entry that names nothing ends it, as does one of another kind than the first; a board named twice voids it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# CUDA reads a number as strtol does: `1gpu` is 1.
_NUMBER = re.compile(r"[+-]?[0-9]+")


class Slice(NamedTuple):
    """A MIG instance of a board.

    Attributes:
        uuid: UUID, MIG-...
        gpu_instance: Number of its GPU instance.
        compute_instance: Number of its compute instance in that.
    """

    uuid: str
    gpu_instance: int
    compute_instance: int


class Board(NamedTuple):
    """A GPU board as CUDA may see it.

    Attributes:
        bus_id: PCI bus id, by which boards are ordered.
        uuid: UUID, GPU-...
        name: Product name.
        slices: Its MIG instances; None where it is not split.
    """

    bus_id: str
    uuid: str
    name: str
    slices: tuple[Slice, ...] | None = None


class Visible(NamedTuple):
    """What an entry of the list names.

    Attributes:
        board: The board.
        slice: Whether a MIG instance of it is named rather than the board.
        by_number: Whether it was named by a number.
    """

    board: Board
    slice: bool
    by_number: bool


def visible_boards(visible: str | None, boards: Sequence[Board]) -> tuple[Visible, ...]:
    """Find the boards that a process sees.

    Args:
        visible: Value of CUDA_VISIBLE_DEVICES; None where it is not set.
        boards: All boards, in CUDA's order of numbers.

    Returns:
        What is named, in order. With a MIG instance among it CUDA would offer one instance only, and no boards.
    """
    if visible is None:
        return tuple(Visible(board, board.slices is not None, by_number=True) for board in boards)
    found: list[Visible] = []
    seen: set[str] = set()
    for entry in (raw.strip() for raw in visible.split(",")):
        named = list(_named(entry, boards))
        if len(named) != 1 or (found and named[0][0].by_number != found[0].by_number):
            break
        (one, identity) = named[0]
        if identity in seen:
            return ()
        seen.add(identity)
        found.append(one)
    return tuple(found)


def _named(entry: str, boards: Sequence[Board]) -> Iterator[tuple[Visible, str]]:
    """Yield every board or instance that an entry may mean, with what tells it from others."""
    number = _NUMBER.match(entry)
    if number:
        index = int(number[0])
        for board in boards[index : index + 1] if index >= 0 else ():
            yield Visible(board, board.slices is not None, by_number=True), board.uuid
    elif entry.startswith("GPU-"):
        for board in boards:
            if board.uuid.startswith(entry):
                yield Visible(board, board.slices is not None, by_number=False), board.uuid
    elif entry.startswith("MIG-"):
        for board in boards:
            for one in board.slices or ():
                # Before driver R470 an instance was named by its board and two numbers.
                older = f"MIG-{board.uuid}/{one.gpu_instance}/{one.compute_instance}"
                if one.uuid.startswith(entry) or _is_older(entry, older):
                    yield Visible(board, slice=True, by_number=False), one.uuid


def _is_older(entry: str, older: str) -> bool:
    uuid, _, numbers = entry.partition("/")
    return bool(numbers) and older.startswith(uuid) and older.endswith(f"/{numbers}")
