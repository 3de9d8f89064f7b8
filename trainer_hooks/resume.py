"""What earlier processes of a training did, from their telemetry, so that a restart takes back what it lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer_hooks.tokens import WorkLedger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trainer_hooks.telemetry import Record


def earlier_work(records: Iterable[Record]) -> WorkLedger:
    """Replay the telemetry of one rank.

    Where the position of a record says that its process went on from another place than the last one stood at, the work
    in between was lost then. So a restart that was written down is not taken back a second time, and one that was not
    is taken back by the next.

    Args:
        records: Records of earlier processes, a process after the other, each in its order.

    Returns:
        Where they left the training, and what it took to come there.
    """
    ledger, writer = WorkLedger(), None
    for record in records:
        if not record.tokens and not record.useful_tokens:
            continue  # written before the process said where it stands
        if record.writer != writer:
            writer, begin_tokens = record.writer, record.position_tokens - record.tokens
            ledger.rollback(begin_tokens)
            ledger.position_tokens = begin_tokens
        ledger.add(record.tokens, record.trained_j)
        ledger.rollback(record.position_tokens)
    return ledger
