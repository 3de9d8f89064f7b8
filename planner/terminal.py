"""What the commands say while they work, and the guard that keeps standard output clean."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Say on standard error what is being done and, when it is done, how long it took.

    Args:
        text: What is done, such as "planning".
    """
    began = time.monotonic()
    with _spinner(text):
        yield
    note(f"{text}: {time.monotonic() - began:.1f} s")


def _spinner(text: str) -> AbstractContextManager[object]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def note(text: str) -> None:
    """Say one sentence on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@contextmanager
def clean_stdout() -> Iterator[None]:
    """Send what anything below prints, C libraries too, to standard error until the block ends."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        # Standard output is closed: nothing can be printed there anyway.
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
