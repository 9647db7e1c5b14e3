"""The steps in the plan form: the first has plain field names, the k-th the prefix stepK_. Pages
add, remove and move steps by moving values between these fields, and the server does where no
script runs. Variables in the plan form: a
table, and extracts from replies as lines of text. The WebSocket exchange in the plan form, which
replaces HTTP steps."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from django import forms

from campaigns.core.forms import (
    FILE,
    MOST_CHARACTERS,
    TEXT,
    RequestFields,
    TypedBody,
    area,
    body_fields,
    body_words,
    initial_body,
    number,
    read_body,
    read_headers,
    request_line,
    text_field,
    text_widget,
    write_headers,
)
from campaigns.domain.plan.body import Blob
from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.reply_rules import Extract, ReplyCheck, parse_check, parse_extract
from campaigns.domain.plan.step import MAX_STEPS, METHODS, OrderKind, Step, StepOrder, default_label
from campaigns.domain.plan.typed_request import SAFE_METHODS
from campaigns.domain.plan.variables import Variables
from campaigns.domain.units import counted
from campaigns.plans.forms.plan_fields import FormPart, form_choice

VARIABLES = FormPart(Variables, "variables", names={"order": "row_order"})


class VariableFields(VARIABLES.form()):
    csv = VARIABLES.field("csv", area(5, placeholder="user,page\nann,/a\nbob,/b"), strip=False)

    generators = VARIABLES.field("generators", area(3, placeholder="id = uuid\nn = counter 1"))

    def variables(self) -> dict[str, Any]:
        values = VARIABLES.values(self.cleaned_data, ("csv", "order", "generators"))
        return {**values, "csv": values["csv"].replace("\r\n", "\n")}


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

_OF_STEP = re.compile(rf"(step\d+_)?({'|'.join((*_STEP_FIELDS, 'part'))})")
# The tabs under a step's request line: (title, the fields there, the one whose lines are counted).
STEP_PARTS = {
    "body": ("Body", ("body", "body_kind"), ""),
    "headers": ("Headers", ("headers",), "headers"),
    "extract": ("Save from response", ("extract",), "extract"),
    "checks": ("Success criteria", ("checks",), "checks"),
    "label": ("Name", ("label", "other_method"), ""),
}
MOST_OPEN = 8  # of more steps none is open at first


@dataclass(frozen=True, slots=True)
class StepBlock:
    """A step for the templates: how its `texts` begin as they are typed, and the bound fields, both
    by name: label, method, path … `n_body_bytes` may be all that is known of a body."""

    number: int
    prefix: str
    texts: dict[str, str]
    n_body_bytes: int
    fields: dict[str, Any]
    is_alone: bool = False  # no other step has an error
    n_steps: int = 1

    @property
    def has_errors(self) -> bool:
        return any(field.errors for field in self.fields.values())

    @property
    def is_open(self) -> bool:
        """One with an error, else the first of a few."""
        if not self.is_alone:
            return self.has_errors
        return self.number == 1 and self.n_steps <= MOST_OPEN

    @property
    def parts(self) -> list[tuple[str, str, int, bool]]:
        """(key, title, how many lines, whether it is in sight) of each tab."""
        faulty = (
            key
            for key, (_, names, _) in STEP_PARTS.items()
            if any(self.fields[name].errors for name in names)
        )
        usual = "body" if self.n_body_bytes or self.method not in SAFE_METHODS else "headers"
        part = next(faulty, self.texts["part"] or usual)
        return [
            (key, title, self._n_lines(counted_field) if counted_field else 0, key == part)
            for key, (title, _, counted_field) in STEP_PARTS.items()
        ]

    def _n_lines(self, name: str) -> int:
        return sum(bool(line.strip()) for line in self.texts[name].splitlines())

    @property
    def method(self) -> str:
        return self.texts["other_method"] or self.texts["method"] or METHODS[0]

    @property
    def words(self) -> str:
        """What is set beside the request line: 2 headers, XML body of 412 bytes."""
        headers, checks = self._n_lines("headers"), self._n_lines("checks")
        names = [line.partition("=")[0].strip(" ?") for line in self.texts["extract"].splitlines()]
        parts = (
            self.texts["label"],
            self._body_words(),
            counted(headers, "headers") if headers else "",
            counted(checks, "checks") if checks else "",
            f"saves {', '.join(filter(None, names))}" if any(names) else "",
        )
        return ", ".join(filter(None, parts))

    def _body_words(self) -> str:
        """JSON body of 120 bytes; its kind is what Content-Type says. "" without a body."""
        kind = self.texts["body_kind"] or TEXT
        if kind != TEXT:
            return body_words(kind, self.n_body_bytes, self.texts["kept"])
        if not self.n_body_bytes:
            return ""
        match = _KIND_OF_BODY.search(self.texts["headers"])
        noun = f"{match.group(1).upper()} body" if match else "body"
        return f"{noun} of {counted(self.n_body_bytes, 'bytes')}"


def step_fields() -> dict[str, forms.Field]:
    """The fields of one further step; the domain rejects missing ones."""
    amount = text_widget("", inputmode="decimal")
    return {
        "label": text_field("Step name", text_widget("input-name"), 100),
        **request_line(),
        "headers": text_field("Headers", area(2)),
        **body_fields(),
        "checks": text_field("Success criteria", area(2, placeholder="text: Welcome")),
        "extract": text_field("Save from response", area(2, placeholder=_EXAMPLE)),
        "weight": text_field("Weight", amount, initial="1"),
        "flow": text_field("Flow begins", text_widget("")),
        "share": text_field(
            "Share", text_widget("", inputmode="decimal", **{"aria-label": "Share"})
        ),
    }


def prefix_of(index: int) -> str:
    return f"step{index + 1}_" if index else ""


def rearranged(values: dict[str, Any], act: str) -> dict[str, Any]:
    """What was typed, after a button of the list of steps: add, up 2, down 2, copy 2, remove 2. The
    heading of a flow stays in its place: it is over the steps that come there."""
    names = (*_STEP_FIELDS, "part")
    n_steps = StepsFields(initial={"n_steps": values.get("n_steps")}).step_count
    steps = [{name: values.get(prefix_of(i) + name, "") for name in names} for i in range(n_steps)]
    headings = [(each["flow"], each["share"]) for each in steps]
    word, _, number_ = act.partition(" ")
    at = int(number_) - 1 if number_.isdecimal() else 0
    to = at + {"up": -1, "down": 1}.get(word, 0)
    if word == "add" and n_steps < MAX_STEPS:
        steps.append({"method": METHODS[0], "weight": "1"})
    elif word == "copy" and at < n_steps < MAX_STEPS:
        steps.insert(at + 1, steps[at] | {"flow": "", "share": ""})
    elif word == "remove" and at < n_steps > 1:
        (flow, _), step_in_hand = headings[at], steps.pop(at)
        if flow and at < len(steps) and not steps[at]["flow"]:
            steps[at] |= {"flow": step_in_hand["flow"], "share": step_in_hand["share"]}
    elif to != at and 0 <= to < n_steps and at < n_steps:
        steps[at], steps[to] = steps[to], steps[at]
        for each, (flow, share) in zip(steps, headings, strict=True):
            each |= {"flow": flow, "share": share}
    rest = {name: value for name, value in values.items() if not _OF_STEP.fullmatch(name)}
    for i, step in enumerate(steps):
        rest |= {prefix_of(i) + name: value for name, value in step.items()}
    return {**rest, "n_steps": len(steps)}


class StepsFields(ORDER.form(), RequestFields):
    """`RequestFields` is the first step; `n_steps` determines how many follow."""

    n_steps = forms.IntegerField(required=False, initial=1, widget=forms.HiddenInput)
    label, checks, extract, weight, flow, share = (
        step_fields()[name] for name in ("label", "checks", "extract", "weight", "flow", "share")
    )
    # Where a page sends no files, none can be missing.
    takes_files = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._bodies: dict[str, TypedBody] = {}
        self.fields |= {
            name: form_field for name, form_field in body_fields().items() if name != "body"
        }
        for index in range(1, self.step_count):
            self._add_step(prefix_of(index))

    @property
    def uploads(self) -> list[Blob]:
        """The files that came with the form."""
        return [blob for body in self._bodies.values() for blob in body.blobs]

    def check_paths(self) -> None:
        for prefix in map(prefix_of, range(self.step_count)):
            name = f"{prefix}path"
            if name in self.fields and name not in self.errors and not self.cleaned_data.get(name):
                self.add_error(name, "Enter a path, such as /prices, or remove the step.")

    def take_bodies(self) -> None:
        """Read the bodies and their files, so that errors in other fields keep them."""
        self.data = self.data.copy()
        for prefix in map(prefix_of, range(self.step_count)):
            values = {name: self.cleaned_data.get(prefix + name) or "" for name in body_fields()}
            uploads = self.files.getlist(f"{prefix}files") if self.files else ()
            body = read_body(values["body_kind"], values["body"], values["kept"], uploads)
            self._bodies[prefix] = body
            if body.fault and self.takes_files:
                self.add_error(f"{prefix}body", body.fault)
            self.data[f"{prefix}body"] = body.text
            self.data[f"{prefix}kept"] = json.dumps(body.kept) if body.kept else ""
            if "body_file" in body.json:
                self.data[f"{prefix}body_kind"] = FILE

    @property
    def step_count(self) -> int:
        count = self.data.get("n_steps") if self.is_bound else self.initial.get("n_steps")
        try:
            return max(1, min(MAX_STEPS, int(count or 1)))
        except ValueError:
            return 1

    def _add_step(self, prefix: str) -> None:
        for name, field in step_fields().items():
            self.fields[prefix + name] = field

    @property
    def step_blocks(self) -> list[StepBlock]:
        count = self.step_count
        blocks = [self._block(index + 1, prefix_of(index)) for index in range(count)]
        has_errors = any(block.has_errors for block in blocks)
        return [replace(each, is_alone=not has_errors, n_steps=count) for each in blocks]

    @property
    def blank_step(self) -> StepBlock:
        """The block that the page copies to add a step."""
        return BlankStep().block

    def _block(self, number_: int, prefix: str) -> StepBlock:
        names = {name: prefix + name for name in _STEP_FIELDS}
        values = {**names, "part": f"{prefix}part"}
        texts = {name: self._typed(of_form, MOST_CHARACTERS) for name, of_form in values.items()}
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
        if self.is_bound:
            value = self.data.get(name)
        else:
            value = self.initial.get(name) or getattr(self.fields.get(name), "initial", "")
        return str(value or "")[:most].replace("\r\n", "\n")

    def steps(self) -> list[dict[str, Any]]:
        """The steps in the plan's JSON form."""
        return [self._step_at(prefix_of(index)) for index in range(self.step_count)]

    def _step_at(self, prefix: str) -> dict[str, Any]:
        data = self.cleaned_data
        return {
            "label": data[f"{prefix}label"],
            "method": data[f"{prefix}other_method"] or data[f"{prefix}method"],
            "path": data[f"{prefix}path"],
            "headers": read_headers(data[f"{prefix}headers"]),
            **self._bodies[prefix].json,
            "checks": _rules(data[f"{prefix}checks"], parse_check),
            "extract": _rules(data[f"{prefix}extract"], parse_extract),
        }

    def order(self) -> dict[str, Any]:
        data = self.cleaned_data
        kind = data["order_kind"] or OrderKind.ROUND_ROBIN
        order = {"kind": kind, **ORDER.values(data, ORDER.uses(kind))}
        if kind == OrderKind.WEIGHTED:
            weights = [data[f"{prefix_of(index)}weight"] for index in range(self.step_count)]
            order["weights"] = [number(weight) for weight in weights]
        return order

    def take_errors(self, errors: dict[str, str]) -> None:
        super().take_errors({self._place(path): text for path, text in errors.items()})

    def _place(self, path: str) -> str:
        """steps.2.path → step3_path; order.weights.2 → step3_weight."""
        match path.split("."):
            case ["order", "weights"]:
                return "order_kind"
            case ["order", "weights", index]:
                name = f"{prefix_of(int(index))}weight"
            case ["steps", index, "method"] if self._typed(f"{prefix_of(int(index))}other_method"):
                name = f"{prefix_of(int(index))}other_method"
            case ["steps", index, "body_file" | "form" | "multipart", *_]:
                name = f"{prefix_of(int(index))}body"
            case ["steps", index, field, *_]:
                name = f"{prefix_of(int(index))}{field}"
            case _:
                return path
        return name if name in self.fields else path


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
    order_in_use = {
        "kind": order["kind"],
        **{name: order[name] for name in ORDER.uses(order["kind"])},
    }
    values: dict[str, Any] = {"n_steps": len(spec["steps"]), **ORDER.initial(order_in_use)}
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
        **({"method": method} if method in METHODS else {"other_method": method}),
        "path": step["path"],
        "headers": write_headers(step["headers"]),
        **initial_body(step),
        "checks": _lines(ReplyCheck.from_json(each) for each in step.get("checks", [])),
        "extract": _lines(Extract.from_json(each) for each in step["extract"]),
        "weight": f"{weight:g}",
    }


EXCHANGE = FormPart(Exchange, "exchange", "ws_", names={"binary": "ws_kind"})
HTTP, WEBSOCKET = "http", "websocket"
PROTOCOLS = [(HTTP, "HTTP requests"), (WEBSOCKET, "WebSocket")]
_OWN_TEXT = '{"id": "${id}", "type": "ping"}'
_SCENARIO = """send: {"type": "connection_init"}
expect: json: $.type = connection_ack"""
KINDS = [("text", "Text"), ("binary", "Binary")]
# What only HTTP plans have.
_OF_HTTP = {"order"} | {name for name, row in fields_of(Plan).items() if row.http_only}
BLANK_STEP = asdict(Step("", "GET", "/"))


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
        rest = {name: value for name, value in spec.items() if name not in _OF_HTTP}
        mode = spec["connection_mode"]
        if mode == ConnectionMode.KEEP_ALIVE:
            mode = ConnectionMode.NEW
        return {**rest, "steps": [], "connection_mode": mode, "exchange": self.exchange()}


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
