"""How many connections the process may have: as many as the system lets it."""

from __future__ import annotations

import resource
from contextlib import suppress


def allow_connections() -> None:
    """Raise the limit of open files to what the system permits: a held request is one, and the usual limit is 1024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # where the system says "unlimited" and means less, the limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
