"""The steps in the plan form: the first has plain field names, the k-th the prefix stepK_. Pages
add, remove and move steps by moving values between these fields. Further steps with an empty path
are left out, so that steps can be removed without a script too. Variables in the plan form: a
table, and extracts from replies as lines of text. The WebSocket exchange in the plan form, which
replaces HTTP steps."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from django import forms

from campaigns.domain.plan.body import Blob
from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.reply_rules import Extract, ReplyCheck, parse_check, parse_extract
from campaigns.domain.plan.step import (
    MAX_STEPS,
    METHODS,
    Step,
    default_label,
)
from campaigns.domain.plan.step_order import OrderKind, StepOrder
from campaigns.domain.plan.variables import Variables
from campaigns.domain.units import counted
from campaigns.forms.bodies import (
    FILE,
    TEXT,
    TypedBody,
    body_fields,
    body_words,
    initial_body,
    read_body,
)
from campaigns.forms.plan_fields import FormPart, form_choice
from campaigns.forms.requests import (
    MOST_CHARACTERS,
    RequestFields,
    area,
    number,
    other_method,
    read_headers,
    text_widget,
    write_headers,
)

VARIABLES = FormPart(Variables, "variables", names={"order": "row_order"})


class VariableFields(VARIABLES.form()):
    csv = VARIABLES.field("csv", area(5, placeholder="user,page\nann,/a\nbob,/b"), strip=False)

    generators = VARIABLES.field("generators", area(3, placeholder="id = uuid\nn = counter 1"))

    def variables(self) -> dict[str, Any]:
        values = VARIABLES.values(self.cleaned_data, ("csv", "order", "generators"))
        return {**values, "csv": values["csv"].replace("\r\n", "\n")}

    def take_errors(self, errors: dict[str, str]) -> None:
        """Attach an error of any line to the one text field."""
        lines = "variables.generators."
        super().take_errors(
            {
                "variables.generators" if path.startswith(lines) else path: sentence
                for path, sentence in errors.items()
            }
        )


def _rules(text: str, parse: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    """One per line; the domain refuses those that cannot be read."""
    return [parse(line) for line in text.splitlines() if line.strip()]


def _lines(rules: Iterable[ReplyCheck | Extract]) -> str:
    return "\n".join(rule.line for rule in rules)


ORDER = FormPart(StepOrder, "order", names={"kind": "order_kind"})
ORDER_WORDS = {
    OrderKind.ROUND_ROBIN: "Request 1 sends step 1, request 2 step 2, and so on.",
    OrderKind.BLOCKS: "Many requests of step 1, then as many of step 2: file sets one by one.",
    OrderKind.RANDOM: "Every step equally often, drawn by the campaign's recorded seed.",
    OrderKind.WEIGHTED: "Drawn by the recorded seed; a step of weight 3 three times as often as "
    "one of weight 1.",
}
_EXAMPLE = 'token = body: name="csrf" value="([^"]+)"'
_BLANK = "step0_"
_KIND_OF_BODY = re.compile(r"^content-type:.*\b(json|xml|html)\b", re.IGNORECASE | re.MULTILINE)
_STEP_FIELDS = (
    *("label", "method", "other_method", "path", "headers", "body_kind", "body", "kept"),
    *("checks", "extract", "weight", "flow", "share"),
)

# Under the request line.
_IN_MORE = ("other_method", "label", "headers", "body", "checks", "extract")


@dataclass(frozen=True, slots=True)
class StepBlock:
    """A step for the templates: how its `texts` begin as they are typed, and the bound fields, both
    by name: label, method, path … `n_body_bytes` may be all that is known of a body."""

    number: int
    prefix: str
    texts: dict[str, str]
    n_body_bytes: int
    fields: dict[str, Any]

    @property
    def more_has_errors(self) -> bool:
        """Whether a field under the request line has an error to see."""
        return any(self.fields[name].errors for name in _IN_MORE)

    @property
    def more_words(self) -> str:
        """What is set under the request line: "2 headers, XML body of 412 bytes"; "" if nothing."""
        headers, checks, extracts = (
            sum(bool(line.strip()) for line in self.texts[name].splitlines())
            for name in ("headers", "checks", "extract")
        )
        said = (
            f"named {self.texts['label']}" if self.texts["label"] else "",
            f"method {self.texts['other_method']}" if self.texts["other_method"] else "",
            counted(headers, "headers") if headers else "",
            self._body_words(),
            counted(checks, "checks") if checks else "",
            f"{counted(extracts, 'values')} taken from the reply" if extracts else "",
        )
        return ", ".join(filter(None, said))

    def _body_words(self) -> str:
        kind = self.texts["body_kind"] or TEXT
        if kind == TEXT:
            return _body_words(self.n_body_bytes, self.texts["headers"])
        return body_words(kind, self.n_body_bytes, self.texts["kept"])

    @property
    def request(self) -> str:
        """POST /orders; "" for a further step that is left out because it has no path."""
        path = self.texts["path"]
        method = self.texts["other_method"] or self.texts["method"] or METHODS[0]
        return f"{method} {path}" if path else ""


def _body_words(n_bytes: int, headers: str) -> str:
    """JSON body of 120 bytes; its kind is what Content-Type says. "" without a body."""
    if not n_bytes:
        return ""
    kind = _KIND_OF_BODY.search(headers)
    named = f"{kind.group(1).upper()} " if kind else ""
    return f"{named}body of {counted(n_bytes, 'bytes')}"


def step_fields() -> dict[str, forms.Field]:
    """The fields of one further step; the domain rejects missing ones."""
    return {
        "label": forms.CharField(
            label="Step name", required=False, max_length=100, widget=text_widget("input-name")
        ),
        "method": forms.ChoiceField(
            label="Method",
            choices=[(each, each) for each in METHODS],
            initial="GET",
            widget=forms.Select({"aria-label": "Method"}),
        ),
        "other_method": other_method(),
        "path": forms.CharField(
            label="Path", required=False, max_length=8000, widget=text_widget("input-wide")
        ),
        "headers": forms.CharField(
            label="Headers", required=False, max_length=MOST_CHARACTERS, widget=area(2)
        ),
        **body_fields(),
        "checks": forms.CharField(
            label="Check the reply",
            required=False,
            max_length=MOST_CHARACTERS,
            widget=area(2, placeholder="text: Welcome"),
        ),
        "extract": forms.CharField(
            label="Take from the reply",
            required=False,
            max_length=MOST_CHARACTERS,
            widget=area(2, placeholder=_EXAMPLE),
        ),
        "weight": forms.CharField(
            label="Weight",
            required=False,
            initial="1",
            max_length=MOST_CHARACTERS,
            widget=text_widget("", inputmode="decimal"),
        ),
        "flow": forms.CharField(
            label="Flow begins",
            required=False,
            max_length=MOST_CHARACTERS,
            widget=text_widget(""),
        ),
        "share": forms.CharField(
            label="Share",
            required=False,
            max_length=MOST_CHARACTERS,
            widget=text_widget("", inputmode="decimal", **{"aria-label": "Share"}),
        ),
    }


def prefix_of(index: int) -> str:
    return f"step{index + 1}_" if index else ""


class StepsFields(ORDER.form(), RequestFields):
    """`RequestFields` is the first step; `n_steps` determines how many follow."""

    n_steps = forms.IntegerField(required=False, initial=1, widget=forms.HiddenInput)
    label = forms.CharField(
        label="Step name", required=False, max_length=100, widget=text_widget("input-name")
    )
    checks = step_fields()["checks"]
    extract = step_fields()["extract"]
    weight, flow, share = (step_fields()[name] for name in ("weight", "flow", "share"))
    # Where a page sends no files, none can be missing.
    takes_files = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._indices: list[int] = []
        self._bodies: dict[str, TypedBody] = {}
        self.fields |= {name: made for name, made in body_fields().items() if name != "body"}
        for index in range(1, self.step_count):
            self._add_step(prefix_of(index))

    @property
    def uploads(self) -> list[Blob]:
        """The files that came with the form."""
        return [blob for typed in self._bodies.values() for blob in typed.blobs]

    def take_bodies(self) -> None:
        """Read the bodies and their files, so that errors in other fields keep them."""
        self.data = self.data.copy()
        for prefix in map(prefix_of, range(self.step_count)):
            given = {name: self.cleaned_data.get(prefix + name) or "" for name in body_fields()}
            uploads = self.files.getlist(f"{prefix}files") if self.files else ()
            typed = read_body(given["body_kind"], given["body"], given["kept"], uploads)
            self._bodies[prefix] = typed
            if typed.fault and self.takes_files:
                self.add_error(f"{prefix}body", typed.fault)
            self.data[f"{prefix}body"] = typed.text
            self.data[f"{prefix}kept"] = json.dumps(typed.kept) if typed.kept else ""
            if "body_file" in typed.json:
                self.data[f"{prefix}body_kind"] = FILE

    @property
    def order_rows(self) -> list[forms.BoundField]:
        """All but kind and weights, which are shown with the steps."""
        elsewhere = {"order_kind", "weights"}
        return [self[name] for name in ORDER.names_on_form() if name not in elsewhere]

    @property
    def step_count(self) -> int:
        given = self.data.get("n_steps") if self.is_bound else self.initial.get("n_steps")
        try:
            return max(1, min(MAX_STEPS, int(given or 1)))
        except ValueError:
            return 1

    def _add_step(self, prefix: str) -> None:
        for name, made in step_fields().items():
            self.fields[prefix + name] = made

    @property
    def step_blocks(self) -> list[StepBlock]:
        return [self._block(index + 1, prefix_of(index)) for index in range(self.step_count)]

    @property
    def blank_step(self) -> StepBlock:
        """The block that the page copies to add a step."""
        return BlankStep().block

    @property
    def further_steps_words(self) -> str:
        """3 more steps: GET /a, POST /b, GET /c; "" without further steps."""
        requests = [block.request for block in self.step_blocks[1:] if block.request]
        if not requests:
            return ""
        return f"{counted(len(requests), 'more steps')}: {', '.join(requests)}"

    @property
    def further_step_names(self) -> list[str]:
        """The fields that are shown with the further steps; a weight is one, the first too."""
        prefixes = [prefix_of(index) for index in range(1, self.step_count)]
        return ["weight", *(prefix + name for prefix in prefixes for name in _STEP_FIELDS)]

    def _block(self, number_: int, prefix: str) -> StepBlock:
        names = {name: prefix + name for name in _STEP_FIELDS}
        texts = {name: self._typed(of_form, MOST_CHARACTERS) for name, of_form in names.items()}
        return StepBlock(
            number_,
            prefix,
            {name: text.strip() for name, text in texts.items()},
            self.bytes_of(prefix + "body", prefix + "size"),
            {name: self[of_form] for name, of_form in names.items() if of_form in self.fields},
        )

    def bytes_of(self, name: str, size_name: str) -> int:
        """Of a text, or as a page says that sends the preview no more than its size."""
        size = self._typed(size_name)
        is_size = size.isdecimal() and len(size) < 10
        return int(size) if is_size else len(self._typed(name).encode())

    def _typed(self, name: str, most: int | None = None) -> str:
        values = self.data if self.is_bound else self.initial
        return str(values.get(name) or "")[:most].replace("\r\n", "\n")

    def steps(self) -> list[dict[str, Any]]:
        """The steps in the plan's JSON form."""
        data = self.cleaned_data
        self._indices = [
            index
            for index in range(self.step_count)
            if not index or data.get(f"{prefix_of(index)}path")
        ]
        return [self._step_at(prefix_of(index)) for index in self._indices]

    def _step_at(self, prefix: str) -> dict[str, Any]:
        data = self.cleaned_data
        return {
            "label": data[f"{prefix}label"],
            "method": data[f"{prefix}other_method"] or data[f"{prefix}method"],
            "path": data[f"{prefix}path"] or "/",
            "headers": read_headers(data[f"{prefix}headers"]),
            **self._bodies[prefix].json,
            "checks": _rules(data[f"{prefix}checks"], parse_check),
            "extract": _rules(data[f"{prefix}extract"], parse_extract),
        }

    def order(self) -> dict[str, Any]:
        """The plan's order; call after `steps`, which determines the steps in use."""
        data = self.cleaned_data
        kind = data["order_kind"] or OrderKind.ROUND_ROBIN
        order = {"kind": kind, **ORDER.values(data, ORDER.uses(kind))}
        if kind == OrderKind.WEIGHTED:
            weights = [data[f"{prefix_of(index)}weight"] for index in self._indices]
            order["weights"] = [number(weight) for weight in weights]
        return order

    def take_errors(self, errors: dict[str, str]) -> None:
        super().take_errors({self._place(path): text for path, text in errors.items()})

    def _place(self, path: str) -> str:
        """steps.2.path → step3_path if no step was left out; order.weights.2 → step3_weight."""
        match path.split("."):
            case ["order", "weights"]:
                return "order_kind"
            case ["order", "weights", index]:
                name = f"{self._prefix(index)}weight"
            case ["steps", index, "method"] if self._typed(f"{self._prefix(index)}other_method"):
                name = f"{self._prefix(index)}other_method"
            case ["steps", index, "body_file" | "form" | "multipart", *_]:
                name = f"{self._prefix(index)}body"
            case ["steps", index, field, *_]:
                name = f"{self._prefix(index)}{field}"
            case _:
                return path
        return name if name in self.fields else path

    def _prefix(self, index: str) -> str:
        return prefix_of(self._indices[int(index)])


class BlankStep(StepsFields):
    def __init__(self):
        super().__init__()
        self._add_step(_BLANK)

    @property
    def block(self) -> StepBlock:
        return self._block(0, _BLANK)


def initial_steps(spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for the steps of a stored plan and their order."""
    order = spec["order"]
    used = {"kind": order["kind"], **{name: order[name] for name in ORDER.uses(order["kind"])}}
    values: dict[str, Any] = {"n_steps": len(spec["steps"]), **ORDER.initial(used)}
    for index, step in enumerate(spec["steps"]):
        weight = order["weights"][index] if order["weights"] else 1
        values |= {
            prefix_of(index) + name: value for name, value in _initial_step(step, weight).items()
        }
    return values


def _initial_step(step: dict[str, Any], weight: float) -> dict[str, Any]:
    # A label set by the user; a generated one (method and path) is regenerated.
    label = step.get("label", "")
    method, path = step.get("method", ""), step.get("path", "")
    return {
        "label": "" if label in (default_label(method, path), f"{method} {path}"[:100]) else label,
        **_initial_method(method),
        "path": step["path"],
        "headers": write_headers(step["headers"]),
        **initial_body(step),
        "checks": _lines(ReplyCheck.from_json(each) for each in step.get("checks", [])),
        "extract": _lines(Extract.from_json(each) for each in step["extract"]),
        "weight": f"{weight:g}",
    }


def _initial_method(method: str) -> dict[str, str]:
    return {"method": method} if method in METHODS else {"other_method": method}


EXCHANGE = FormPart(Exchange, "exchange", "ws_", names={"binary": "ws_kind"})
HTTP, WEBSOCKET = "http", "websocket"
PROTOCOLS = [(HTTP, "HTTP requests"), (WEBSOCKET, "WebSocket")]
_OWN_TEXT = '{"id": "${id}", "type": "ping"}'
_SCENARIO = """send: {"type": "connection_init"}
expect: json: $.type = connection_ack"""
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
    ws_texts = EXCHANGE.field("texts", area(3, placeholder=_OWN_TEXT))
    ws_reply = EXCHANGE.field("reply", text_widget("input-wide"))
    ws_scenario = EXCHANGE.field("scenario", area(4, placeholder=_SCENARIO))

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
            "texts": [line for line in data["ws_texts"].splitlines() if line.strip()],
            "scenario": [line for line in data["ws_scenario"].splitlines() if line.strip()],
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
        "ws_texts": "\n".join(exchange.get("texts", ())),
        "ws_scenario": "\n".join(exchange.get("scenario", ())),
        "ws_kind": "binary" if exchange["binary"] else "text",
    }


def with_a_step(spec: dict[str, Any]) -> dict[str, Any]:
    """The plan, with a blank step for the HTTP fields if it has none."""
    return spec if spec["steps"] else {**spec, "steps": [_BLANK_STEP]}
