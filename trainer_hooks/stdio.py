"""Standard streams of our commands, which whoever starts them may have closed, or may stop reading."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def fill_standard_streams() -> None:
    """Open the null device for each of the three streams that is closed.

    Otherwise the next file that is opened, a record of leases perhaps, would be what libraries print their errors to.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if not _is_open(number):
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
            os.set_inheritable(opened, True)  # noqa: FBT003 - named by the function
            setattr(sys, name, os.fdopen(opened, mode, encoding="utf-8", closefd=False))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def tell(text: str) -> None:
    """Write to standard error, as far as anybody reads it: what we say must not decide how we end."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
