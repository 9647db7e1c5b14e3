"""A plan's JSON as the API's schema shows it. domain.plan.Plan.from_json validates it. Scalar
fields come from the registry (domain.plan.fields); lists and objects are added here."""

from typing import Any

from rest_framework import serializers

from campaigns.domain.plan.body import MAX_NAME, MAX_PATTERN_LENGTH
from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.plan.flows import MAX_FLOW_NAME, MAX_SHARE
from campaigns.domain.plan.load import MAX_DURATION_S, MAX_RATE_PER_S, MAX_WEIGHT, Load
from campaigns.domain.plan.plan import Plan, Timeouts
from campaigns.domain.plan.reply_rules import CheckKind, Source
from campaigns.domain.plan.session import Auth, Session, ThinkTime
from campaigns.domain.plan.step import MAX_METHOD, MAX_STEPS, StepOrder
from campaigns.domain.plan.step import MAX_WEIGHT as MAX_STEP_WEIGHT
from campaigns.domain.plan.threshold import KINDS_IN_RULES, MAX_LIMIT
from campaigns.domain.plan.variables import (
    MAX_NUMBER,
    MAX_WORD,
    MAX_WORDS,
    Clock,
    GeneratorKind,
    Variables,
)
from campaigns.domain.typed_text import AMOUNTS, per_second_in, seconds_in
from campaigns.rest import fields

_NUMBERS = {int: serializers.IntegerField, float: serializers.FloatField}
_AMOUNTS = {seconds_in: fields.SecondsField, per_second_in: fields.PerSecondField}
_ABOVE_0 = {seconds_in: fields.AboveSecondsField, per_second_in: fields.RateField}


def _serializer_of(owner: type) -> type[serializers.Serializer]:
    """A serializer with a field for each scalar row of a dataclass."""
    rows = fields_of(owner).items()
    fields_by_name = {name: _field(row) for name, row in rows if row.kind is not None}
    return type(f"{owner.__name__}Rows", (fields.InputSerializer,), fields_by_name)


def _field(row: PlanField) -> serializers.Field:
    options: dict[str, Any] = {"help_text": row.help}
    options |= {"required": False} if row.default in (None, "") else {"default": row.default}
    if row.is_number:
        null = {"allow_null": True} if row.default is None else {}
        amount = AMOUNTS.get(row.unit)
        if row.positive:
            kind = _ABOVE_0.get(amount, fields.AboveField)
            return kind(**options, **null, max_value=row.high)
        kind = _AMOUNTS.get(amount, _NUMBERS[row.kind])
        return kind(**options, **null, min_value=row.low, max_value=row.high)
    if row.kind is bool:
        return serializers.BooleanField(**options)
    if row.is_choice:
        pairs = [(str(value), str(value)) for value in row.kind]
        return serializers.ChoiceField(choices=pairs, **options)
    return serializers.CharField(allow_blank=True, max_length=int(row.high), **options)


def _help(owner: type, name: str) -> str:
    return fields_of(owner)[name].help


def _texts(owner: type, name: str, **options: Any) -> serializers.ListField:
    child, words = serializers.CharField(), fields_of(owner)[name].help
    return serializers.ListField(child=child, required=False, help_text=words, **options)


class PairField(serializers.ListField):
    """A header: its name and its value, which may be empty."""

    def __init__(self, **options: Any):
        child = serializers.CharField(allow_blank=True)
        super().__init__(child=child, min_length=2, max_length=2, **options)


def pairs(help_text: str | None = "[name, value] pairs.") -> serializers.ListField:
    return serializers.ListField(child=PairField(), required=False, help_text=help_text)


class ExtractSerializer(fields.InputSerializer):
    """A value from a reply, for ${name} in later steps of the session."""

    name = serializers.CharField(max_length=64)
    header = fields.text("Its name, if `from` is header or cookie.")
    pattern = fields.text(
        "A regular expression with one group, searched in a header, a cookie or the "
        "first 64 KiB of a body; or a JSON path. Without one all of a header or cookie is taken."
    )
    may_miss = serializers.BooleanField(
        required=False, help_text="A reply without it is no failure. Default: false."
    )

    def get_fields(self):
        source = serializers.ChoiceField(choices=list(Source), default=Source.BODY)
        return {**super().get_fields(), "from": source}


class ReplyCheckSerializer(fields.InputSerializer):
    """What a reply must have; else the request has failed."""

    kind = serializers.ChoiceField(choices=list(CheckKind))
    value = serializers.CharField(
        max_length=MAX_PATTERN_LENGTH,
        help_text="Statuses and classes such as 200 3xx, a text, a pattern, or a JSON path.",
    )
    absent = serializers.BooleanField(required=False, help_text="It must not be in the reply.")
    equals = serializers.JSONField(
        required=False,
        allow_null=True,
        help_text="The value that must be at the JSON path: a text, a number, true, false or null.",
    )


class GeneratorSerializer(fields.InputSerializer):
    """A value that is made for each request, under its name."""

    name = serializers.CharField(max_length=64)
    kind = serializers.ChoiceField(choices=list(GeneratorKind))
    low = serializers.IntegerField(
        required=False,
        min_value=-MAX_NUMBER,
        max_value=MAX_NUMBER,
        help_text="A counter starts with it (1); an integer is at least that.",
    )
    high = serializers.IntegerField(
        required=False,
        min_value=-MAX_NUMBER,
        max_value=MAX_NUMBER,
        help_text="An integer is at most that.",
    )
    words = serializers.ListField(
        child=serializers.CharField(max_length=MAX_WORD, allow_blank=True),
        required=False,
        max_length=MAX_WORDS,
        help_text="A choice is one of them.",
    )
    clock = serializers.ChoiceField(
        choices=list(Clock), required=False, help_text="A time is s or ms since 1970, or ISO 8601."
    )


class VariablesSerializer(_serializer_of(Variables)):
    """${name} in a path, a header's value or a body is replaced by a value of a table's row, or by
    one that is made."""

    generators = GeneratorSerializer(
        many=True, required=False, help_text=_help(Variables, "generators")
    )


class FileField(serializers.JSONField):
    """Base64, or {"sha256", "size_bytes"} of a file that the project has already."""


class PartSerializer(fields.InputSerializer):
    """A field of a form: a value, or a file."""

    name = serializers.CharField(max_length=MAX_NAME, allow_blank=True)
    value = fields.text()
    file = FileField(required=False, help_text="As `body_file` of a step.")
    filename, content_type = fields.text(most=MAX_NAME), fields.text(most=MAX_NAME)


class StepSerializer(fields.InputSerializer):
    label = fields.text(most=100)
    method = serializers.CharField(
        default="GET", max_length=MAX_METHOD, help_text="Any token, such as PURGE; not CONNECT."
    )
    path = serializers.CharField(default="/", help_text="Begins with a slash; may have a query.")
    headers = pairs()
    body = fields.text()
    body_file = FileField(
        required=False,
        help_text="A body of any bytes in place of `body`, at most 8 MiB. A file above 4 KiB is "
        "stored once in the project and read back as its digest, which may be written again.",
    )
    form = pairs("[name, value] pairs, sent as application/x-www-form-urlencoded.")
    multipart = PartSerializer(
        many=True, required=False, help_text="Fields and files, sent as multipart/form-data."
    )
    extract = ExtractSerializer(many=True, required=False)
    checks = ReplyCheckSerializer(many=True, required=False)


class StageSerializer(fields.InputSerializer):
    duration_s = fields.AboveSecondsField(max_value=MAX_DURATION_S)
    from_per_s = fields.PerSecondField(min_value=0, max_value=MAX_RATE_PER_S)
    to_per_s = fields.PerSecondField(
        required=False,
        min_value=0,
        max_value=MAX_RATE_PER_S,
        help_text="Default: the rate stays the same.",
    )


class LoadSerializer(_serializer_of(Load)):
    """closed: connections; open: rate_per_s; over: requests, over_s; sequential: one connection;
    window: low, high."""

    stages = StageSerializer(many=True, required=False, help_text=_help(Load, "stages"))
    shares = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_WEIGHT),
        required=False,
        help_text=_help(Load, "shares"),
    )


class TimeoutsSerializer(_serializer_of(Timeouts)):
    """Time limits of one request."""


class OrderSerializer(_serializer_of(StepOrder)):
    """Which step request k of a run sends."""

    weights = serializers.ListField(
        child=serializers.FloatField(min_value=0, max_value=MAX_STEP_WEIGHT),
        required=False,
        help_text=_help(StepOrder, "weights"),
    )


class FlowSerializer(fields.InputSerializer):
    """A way of users through some of the steps, which follow those of the flow before."""

    name = serializers.CharField(max_length=MAX_FLOW_NAME)
    share = fields.AboveField(
        max_value=MAX_SHARE, help_text="Of the sessions, beside those of the other flows."
    )
    steps = serializers.IntegerField(
        min_value=1, max_value=MAX_STEPS, help_text="How many steps belong to it."
    )


class ThresholdSerializer(fields.InputSerializer):
    """A limit that a run must keep: the value must stay below it, a rate above it. Session metrics
    need an open load of sessions, or a closed load with calls_per_session."""

    metric = serializers.CharField(
        help_text="A percentile from p50 to p99.99, mean, max (after session_ or first_byte_ that "
        "of sessions, or of the wait for the first byte), errors, rate, sessions_failed, "
        "session_rate, target_cpu, target_memory or target_resent."
    )
    limit = serializers.FloatField(min_value=0, max_value=MAX_LIMIT)
    unit = fields.text("ms, us or s for times; % or nothing (a count) for errors; /s for rates.")
    kind = serializers.ChoiceField(
        choices=KINDS_IN_RULES, required=False, help_text="Of errors: only these."
    )
    step = serializers.IntegerField(
        required=False, min_value=0, help_text="Of this step alone, from 1."
    )
    flow = serializers.CharField(
        required=False, max_length=MAX_FLOW_NAME, help_text="Of this flow alone, by its name."
    )


class ThinkTimeSerializer(_serializer_of(ThinkTime)):
    """The pause between requests, or between bursts if the session has them. Never measured."""


class SessionSerializer(_serializer_of(Session)):
    """What each connection and each simulated user does."""

    think_time = ThinkTimeSerializer(required=False)


class AuthSerializer(_serializer_of(Auth)):
    """Credentials sent with every request. Their secret is beside `spec` and is never shown."""


class ExchangeSerializer(_serializer_of(Exchange)):
    """What a WebSocket plan does on each connection. Such a plan has no steps."""

    path = serializers.CharField(
        default="/",
        max_length=int(fields_of(Exchange)["path"].high),
        help_text=_help(Exchange, "path"),
    )
    headers = pairs("[name, value] pairs, in addition to those of the handshake.")
    subprotocols = serializers.ListField(child=serializers.CharField(), required=False)
    texts = _texts(Exchange, "texts")
    scenario = _texts(Exchange, "scenario")


class SpecSerializer(_serializer_of(Plan)):
    steps = StepSerializer(many=True, required=False)
    load = LoadSerializer()
    timeouts = TimeoutsSerializer(required=False)
    expected_status = _texts(Plan, "expected_status", allow_empty=False)
    order = OrderSerializer(required=False)
    flows = FlowSerializer(many=True, required=False, help_text=_help(Plan, "flows"))
    thresholds = ThresholdSerializer(many=True, required=False)
    session = SessionSerializer(required=False)
    auth = AuthSerializer(required=False)
    exchange = ExchangeSerializer(required=False, allow_null=True)
    variables = VariablesSerializer(required=False)
