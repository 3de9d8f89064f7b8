"""The cookie in which a browser carries a person's token."""

from __future__ import annotations

import re
from http.cookies import CookieError, SimpleCookie

LOGIN = "/login"
COOKIE = "gridpace_token"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{8,512}", re.ASCII)


def is_token(text: str) -> bool:
    """Tell whether a text has the shape of a token."""
    return _TOKEN.fullmatch(text) is not None


def token_of(header: bytes) -> str | None:
    """Return the token in a cookie header, or None."""
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return found.value if found is not None and is_token(found.value) else None
