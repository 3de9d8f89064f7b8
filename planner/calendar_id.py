"""The name of a calendar: the digest of everything that it says."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from trainer_hooks.calendar import Calendar, RunCalendar
from trainer_hooks.codec import calendar_document, run_document
from trainer_hooks.strictjson import dump_object

_DIGITS = 24
_UNNAMED = "0"


def content_id(calendar: Calendar, runs: Sequence[RunCalendar]) -> str:
    """Return the id that belongs to a calendar's content, whatever id it carries now.

    The content holds the digest of the week, the options and the versions of the programs, so that other inputs give
    another id; and it holds the decisions, so that one id never names two contents, even where a solve that ran out
    of time ended elsewhere on another machine.

    Args:
        calendar: The header; its list of runs (their files' digests) does not count.
        runs: The windows of every run.

    Returns:
        24 hexadecimal digits of a SHA-256.
    """
    digest = hashlib.sha256(dump_object(calendar_document(replace(calendar, calendar_id=_UNNAMED, runs=()))))
    for run in runs:
        digest.update(dump_object(run_document(replace(run, calendar_id=_UNNAMED))))
    return digest.hexdigest()[:_DIGITS]
