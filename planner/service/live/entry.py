"""How a person enters: the token in a form once, then in a cookie that only the browser sees."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from planner.service.cookie import COOKIE, LOGIN, is_token
from planner.service.guard import Refused, refresh
from planner.service.live.rendering import rendered
from planner.service.roles import state_of

router = APIRouter(include_in_schema=False)


async def posted(request: Request) -> dict[str, str]:
    """Return the fields of a form; of one that stands twice the first."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        fields = parse_qs(body, max_num_fields=20)
    except ValueError as error:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "the form has too many fields") from error
    return {name: values[0] for name, values in fields.items()}


Form = Annotated[dict[str, str], Depends(posted)]


@router.get(LOGIN, response_class=HTMLResponse)
def login(request: Request) -> Response:
    """Ask for a token."""
    if state_of(request).tokens is None:
        return RedirectResponse("/", HTTPStatus.SEE_OTHER)
    return rendered("login.html.j2", wrong=False)


@router.post(LOGIN, response_class=HTMLResponse)
def enter(request: Request, form: Form) -> Response:
    """Keep a good token in a cookie, and show the page."""
    tokens = state_of(request).tokens
    token = form.get("token", "").strip()
    if tokens is not None:
        refresh(tokens)
        if not is_token(token) or tokens.find(token) is None:
            return rendered("login.html.j2", HTTPStatus.FORBIDDEN, wrong=True)
    answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
    if tokens is not None:
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure, path="/")
    return answer


@router.post("/logout")
def leave() -> Response:
    """Forget the token."""
    answer = RedirectResponse(LOGIN, HTTPStatus.SEE_OTHER)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
