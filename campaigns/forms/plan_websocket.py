"""A WebSocket exchange in the form of a plan: what it has in place of HTTP steps."""

from dataclasses import asdict
from typing import Any

from django import forms

from campaigns.domain.plan.exchange import ExchangeMode, Verify
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.step import Step
from campaigns.forms.numbers import number, number_field, typed
from campaigns.forms.requests import area, read_headers, text_widget, write_headers

HTTP, WEBSOCKET = "http", "websocket"
PROTOCOLS = [(HTTP, "HTTP requests"), (WEBSOCKET, "WebSocket")]
MODES = [
    (ExchangeMode.ECHO_SYNC, "Wait for each echo"),
    (ExchangeMode.ECHO_ASYNC, "Send on, match the echoes"),
    (ExchangeMode.SEND_ONLY, "Send only"),
]
VERIFY = [(Verify.EXACT, "Every byte"), (Verify.LENGTH, "The length")]
KINDS = [("text", "Text"), ("binary", "Binary")]
_NUMBERS = ("messages", "size_bytes", "rate_per_s", "close_code", "close_timeout_s")
# What an HTTP plan has and a WebSocket plan has not.
_OF_HTTP = ("order", "session", "http_version")
_BLANK_STEP = asdict(Step("", "GET", "/"))


def _choice(label: str, choices: list[tuple[str, str]], initial: str, help_text: str = ""):
    return forms.ChoiceField(
        choices=choices,
        initial=initial,
        required=False,
        widget=forms.RadioSelect,
        label=label,
        help_text=help_text,
    )


class ExchangeFields(forms.Form):
    """Its fields are called ws_…; `protocol` says whether they count."""

    protocol = _choice(
        "Protocol",
        PROTOCOLS,
        HTTP,
        "WebSocket plans run on ws and wss endpoints, HTTP plans on http and https.",
    )
    ws_path = forms.CharField(
        label="Path", initial="/", required=False, max_length=8000, widget=text_widget("input-wide")
    )
    ws_headers = forms.CharField(
        label="Headers",
        required=False,
        widget=area(3, placeholder="Origin: https://shop.example"),
        help_text="One a line, beside those of the handshake.",
    )
    ws_subprotocols = forms.CharField(
        label="Subprotocols",
        required=False,
        widget=text_widget("input-medium"),
        help_text="Offered in this order, separated by spaces, such as graphql-ws. Often none.",
    )
    ws_messages = number_field(
        "Messages", "0", "On each connection. 0: only the opening and the closing handshake."
    )
    ws_size_bytes = number_field("Message size", "64", "At most 1 MiB.")
    ws_kind = _choice("Message type", KINDS, "text")
    ws_mode = _choice("Echoes", MODES, ExchangeMode.ECHO_SYNC)
    ws_rate_per_s = number_field(
        "Message rate",
        "",
        "On each connection. Empty: as soon as the mode allows. With a rate, the round trip "
        "counts from when a message is due.",
    )
    ws_verify = _choice("Compare echoes by", VERIFY, Verify.EXACT)
    ws_close_code = number_field("Close code", "1000", "1000, 1001, or 3000 to 4999.")
    ws_close_timeout_s = number_field(
        "Close within", "5", "From our close frame to the end of the connection."
    )

    @property
    def is_exchange(self) -> bool:
        return self.cleaned_data.get("protocol") == WEBSOCKET

    def take_errors(self, errors: dict[str, str]) -> None:
        """The domain's exchange.size_bytes is the form's ws_size_bytes."""
        others = {}
        for path, sentence in errors.items():
            head, _, name = path.partition(".")
            field = {"binary": "ws_kind"}.get(name, f"ws_{name}")
            if head == "exchange" and field in self.fields:
                self.add_error(field, sentence)
            else:
                others[path] = sentence
        super().take_errors(others)

    def exchange(self) -> dict[str, Any]:
        data = self.cleaned_data
        return {
            "path": data["ws_path"] or "/",
            "headers": read_headers(data["ws_headers"]),
            "subprotocols": data["ws_subprotocols"].replace(",", " ").split(),
            "binary": data["ws_kind"] == "binary",
            "mode": data["ws_mode"] or ExchangeMode.ECHO_SYNC,
            "verify": data["ws_verify"] or Verify.EXACT,
            **{name: number(data[f"ws_{name}"]) for name in _NUMBERS},
        }

    def as_exchange(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The plan's JSON with the exchange in place of what is only of HTTP."""
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
    named = typed(exchange, _NUMBERS)
    return {
        "protocol": WEBSOCKET,
        "ws_path": exchange["path"],
        "ws_headers": write_headers(exchange["headers"]),
        "ws_subprotocols": " ".join(exchange["subprotocols"]),
        "ws_kind": "binary" if exchange["binary"] else "text",
        "ws_mode": exchange["mode"],
        "ws_verify": exchange["verify"],
        **{f"ws_{name}": value for name, value in named.items()},
    }


def with_a_step(spec: dict[str, Any]) -> dict[str, Any]:
    """The plan with a blank step where it has none, for the fields of HTTP to show."""
    return spec if spec["steps"] else {**spec, "steps": [_BLANK_STEP]}
