"""Plans that are one click away: the classic measurements, each named by its question."""

from dataclasses import dataclass
from typing import Any

from campaigns.domain.plan import Plan

SOAP_BODY = """<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:s="urn:scope">
  <soapenv:Body>
    <s:addToScope>
      <s:scope>/example/production</s:scope>
      <s:serviceClass>Access</s:serviceClass>
      <s:serviceName>Catalogue</s:serviceName>
    </s:addToScope>
  </soapenv:Body>
</soapenv:Envelope>
"""
_SOAP_STEP = {
    "label": "add to scope",
    "method": "POST",
    "path": "/",
    "headers": [["Content-Type", "text/xml; charset=utf-8"], ["SOAPAction", '"addToScope"']],
    "body": SOAP_BODY,
}
_GET_STEP = {"method": "GET", "path": "/"}


@dataclass(frozen=True, slots=True)
class Preset:
    """`question` is what a person wants to know; `name` is the plan's, until it is changed."""

    key: str
    question: str
    summary: str
    name: str
    spec: dict[str, Any]


def _soap(key: str, question: str, requests: int, over_s: int) -> Preset:
    return Preset(
        key,
        question,
        f"{requests} SOAP requests spread over {over_s} s, each on a new connection",
        f"{requests} over {over_s} s",
        _spec(_SOAP_STEP, "new", model="over", requests=requests, over_s=over_s),
    )


def _spec(step: dict[str, Any], connection_mode: str, **load: Any) -> dict[str, Any]:
    spec = {"steps": [step], "load": load, "connection_mode": connection_mode}
    return Plan.from_json(spec).to_json()


PRESETS: dict[str, Preset] = {
    preset.key: preset
    for preset in (
        _soap("over-100", "What does HTTPS cost when the server has time?", 100, 100),
        _soap("over-10", "And what when requests come ten times faster?", 100, 10),
        _soap("over-5", "The same in 5 seconds, for a first look", 100, 5),
        _soap("over-1", "The same in 1 second, for a first look", 100, 1),
        Preset(
            "ab",
            "How fast with 50 at once?",
            "1,000 requests on 50 connections, each waiting for its reply: ab -n 1000 -c 50",
            "1,000 on 50 connections",
            _spec(_GET_STEP, "new", model="closed", connections=50, requests=1000),
        ),
        Preset(
            "httperf",
            "Does it keep up with 10 a second?",
            "100 requests at 10 a second, replies or not: httperf --num-conns 100 --rate 10",
            "100 at 10/s",
            _spec(_GET_STEP, "new", model="open", rate_per_s=10, requests=100),
        ),
        Preset(
            "smoke",
            "Does it work at all?",
            "20 requests one after another on one connection",
            "Smoke",
            _spec(_GET_STEP, "keep-alive", model="sequential", requests=20),
        ),
    )
}
