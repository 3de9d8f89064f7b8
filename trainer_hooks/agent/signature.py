"""Who made a calendar: a signature of its header, which holds the hash of every run's file.

A signature stands beside the calendar's folder, `<root>/<calendar_id>.sig`, one line: the kind and its text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import importlib
from pathlib import Path
from typing import Any, Protocol

from trainer_hooks.agent.secret import Secret, read_secret
from trainer_hooks.agent.sections import check_owner
from trainer_hooks.errors import AgentError, CalendarError
from trainer_hooks.strictjson import read_bytes

HMAC_KIND = "hmac-sha256"
ED25519_KIND = "ed25519"
SIGNATURE_LIMIT_BYTES = 512
_HMAC_KEY_BYTES = 32
_PEM_LIMIT_BYTES = 64 * 1024
_SIGN = "Sign it: `python -m trainer_hooks.agent.sign ROOT --key-file FILE`."


class Verifier(Protocol):
    """Tells whether a signature belongs to a calendar."""

    def check(self, content: bytes, signature: bytes, subject: str) -> None:
        """Refuse a signature that does not belong to the content.

        Raises:
            CalendarError: It is of another kind, damaged, or not this key's.
        """


class HmacVerifier:
    """A secret that planner and nodes share.

    Args:
        key: The secret.
    """

    def __init__(self, key: Secret) -> None:
        self._key = key

    def check(self, content: bytes, signature: bytes, subject: str) -> None:
        """See `Verifier`."""
        if not hmac.compare_digest(_text(signature, HMAC_KIND, subject), _hmac_text(content, self._key)):
            raise CalendarError(subject, "its signature is not of this key.", _SIGN)


class Ed25519Verifier:
    """A public key, whose private half the planner alone has; needs the package `cryptography`.

    Args:
        path: File with the public key, PEM.

    Raises:
        AgentError: The package is absent, or the file holds no such key.
    """

    def __init__(self, path: Path) -> None:
        self._key = _load(path, private=False)

    def check(self, content: bytes, signature: bytes, subject: str) -> None:
        """See `Verifier`."""
        invalid = importlib.import_module("cryptography.exceptions").InvalidSignature
        try:
            raw = base64.b64decode(_text(signature, ED25519_KIND, subject), validate=True)
            self._key.verify(raw, content)
        except (binascii.Error, invalid):
            raise CalendarError(subject, "its signature is not of this key.", _SIGN) from None


def hmac_verifier(path: Path) -> HmacVerifier:
    """Make a verifier from the file of a shared secret.

    Raises:
        AgentError: The file is open to others, cannot be read, or its secret is too short.
    """
    return HmacVerifier(read_secret(path, _HMAC_KEY_BYTES))


def sign_hmac(content: bytes, key: Secret) -> bytes:
    """Sign a calendar's header with a shared secret; the content of its `.sig` file."""
    return f"{HMAC_KIND} ".encode("ascii") + _hmac_text(content, key) + b"\n"


def sign_ed25519(content: bytes, path: Path) -> bytes:
    """Sign a calendar's header with a private key; the content of its `.sig` file.

    Args:
        content: The header.
        path: File with the private key, PEM without a password, mode 0600.

    Raises:
        AgentError: The package `cryptography` is absent, or the file holds no such key.
    """
    key = _load(path, private=True)
    return f"{ED25519_KIND} ".encode("ascii") + base64.b64encode(key.sign(content)) + b"\n"


def _hmac_text(content: bytes, key: Secret) -> bytes:
    return hmac.new(key.content, content, hashlib.sha256).hexdigest().encode("ascii")


def _text(signature: bytes, kind: str, subject: str) -> bytes:
    parts = signature.split()
    if len(parts) != 2 or parts[0] != kind.encode("ascii"):
        raise CalendarError(subject, f"its signature is not one line of kind {kind}.", _SIGN)
    return parts[1]


def _load(path: Path, *, private: bool) -> Any:
    """Read a key with the package that only those who sign by Ed25519 need."""
    try:
        serialization = importlib.import_module("cryptography.hazmat.primitives.serialization")
        ed25519 = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    except ImportError as error:
        raise AgentError(
            str(path), "Ed25519 needs the package cryptography, which is absent.", "Install gridpace-hooks[ed25519]."
        ) from error
    make = "Make one: `openssl genpkey -algorithm ed25519`, its public half by `openssl pkey -pubout`."
    try:
        if private:
            key = serialization.load_pem_private_key(read_secret(path, _HMAC_KEY_BYTES).content, None)
        else:
            check_owner(path, allow_read=True)
            key = serialization.load_pem_public_key(read_bytes(path, _PEM_LIMIT_BYTES))
    except (CalendarError, ValueError, TypeError) as error:
        raise AgentError(str(path), "it holds no key in PEM without a password.", make) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey if private else ed25519.Ed25519PublicKey):
        raise AgentError(str(path), "its key is not of the kind Ed25519.", make)
    return key
