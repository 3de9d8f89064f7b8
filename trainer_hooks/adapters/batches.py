"""How many tokens a batch holds, without asking the device: shapes are known on the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MAIN_INPUTS = ("input_ids", "inputs", "input", "tokens")


def batch_tokens(batch: Any) -> int:
    """Count the places of a batch's main input, padding included.

    Args:
        batch: A tensor; or a mapping with `input_ids`, `inputs`, `input` or `tokens`; or a sequence that begins with
            one of these.

    Returns:
        Its number of elements; 0 where there is none of these.
    """
    if isinstance(batch, Mapping):
        return next((batch_tokens(batch[name]) for name in _MAIN_INPUTS if name in batch), 0)
    if isinstance(batch, Sequence) and not isinstance(batch, (str, bytes)):
        return batch_tokens(batch[0]) if batch else 0
    count = getattr(batch, "numel", None)
    if callable(count):
        return int(count())
    size = getattr(batch, "size", 0)
    return size if isinstance(size, int) else 0
