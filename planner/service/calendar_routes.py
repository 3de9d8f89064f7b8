"""Calendars for agents and training: the folder that `gridpace-agent` reads, and each run's windows by name.

These handlers are asked by every node every minute, so most answers are "unchanged" and come from memory.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from planner.folders import folder_name
from planner.ledger.issued import StoredFile
from planner.service.guard import Refused
from planner.service.roles import needs, state_of
from planner.service.tokens import Principal
from trainer_hooks.calendar import HEADER_FILE
from trainer_hooks.publish import POINTER

router = APIRouter(prefix="/v1/sites/{site}", tags=["calendars"])
Reader = Annotated[Principal, Depends(needs("viewer", "planner", "agent"))]
JSON, TEXT = "application/json", "text/plain; charset=ascii"
NEVER_CHANGES = "private, max-age=31536000, immutable"
MAY_CHANGE = "private, no-cache"


def check_site(request: Request, site: str) -> None:
    """Refuse another site's name than this service's."""
    if site not in {state_of(request).site, folder_name(state_of(request).site)}:
        raise Refused(HTTPStatus.NOT_FOUND, "this service has no such site")


@router.get("/calendars/" + POINTER, summary="Id of the calendar in force", response_class=Response)
async def pointer(request: Request, site: str, _: Reader) -> Response:
    """Say which calendar is in force; 304 where `If-None-Match` names it."""
    check_site(request, site)
    return _answer(request, f"{await _current(request)}\n".encode(), await _current(request), (TEXT, MAY_CHANGE))


@router.get("/runs/{run:path}", summary="A run's windows in the calendar in force", response_class=Response)
async def run_windows(request: Request, site: str, run: str, _: Reader) -> Response:
    """Hand out the file that a governor follows; 304 where `If-None-Match` names its SHA-256."""
    check_site(request, site)
    calendar_id = await _current(request)
    shelf = state_of(request).shelf
    path = await run_in_threadpool(shelf.run_path, calendar_id, run)
    if path is None:
        raise Refused(HTTPStatus.NOT_FOUND, "the calendar in force has no such run")
    found = await _file(request, calendar_id, path)
    return _answer(request, found.content, found.sha256, (JSON, MAY_CHANGE))


@router.get("/calendars/{calendar_id}.sig", summary="Signature of a calendar's header", response_class=Response)
async def signature(request: Request, site: str, calendar_id: str, _: Reader) -> Response:
    """Hand out the signature by the secret that service and nodes share."""
    check_site(request, site)
    found = await _file(request, calendar_id, "sig")
    return _answer(request, found.content, f"{found.sha256}-sig", (TEXT, MAY_CHANGE))


@router.get("/calendars/{calendar_id}/" + HEADER_FILE, summary="A calendar's header", response_class=Response)
async def header(request: Request, site: str, calendar_id: str, _: Reader) -> Response:
    """Hand out the header of an approved calendar."""
    check_site(request, site)
    found = await _file(request, calendar_id, HEADER_FILE)
    return _answer(request, found.content, found.sha256, (JSON, NEVER_CHANGES))


@router.get("/calendars/{calendar_id}/runs/{file}", summary="A run's file in a calendar", response_class=Response)
async def run_file(request: Request, site: str, calendar_id: str, file: str, _: Reader) -> Response:
    """Hand out the file of a run in an approved calendar, by the name that its header gives."""
    check_site(request, site)
    found = await _file(request, calendar_id, f"runs/{file}")
    return _answer(request, found.content, found.sha256, (JSON, NEVER_CHANGES))


async def _current(request: Request) -> str:
    shelf = state_of(request).shelf
    found = shelf.known if shelf.fresh else await run_in_threadpool(shelf.current)
    if found is None:
        raise Refused(HTTPStatus.NOT_FOUND, "no calendar was approved yet")
    return found


async def _file(request: Request, calendar_id: str, path: str) -> StoredFile:
    found = await run_in_threadpool(state_of(request).shelf.file, calendar_id, path)
    if found is None:
        raise Refused(HTTPStatus.NOT_FOUND, "there is no such file in an approved calendar of this site")
    return found


def _answer(request: Request, content: bytes, tag: str, kind: tuple[str, str]) -> Response:
    etag = f'"{tag}"'
    headers = {"ETag": etag, "Cache-Control": kind[1]}
    asked = request.headers.get("if-none-match", "")
    if asked.strip() == "*" or etag in {one.strip().removeprefix("W/") for one in asked.split(",")}:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content, media_type=kind[0], headers=headers)
