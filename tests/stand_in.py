"""Providers without a network: a proxy on the loopback that answers for their hosts, by a certificate of its own.

What is asked goes all of the program's own way to the network, TLS and proxy included; only the answers are made here,
for the time that is asked about.
"""

from __future__ import annotations

import json
import math
import ssl
import subprocess
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

HOSTS = (
    "api.carbonintensity.org.uk",
    "api.open-meteo.com",
    "archive-api.open-meteo.com",
    "historical-forecast-api.open-meteo.com",
)
UNITS = {
    "time": "iso8601",
    "temperature_2m": "°C",
    "relative_humidity_2m": "%",
    "wet_bulb_temperature_2m": "°C",
    "shortwave_radiation": "W/m²",
    "wind_speed_100m": "m/s",
}


@contextmanager
def providers(folder):
    """Serve the providers; yields the environment by which a process finds them."""
    certificate = _certificate(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Proxy)
    server.daemon_threads, server.asked = True, []
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(certificate, folder / "key.pem")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield {"HTTPS_PROXY": address, "https_proxy": address, "REQUESTS_CA_BUNDLE": str(certificate), "NO_PROXY": ""}
    finally:
        server.shutdown()
        server.server_close()


def _certificate(folder):
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    named = ("-subj", "/CN=stand-in", "-addext", f"subjectAltName={','.join(f'DNS:{host}' for host in HOSTS)}")
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem"))
    subprocess.run(["openssl", "req", "-x509", *curve, *named, *files], check=True, capture_output=True)
    return folder / "certificate.pem"


class _Proxy(BaseHTTPRequestHandler):
    def do_CONNECT(self):
        host = self.path.split(":")[0]
        if host not in HOSTS:
            self.send_error(502, "only the stand-ins can be reached")
            return
        self.send_response(200, "here")
        self.end_headers()
        with suppress(OSError), self.server.tls.wrap_socket(self.connection, server_side=True) as spoken:
            self.connection, self.rfile, self.wfile = spoken, spoken.makefile("rb"), spoken.makefile("wb")
            self.close_connection = True
            self.handle_one_request()
            self.wfile.flush()

    def do_GET(self):
        asked = urlsplit(self.path)
        read = carbon if asked.path.startswith("/intensity/") else weather
        body = json.dumps(read(asked, datetime.now(UTC))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def carbon(asked, now):
    """Half hours of a day that is cleanest at night, measured until now, in the shape of UK Carbon Intensity."""
    first, last = (datetime.strptime(t, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC) for t in asked.path.split("/")[2:4])
    half = timedelta(minutes=30)
    rows = []
    while first < last:
        value = round(170 - 60 * math.cos(2 * math.pi * (first.hour + first.minute / 60 - 3) / 24))
        said = {"forecast": value, "actual": value if first + half <= now else None, "index": "moderate"}
        rows.append({"from": f"{first:%Y-%m-%dT%H:%MZ}", "to": f"{first + half:%Y-%m-%dT%H:%MZ}", "intensity": said})
        first += half
    return {"data": rows}


def weather(asked, now):
    """Hours of mild days, in the shape of Open-Meteo."""
    query = {name: values[0] for name, values in parse_qs(asked.query).items()}
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if "start_date" in query:
        first, last = (datetime.fromisoformat(query[key]).replace(tzinfo=UTC) for key in ("start_date", "end_date"))
        last += timedelta(days=1)
    else:
        first = today - timedelta(days=int(query.get("past_days", 0)))
        last = today + timedelta(days=int(query["forecast_days"]))
    times = [first + timedelta(hours=i) for i in range((last - first) // timedelta(hours=1))]
    day = [math.cos(2 * math.pi * (t.hour - 12.5) / 24) for t in times]
    cells = {
        "temperature_2m": [round(9 + 4 * d, 1) for d in day],
        "relative_humidity_2m": [75.0 for _ in day],
        "wet_bulb_temperature_2m": [round(6.5 + 3 * d, 1) for d in day],
        "shortwave_radiation": [max(0.0, round(300 * d)) for d in day],
        "wind_speed_100m": [8.0 for _ in day],
    }
    wanted = query["hourly"].split(",")
    return {
        "latitude": float(query["latitude"]),
        "longitude": float(query["longitude"]),
        "utc_offset_seconds": 0,
        "elevation": 20.0,
        "hourly_units": {name: UNITS[name] for name in ("time", *wanted)},
        "hourly": {"time": [f"{t:%Y-%m-%dT%H:%M}" for t in times], **{name: cells[name] for name in wanted}},
    }
