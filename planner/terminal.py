"""What the commands say while they work, and the guard that keeps standard output clean."""

from __future__ import annotations

import io
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
    """Say one sentence on standard error; where nothing can be said, as on a full disk, the work goes on."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        # What stays unsaid would be tried again, and fail again, as the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def open_streams() -> None:
    """Make standard output and error usable whatever the caller gave.

    A closed one leads nowhere instead of to an error, and a sign that a terminal cannot show becomes a question mark.
    """
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def clean_stdout() -> Iterator[None]:
    """Send what anything below prints, C libraries too, to standard error until the block ends."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
