"""The WebSocket exchange in the plan form, which replaces HTTP steps."""

from dataclasses import asdict
from typing import Any

from django import forms

from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.step import Step
from campaigns.forms.plan_fields import FormPart, form_choice
from campaigns.forms.requests import area, read_headers, text_widget, write_headers

EXCHANGE = FormPart(Exchange, "exchange", "ws_", names={"binary": "ws_kind"})
HTTP, WEBSOCKET = "http", "websocket"
PROTOCOLS = [(HTTP, "HTTP requests"), (WEBSOCKET, "WebSocket")]
KINDS = [("text", "Text"), ("binary", "Binary")]
# What only HTTP plans have.
_OF_HTTP = {"order"} | {name for name, row in fields_of(Plan).items() if row.http_only}
_BLANK_STEP = asdict(Step("", "GET", "/"))


class ExchangeFields(EXCHANGE.form()):
    """Its fields are named ws_…; used only if `protocol` is WebSocket."""

    protocol = form_choice(
        "Protocol",
        PROTOCOLS,
        "WebSocket plans run on ws and wss endpoints, HTTP plans on http and https.",
    )
    ws_kind = form_choice("Message type", KINDS)
    ws_path = EXCHANGE.field("path", text_widget("input-wide"))
    ws_headers = EXCHANGE.field("headers", area(3, placeholder="Origin: https://shop.example"))
    ws_subprotocols = EXCHANGE.field("subprotocols", text_widget("input-medium"))

    @property
    def exchange_rows(self) -> list[forms.BoundField]:
        """What is always in sight; the registry's groups are further down the page."""
        rows = fields_of(Exchange)
        names = [name for name in rows if not rows[name].group]
        return [self[EXCHANGE.form_name(name)] for name in names]

    @property
    def is_exchange(self) -> bool:
        return self.cleaned_data.get("protocol") == WEBSOCKET

    def exchange(self) -> dict[str, Any]:
        data = self.cleaned_data
        return {
            **EXCHANGE.values(data),
            "path": data["ws_path"] or "/",
            "headers": read_headers(data["ws_headers"]),
            "subprotocols": data["ws_subprotocols"].replace(",", " ").split(),
            "binary": data["ws_kind"] == "binary",
        }

    def as_exchange(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The plan's JSON with the exchange instead of the HTTP parts."""
        kept = {name: value for name, value in spec.items() if name not in _OF_HTTP}
        mode = spec["connection_mode"]
        if mode == ConnectionMode.KEEP_ALIVE:
            mode = ConnectionMode.NEW
        return {**kept, "steps": [], "connection_mode": mode, "exchange": self.exchange()}


def initial_exchange(spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored plan of either kind."""
    exchange = spec.get("exchange")
    if not exchange:
        return {"protocol": HTTP}
    return {
        **EXCHANGE.initial(exchange),
        "protocol": WEBSOCKET,
        "ws_headers": write_headers(exchange["headers"]),
        "ws_subprotocols": " ".join(exchange["subprotocols"]),
        "ws_kind": "binary" if exchange["binary"] else "text",
    }


def with_a_step(spec: dict[str, Any]) -> dict[str, Any]:
    """The plan, with a blank step for the HTTP fields if it has none."""
    return spec if spec["steps"] else {**spec, "steps": [_BLANK_STEP]}
