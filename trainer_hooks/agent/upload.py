"""Batches of telemetry to a server; loaded only where there is one, because the libraries for it are large."""

from __future__ import annotations

import http
import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO

from trainer_hooks.agent.secret import Secret
from trainer_hooks.agent.web import HEADERS, authorize, checked_address, opener_to
from trainer_hooks.errors import AgentError

PATH = "/v1/telemetry"
_TYPE = "application/x-ndjson"
_ANSWER_LIMIT_BYTES = 64 * 1024
_LONGEST_PAUSE_S = 3600.0
_FOR_GOOD = frozenset({400, 413, 415, 422})
"""Answers to a batch that would be the same the next time."""


class NotSent(Exception):
    """A batch did not arrive, or nobody knows whether it did: it is sent again.

    Args:
        why: In one sentence, without what might be secret.
        pause_s: How long the server asks to wait, s; None where it does not say.
    """

    def __init__(self, why: str, pause_s: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.pause_s = pause_s


class Refused(Exception):
    """The server takes no batch like this one, today or tomorrow.

    Args:
        why: In one sentence.
        too_large: Whether it would take fewer lines at once.
    """

    def __init__(self, why: str, *, too_large: bool = False) -> None:
        super().__init__(why)
        self.too_large = too_large


@dataclass(frozen=True)
class Sent:
    """What became of a batch.

    Attributes:
        added: Records that were new to the server.
        repeated: Records that it had.
        refused: Lines that are no record to it.
        fault: Why, for the first of them.
    """

    added: int
    repeated: int
    refused: int
    fault: str


class Upload:
    """Sends batches to a server.

    Args:
        server: Its address, https://host, or http on this machine.
        token: Sent as a bearer token; it stands in no sentence and no log.
        ca_file: Certificates to trust instead of the system's; None trusts the system's.
        timeout_s: Longest time without a sign of the server, s.

    Raises:
        AgentError: The address is of another kind, or the token would go in the clear.
    """

    def __init__(
        self, server: str, token: Secret | None = None, ca_file: Path | None = None, timeout_s: float = 30.0
    ) -> None:
        parts = checked_address(server, token, "telemetry, key server")
        self._address = f"{server.rstrip('/')}{PATH}"
        self._token = token
        self._timeout_s = timeout_s
        self._opener = opener_to(parts, ca_file, _NowhereElse(), "telemetry")

    def send(self, content: bytes) -> Sent:
        """Send whole lines.

        Raises:
            NotSent: They did not arrive, as far as is known.
            Refused: The server takes no such batch.
        """
        headers = {**HEADERS, "Content-Type": _TYPE}
        request = urllib.request.Request(self._address, content, headers)  # noqa: S310  the scheme was checked
        authorize(request, self._token)
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return _sent(answer.read(_ANSWER_LIMIT_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                if error.code in _FOR_GOOD:
                    too_large = error.code == http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                    raise Refused(f"{self._address} answers {error.code}", too_large=too_large) from None
                raise NotSent(f"{self._address} answers {error.code}", _pause_s(error.headers)) from None
        except (OSError, http.client.HTTPException, ValueError, AgentError) as error:
            raise NotSent(f"{self._address} cannot be reached ({getattr(error, 'reason', error)})") from None


class _NowhereElse(urllib.request.HTTPRedirectHandler):
    """Sends telemetry to nobody that it was not meant for."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Refuse."""
        del req, code, msg, headers, newurl
        fp.close()
        raise AgentError("telemetry, key server", "the server sends elsewhere.", "Set it to the address itself.")


def _sent(content: bytes) -> Sent:
    found = json.loads(content)
    told = found if isinstance(found, dict) else {}
    added, repeated, refused, faults = (told.get(key) for key in ("added", "repeated", "refused", "faults"))
    if not (isinstance(added, int) and isinstance(repeated, int) and isinstance(refused, int)):
        raise ValueError("what it answers is not what a gridpace service does")  # noqa: TRY004 - an answer, no type
    return Sent(added, repeated, refused, str(faults[0])[:300] if isinstance(faults, list) and faults else "")


def _pause_s(headers: Message) -> float | None:
    text = headers.get("Retry-After", "").strip()
    return min(float(text), _LONGEST_PAUSE_S) if text.isdecimal() else None
