"""Answers of providers in their own shapes, written here; the numbers are made up."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from planner.sources import SourceSpec, open_source

NOW = datetime(2026, 3, 4, 12, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
HALF = timedelta(minutes=30)
QUARTER = timedelta(minutes=15)
FIVE = timedelta(minutes=5)
EM_STEPS = {HOUR: "hourly", QUARTER: "15_minutes", FIVE: "5_minutes"}
KEYS = {
    "GRIDPACE_EIA_KEY": "eia-tops3cret",
    "GRIDPACE_ELECTRICITY_MAPS_KEY": "em-tops3cret",
    "GRIDPACE_ENTSOE_KEY": "entsoe-tops3cret",
    "GRIDPACE_WATTTIME_KEY": "me:wt-tops3cret",
}


def opened(provider, cache=None, *, now=NOW, offline=False, **options):
    return open_source(SourceSpec(provider, options), cache=cache, offline=offline, clock=lambda: now)


def times(first, last, step):
    while first < last:
        yield first
        first += step


def asked(request):
    """The parameters of a request, one value each."""
    return {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}


def serving(mock, url, build):
    """Answer every request to `url` by `build(parameters)`: a payload, text, or (status, payload)."""

    def reply(request):
        made = build(asked(request))
        status, payload = made if isinstance(made, tuple) else (200, made)
        return status, {}, payload if isinstance(payload, (str, bytes)) else json.dumps(payload)

    mock.add_callback("GET", url, reply)


def moment(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if "+" not in text else datetime.fromisoformat(text)


# --- Energy-Charts ----------------------------------------------------------------------------------------------------


def price_answer(first, last, step=QUARTER, value=lambda t: 50.0 + t.hour, **changes):
    stamps = list(times(first, last, step))
    return {
        "license_info": "CC BY 4.0 from Bundesnetzagentur | SMARD.de",
        "unix_seconds": [int(t.timestamp()) for t in stamps],
        "price": [value(t) for t in stamps],
        "unit": "EUR / MWh",
        "deprecated": False,
        **changes,
    }


def power_answer(first, last, step=QUARTER, **types):
    """`types`: name with _ for a space -> MW, or a function of time."""
    stamps = list(times(first, last, step))
    given = types or {"Fossil_gas": 300.0, "Wind_onshore": 700.0}
    return {
        "unix_seconds": [int(t.timestamp()) for t in stamps],
        "production_types": [
            {"name": name.replace("_", " "), "data": [mw(t) if callable(mw) else mw for t in stamps]}
            for name, mw in given.items()
        ],
        "deprecated": False,
    }


# --- EIA --------------------------------------------------------------------------------------------------------------


def eia_answer(first, last, zone="CISO", fuels=None, **changes):
    """Rows of the hours of [first, last), stamped with their ends."""
    rows = [
        {
            "period": (t + HOUR).strftime("%Y-%m-%dT%H"),
            "respondent": zone,
            "respondent-name": "made up",
            "fueltype": fuel,
            "type-name": fuel,
            "value": value(t) if callable(value) else value,
            "value-units": "megawatthours",
        }
        for t in times(first, last, HOUR)
        for fuel, value in (fuels or {"NG": "250", "SUN": "750"}).items()
    ]
    response = {"total": str(len(rows)), "dateFormat": 'YYYY-MM-DD"T"HH24', "frequency": "hourly", "data": rows}
    return {"response": {**response, **changes}, "apiVersion": "2.1.8"}


# --- Electricity Maps -------------------------------------------------------------------------------------------------


def em_past(first, last, zone="DE", basis="direct", value=lambda t: 200 + t.hour, step=HOUR, **entry):
    rows = [
        {
            "zone": zone,
            "carbonIntensity": value(t),
            "datetime": t.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "updatedAt": t.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "emissionFactorType": basis,
            "isEstimated": t.hour == 3,
            "estimationMethod": "TIME_SLICER_AVERAGE" if t.hour == 3 else None,
            **entry,
        }
        for t in times(first, last, step)
    ]
    return {"zone": zone, "data": rows}


def em_ahead(first, hours=72, zone="DE", value=lambda t: 300 + t.hour, step=HOUR, **changes):
    """The provider gives one point more than were asked for."""
    rows = [
        {"carbonIntensity": value(t), "datetime": t.strftime("%Y-%m-%dT%H:%M:%S.000Z")}
        for t in times(first, first + hours * HOUR + step, step)
    ]
    return {"zone": zone, "forecast": rows, "updatedAt": "2026-03-04T12:05:00.000Z", **changes}


def em_prices(first, last, step=HOUR, zone="DE", value=lambda t: 40.0 + t.hour, unit="EUR/MWh", **entry):
    form = "%Y-%m-%dT%H:%M:%S.000Z"
    rows = [
        {
            "zone": zone,
            "datetime": t.strftime(form),
            "createdAt": first.strftime(form),
            "updatedAt": first.strftime(form),
            "value": value(t),
            "unit": unit(t) if callable(unit) else unit,
            "source": "exchange.example",
            **{key: one(t) if callable(one) else one for key, one in entry.items()},
        }
        for t in times(first, last, step)
    ]
    return {"zone": zone, "temporalGranularity": EM_STEPS[step], "data": rows}


# --- WattTime ---------------------------------------------------------------------------------------------------------


def moer_answer(first, last, region="CAISO_NORTH", value=lambda t: 800 + t.hour, **meta):
    told = {
        "data_point_period_seconds": 300,
        "region": region,
        "signal_type": "co2_moer",
        "model": {"date": "2023-03-01"},
        "units": "lbs_co2_per_mwh",
        "generated_at": "2026-03-04T12:05:00+00:00",
        "generated_at_period_seconds": 300,
        "warnings": [],
        **meta,
    }
    rows = [{"point_time": t.isoformat(), "value": value(t)} for t in times(first, last, FIVE)]
    return {"data": rows, "meta": told}


# --- ENTSO-E ----------------------------------------------------------------------------------------------------------


def entsoe_series(
    first, last, points, step="PT60M", curve="A01", psr="", consumed=False, sequence="", contract="", unit="MAW"
):
    """`points`: position -> value, or a list of values from position 1 on."""
    given = dict(enumerate(points, 1)) if isinstance(points, list) else points
    value_tag = "price.amount" if "/" in unit else "quantity"
    body = "".join(
        f"<Point><position>{position}</position><{value_tag}>{value}</{value_tag}></Point>"
        for position, value in given.items()
    )
    currency, _, of = unit.partition("/")
    told = (
        f"<currency_Unit.name>{currency}</currency_Unit.name><price_Measure_Unit.name>{of}</price_Measure_Unit.name>"
        if of
        else f"<quantity_Measure_Unit.name>{unit}</quantity_Measure_Unit.name>"
    )
    zone = "out" if consumed else "in"
    if not of:
        told = f"<{zone}BiddingZone_Domain.mRID>10Y</{zone}BiddingZone_Domain.mRID>{told}"
    if sequence:
        name = "classificationSequence_AttributeInstanceComponent.position"
        told += f"<{name}>{sequence}</{name}>"
    if contract:
        told += f"<contract_MarketAgreement.type>{contract}</contract_MarketAgreement.type>"
    if psr:
        told += f"<MktPSRType><psrType>{psr}</psrType></MktPSRType>"
    form = "%Y-%m-%dT%H:%MZ"
    return (
        f"<TimeSeries><mRID>1</mRID>{told}<curveType>{curve}</curveType><Period><timeInterval>"
        f"<start>{first:{form}}</start><end>{last:{form}}</end></timeInterval><resolution>{step}</resolution>"
        f"{body}</Period></TimeSeries>"
    )


def entsoe_document(*series, kind="GL_MarketDocument"):
    head = f'<?xml version="1.0" encoding="UTF-8"?><{kind} xmlns="urn:iec62325.351:tc57wg16:x:1:0">'
    return f"{head}{''.join(series)}</{kind}>"


def acknowledgement(text="No matching data found for Data item [x].", code="999"):
    return entsoe_document(
        f"<Reason><code>{code}</code><text>{text}</text></Reason>", kind="Acknowledgement_MarketDocument"
    )
