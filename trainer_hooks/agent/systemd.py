"""What systemd wants to hear and to read."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar


def notify(message: str, environ: Mapping[str, str]) -> None:
    """Tell the service manager something, such as READY=1 or WATCHDOG=1; nothing happens where none is there."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker:
        speaker.connect("\0" + address[1:] if address.startswith("@") else address)
        speaker.send(message.encode())


class JournalFormatter(logging.Formatter):
    """One line a record, its rank in front as the journal reads it; the journal has the time already."""

    _RANKS: ClassVar[dict[int, int]] = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6}

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        text = super().format(record)
        # control characters in what a stranger sent must not make lines of their own
        lines = ("".join(c if c.isprintable() else "?" for c in line) for line in text.split("\n"))
        rank = self._RANKS.get(record.levelno, 7)
        return "\n".join(f"<{rank}>{line}" for line in lines)


def log_to_stderr(environ: Mapping[str, str]) -> None:
    """Send the agent's records to stderr, for the journal where stderr leads there."""
    handler = logging.StreamHandler(sys.stderr)
    is_journal = "JOURNAL_STREAM" in environ
    handler.setFormatter(
        JournalFormatter("%(message)s") if is_journal else logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    )
    root = logging.getLogger("trainer_hooks")
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False
