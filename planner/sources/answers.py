"""What the body of an answer is: its status told as an error, its text decoded to the agreed form."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from planner.errors import AuthError, DataUnavailable, RateLimited, SchemaChanged
from planner.sources.retry import TOO_MANY, pause_s
from planner.sources.rows import NoValues

if TYPE_CHECKING:
    from planner.sources.cache import Answer
    from planner.sources.request import Request

_ZIP = b"PK\x03\x04"
_LONGEST_REASON = 200
_XML_REASON = re.compile(r"<(?:\w+:)?text>([^<]+)<")


def check_status(answer: Answer, request: Request) -> None:
    """Return where an answer is a good one.

    Raises:
        NoValues: The status and body are those with which this provider says that it has nothing.
        AuthError: The key is refused (401, 403).
        RateLimited: The provider asks to come back later (429).
        DataUnavailable: Any other status from 400 on; a 503 is never told as a bad key.
    """
    status = answer.status
    reason = _reason(answer.body)
    what = f"{request.source} answered {status} for {request.subject}"
    if any(status == code and text.encode() in answer.body for code, text in request.absent):
        raise NoValues(
            f"{request.source} has nothing for {request.subject}", why=reason, fix="check the zone and the span"
        )
    if status in {401, 403}:
        raise AuthError(what, why=reason or "access is refused", fix="check the key and what it may read")
    if status == TOO_MANY:
        wait = pause_s(status, answer.headers.get("retry-after"), request.ban_s)
        raise RateLimited(
            what,
            why=reason or "too many requests",
            fix=f"come back in {wait:.0f} s" if wait is not None else "come back later",
        )
    if status >= 500:
        raise DataUnavailable(what, why=reason or "the provider has a fault", fix="try again later")
    if status >= 400:
        raise DataUnavailable(what, why=reason or "the request is refused", fix="check the zone and the span")


def _reason(body: bytes) -> str:
    """Return the sentence in an error's JSON or XML body, in the shapes providers use, or ""."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        text = _XML_REASON.search(body.decode("utf-8", "replace"))
        return text[1].strip()[:_LONGEST_REASON] if text else ""
    for key in ("error", "reason", "message"):
        inner = found.get(key) if isinstance(found, dict) else None
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str):
            return inner[:_LONGEST_REASON]
    return ""


def decode(answer: Answer, request: Request) -> Any:
    """Return the body as the request agreed: a JSON value, or the root of an XML document.

    Raises:
        SchemaChanged: It is neither (a page, an archive, half a document).
    """
    try:
        if request.form == "json":
            return json.loads(answer.body)
        if b"<!DOCTYPE" in answer.body.replace(b"\0", b""):  # UTF-16 has a zero beside each letter
            raise ValueError  # noqa: TRY301 - no agreed document has one; entities could grow without bound
        return ET.fromstring(answer.body)  # noqa: S314 - see above
    except (ValueError, RecursionError, ET.ParseError) as exc:
        kind = "a ZIP archive" if answer.body.startswith(_ZIP) else answer.headers.get("content-type", "without a type")
        raise SchemaChanged(
            f"{request.source} answered {len(answer.body)} bytes of {kind} for {request.subject} where"
            f" {request.form.upper()} is agreed",
            why="a proxy or a maintenance page may stand between",
            fix="try again later, and check that the network lets the provider through",
        ) from exc
