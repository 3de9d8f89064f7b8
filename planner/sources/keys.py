"""Keys of providers: from the environment or the user's keyring, and never into a log, an error or a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import quote, quote_plus

from planner.errors import AuthError

SERVICE = "gridpace"
"""Name of the service under which a keyring keeps the keys."""

HIDDEN = "***"


@dataclass(frozen=True)
class Secret:
    """A text that is never printed.

    Args:
        text: The text.
    """

    text: str = field(repr=False)

    def __str__(self) -> str:
        return HIDDEN

    @property
    def spellings(self) -> tuple[str, ...]:
        """The text as it stands in headers and in addresses, the longest first."""
        return tuple(sorted({self.text, quote(self.text, safe=""), quote_plus(self.text)}, key=len, reverse=True))


def without(text: str, secrets: tuple[Secret, ...]) -> str:
    """Return a text with every secret in it hidden."""
    for secret in secrets:
        for spelling in secret.spellings:
            text = text.replace(spelling, HIDDEN)
    return text


def variable(provider: str) -> str:
    """Return the name of the environment variable that holds a provider's key, such as GRIDPACE_EIA_KEY."""
    return f"{SERVICE.upper()}_{provider.upper().replace('-', '_')}_KEY"


def find_key(provider: str) -> tuple[Secret | None, str]:
    """Return a provider's key, and where it stands: "environment", "keyring", or "" where there is none.

    Args:
        provider: Name of the provider.
    """
    named = os.environ.get(variable(provider), "").strip()
    if named:
        return Secret(named), "environment"
    if find_spec("keyring") is not None:
        keyring = import_module("keyring")
        try:
            kept = keyring.get_password(SERVICE, provider)
        except import_module("keyring.errors").KeyringError:
            kept = None  # a machine without a desktop has the package and no ring
        if kept:
            return Secret(kept), "keyring"
    return None, ""


def need_key(provider: str, name: str) -> Secret:
    """Return a provider's key.

    Args:
        provider: Name of the provider.
        name: The provider, for people.

    Raises:
        AuthError: There is none.
    """
    key, _ = find_key(provider)
    if key is None:
        raise AuthError(
            f"{name} needs a key, and none is there",
            why=f"{variable(provider)} is not set and no keyring has a password of {SERVICE!r} for {provider!r}",
            fix=f"set {variable(provider)} in the environment, or run: keyring set {SERVICE} {provider}",
        )
    return key
