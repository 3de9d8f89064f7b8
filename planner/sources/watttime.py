"""Marginal carbon intensity of a region from WattTime: the last month, and a forecast up to 72 hours ahead."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd

from planner.errors import AuthError, ConfigError
from planner.sources.keys import Secret, need_key
from planner.sources.request import Request
from planner.sources.rows import NoValues, make_series, to_numbers
from planner.sources.shape import agreed, cell, changed, entries, instant
from planner.sources.units import conversion
from planner.sources.windows import fetch_windows, floor, past_and_ahead
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.sources.http import Http
    from planner.sources.options import Options
    from planner.sources.series import Series

BASE_URL = "https://api.watttime.org"
LICENCE = "WattTime; what the account's contract allows"
HORIZON = timedelta(hours=72)
"""How far ahead the provider forecasts."""

_NAME = "WattTime"
_KEY = "watttime"
_HOUR = timedelta(hours=1)
_STEP = timedelta(minutes=5)
_WINDOW = timedelta(days=28)  # the provider allows 32 days
_SETTLED = timedelta(days=3)
_TTL = timedelta(minutes=15)
_TOKEN_LIFE = timedelta(minutes=25)  # of the 30 that it is good for
_SIGNAL = "co2_moer"


@dataclass(frozen=True)
class WattTime:
    """The provider; zones are its regions, such as "CAISO_NORTH". Its values are MARGINAL, and are never averaged in.

    The key is "user:password"; a token is fetched with it, held in memory alone and fetched anew after 25 minutes.

    Args:
        http: How the network is used.
        base_url: Address of the provider.
    """

    http: Http
    base_url: str = BASE_URL
    name: str = _NAME
    basis: str = "marginal"
    _tokens: dict[str, tuple[Secret, datetime]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_options(cls, options: Options, http: Http) -> WattTime:
        """Return the provider; it has no options.

        Raises:
            ConfigError: An option is given.
        """
        options.finish()
        return cls(http)

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the marginal carbon intensity in [start, end) in steps of 5 min, up to 72 h ahead.

        Raises:
            ConfigError: The signal is not carbon.
            AuthError: There is no key, or it is refused for the region.
            DataUnavailable: Nothing usable came (see `Http.get` for its kinds).
        """
        if signal != "carbon":
            raise ConfigError(f"{_NAME} has no {signal}", fix="ask for carbon")
        now = self.http.clock()
        this_hour = floor(now, _HOUR)

        def read(answer: Any) -> Series:
            rows, generated_at = self._rows(answer, zone, this_hour)
            return replace(self._series(zone, rows), issued_at=generated_at)

        def past(first: datetime, last: datetime) -> Request:
            return self._request(
                zone, "historical", (("start", iso(first)), ("end", iso(last - _STEP))), last + _SETTLED
            )

        def ahead() -> Request:
            return self._request(zone, "forecast", (("horizon_hours", f"{HORIZON / _HOUR:.0f}"),), None)

        windows = past_and_ahead((start, end), now, (_WINDOW, HORIZON), past, ahead)
        nothing = NoValues(
            f"{_NAME} has no marginal carbon of {zone} from {iso(start)} to {iso(end)}",
            why=f"it forecasts {HORIZON / _HOUR:.0f} h ahead",
            fix="plan a week that has begun or begins soon, or use another source",
        )
        found = fetch_windows(self.http, windows, read, start, end, nothing=nothing)
        return replace(self._series(zone, found.rows), fetched_at=found.fetched_at, issued_at=found.issued_at)

    def _request(
        self, zone: str, path: str, params: tuple[tuple[str, str], ...], settled_at: datetime | None
    ) -> Request:
        token = () if self.http.offline else (("Authorization", self._token()),)
        return Request(
            _NAME,
            f"marginal carbon of {zone}",
            f"{self.base_url}/v3/{path}",
            (("region", zone), ("signal_type", _SIGNAL), *params),
            _TTL,
            settled_at,
            secret_headers=token,
        )

    def _token(self) -> Secret:
        now = self.http.clock()
        if _KEY in self._tokens and timedelta(0) <= now - self._tokens[_KEY][1] < _TOKEN_LIFE:
            return self._tokens[_KEY][0]
        key = need_key(_KEY, _NAME).text
        if ":" not in key:
            raise AuthError(f"the key of {_NAME} has no colon", fix="write it as user:password")
        basic = Secret(f"Basic {base64.b64encode(key.encode()).decode()}")
        request = Request(
            _NAME,
            "a token",
            f"{self.base_url}/login",
            (),
            timedelta(0),
            secret_headers=(("Authorization", basic),),
            keep=False,
        )
        reply = self.http.get(request, _token_of, self.http.deadline())
        self._tokens[_KEY] = (reply.value, now)
        return reply.value

    @staticmethod
    def _rows(payload: Any, zone: str, now: datetime) -> tuple[pd.DataFrame, datetime]:
        subject = f"{_NAME}: marginal carbon of {zone}"
        data = entries(payload, "data", subject)
        if not data:
            raise NoValues(f"{subject}: the answer has no rows", fix="check the region and the span")
        meta = payload.get("meta")
        if not isinstance(meta, dict):
            raise changed(subject, "it has no 'meta', which says unit and meaning")
        agreed(meta.get("region"), zone, "region", subject)
        agreed(meta.get("signal_type"), _SIGNAL, "signal", subject)
        agreed(meta.get("units"), "lbs_co2_per_mwh", "unit", subject)
        agreed(meta.get("data_point_period_seconds"), _STEP.seconds, "step in seconds", subject)
        starts = pd.DatetimeIndex([instant(cell(entry, "point_time", subject), subject) for entry in data])
        values = to_numbers(
            [cell(entry, "value", subject) for entry in data],
            "value",
            lambda i: f"{subject}, row of {starts[i]:%Y-%m-%dT%H:%M:%SZ}",
        )
        rows = pd.DataFrame(
            {
                "t_start": starts,
                "t_end": starts + _STEP,
                "value": values * conversion("carbon", "lb/MWh").scale,
                "kind": ["modelled" if t < now else "forecast" for t in starts],
                "flags": "",
            }
        )
        return rows, instant(meta.get("generated_at"), subject)

    @staticmethod
    def _series(zone: str, rows: pd.DataFrame) -> Series:
        return make_series(
            signal="carbon", zone=zone, rows=rows, source=f"{_NAME} {zone}", licence=LICENCE, basis="marginal"
        )


def _token_of(payload: Any) -> Secret:
    token = payload.get("token") if isinstance(payload, dict) else None
    if not isinstance(token, str) or not token:
        raise changed(f"{_NAME}: a token", "the login gives none")
    return Secret(f"Bearer {token}")
