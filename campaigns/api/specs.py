"""A plan's JSON as the API's description shows it. domain.plan.Plan.from_json checks the real one.

Names, choices and defaults come from there; a test compares the fields.
"""

from rest_framework import serializers

from campaigns.api.choices import CONNECTION_MODES, HTTP_VERSIONS, RESOLVES, ROW_ORDERS
from campaigns.domain.plan.exchange import ExchangeMode, Verify
from campaigns.domain.plan.load import ArrivalUnit, Distribution, Hold, Model, WhenSaturated
from campaigns.domain.plan.plan import ConnectionMode, HttpVersion, Resolve, Timeouts
from campaigns.domain.plan.session import (
    MAX_CONNECTIONS_PER_SESSION,
    MAX_PIPELINE_DEPTH,
    AuthKind,
    ThinkKind,
)
from campaigns.domain.plan.shards import MAX_WEIGHT
from campaigns.domain.plan.step import METHODS, Source
from campaigns.domain.plan.step_order import OrderKind
from campaigns.domain.plan.threshold import UNITS
from campaigns.domain.plan.variables import RowOrder

_STANDARD = Timeouts()


class ExtractSerializer(serializers.Serializer):
    """A value taken out of a reply, for ${name} in later steps of the session."""

    name = serializers.CharField(max_length=64)
    header = serializers.CharField(required=False, allow_blank=True, help_text="from header")
    pattern = serializers.CharField(
        help_text="One group, in the first 64 KiB of a body or in a header. No repeated groups."
    )

    def get_fields(self):
        source = serializers.ChoiceField(choices=list(Source), default=Source.BODY)
        return {**super().get_fields(), "from": source}


class VariablesSerializer(serializers.Serializer):
    """A table; ${name} in a path, a header's value or a body stands for a value of a row."""

    csv = serializers.CharField(
        required=False, allow_blank=True, help_text="The first row has the names."
    )
    order = serializers.ChoiceField(choices=ROW_ORDERS, default=RowOrder.SEQUENTIAL)


class StepSerializer(serializers.Serializer):
    label = serializers.CharField(required=False, max_length=100)
    method = serializers.ChoiceField(choices=METHODS, default="GET")
    path = serializers.CharField(default="/", help_text="Begins with a slash; with the query.")
    headers = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        required=False,
        help_text="Pairs of name and value.",
    )
    body = serializers.CharField(required=False, allow_blank=True)
    extract = ExtractSerializer(many=True, required=False)


class StageSerializer(serializers.Serializer):
    duration_s = serializers.FloatField()
    from_per_s = serializers.FloatField()
    to_per_s = serializers.FloatField(required=False, help_text="A step where it is left out.")


class LoadSerializer(serializers.Serializer):
    """closed: connections; open: rate_per_s; over: requests, over_s; sequential: one connection;
    window: low, high."""

    model = serializers.ChoiceField(choices=list(Model), default=Model.CLOSED)
    connections = serializers.IntegerField(required=False, allow_null=True)
    rate_per_s = serializers.FloatField(required=False, allow_null=True)
    requests = serializers.IntegerField(required=False, allow_null=True)
    over_s = serializers.FloatField(required=False, allow_null=True)
    duration_s = serializers.FloatField(required=False, allow_null=True)
    max_in_flight = serializers.IntegerField(default=10_000)
    ramp_up_s = serializers.FloatField(
        default=0.0, help_text="closed: connection i of N begins at i · ramp_up_s / N."
    )
    distribution = serializers.ChoiceField(
        choices=list(Distribution),
        default=Distribution.DETERMINISTIC,
        help_text="open: even, Poisson of the exact number, or gaps from uniform_min_s to "
        "uniform_max_s in place of the rate. The campaign's seed fixes them.",
    )
    uniform_min_s = serializers.FloatField(required=False, allow_null=True)
    uniform_max_s = serializers.FloatField(required=False, allow_null=True)
    when_saturated = serializers.ChoiceField(
        choices=list(WhenSaturated),
        default=WhenSaturated.QUEUE,
        help_text="What is due while max_in_flight are under way waits, or is dropped.",
    )
    stages = StageSerializer(
        many=True,
        required=False,
        help_text="open: rates that hold or change evenly, in place of rate_per_s and of an end.",
    )
    low = serializers.IntegerField(
        required=False, allow_null=True, help_text="window: with fewer being opened, refill."
    )
    high = serializers.IntegerField(
        required=False, allow_null=True, help_text="window: the most being opened at once."
    )
    hold = serializers.ChoiceField(
        choices=list(Hold), default=Hold.CLOSE, help_text="window: what becomes of open ones."
    )
    arrival_unit = serializers.ChoiceField(
        choices=list(ArrivalUnit),
        default=ArrivalUnit.REQUEST,
        help_text="open, over: what arrives, and what requests, rate_per_s, stages and "
        "max_in_flight count: requests, new connections of calls_per_connection calls, or "
        "sessions of calls_per_session calls.",
    )
    start_offset_s = serializers.FloatField(
        default=0.0, help_text="closed, window: injector i begins i · start_offset_s later."
    )
    hold_s = serializers.FloatField(required=False, allow_null=True, help_text="Of keep_s.")
    per_injector = serializers.BooleanField(
        default=False,
        help_text="closed, sequential, window: connections and requests are of each injector.",
    )
    shares = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_WEIGHT),
        required=False,
        help_text="A weight for each injector, such as [2, 1, 1]; none: equal shares.",
    )


class TimeoutsSerializer(serializers.Serializer):
    connect_s = serializers.FloatField(default=_STANDARD.connect_s)
    tls_s = serializers.FloatField(default=_STANDARD.tls_s)
    total_s = serializers.FloatField(default=_STANDARD.total_s)


class OrderSerializer(serializers.Serializer):
    """Which step request k of a run sends."""

    kind = serializers.ChoiceField(
        choices=list(OrderKind),
        default=OrderKind.ROUND_ROBIN,
        help_text="round_robin: in turns. blocks: block_repeat of one step, then of the next. "
        "random: evenly, by the run's seed. weighted: at random by weights.",
    )
    block_repeat = serializers.IntegerField(default=1, min_value=1)
    weights = serializers.ListField(
        child=serializers.FloatField(), required=False, help_text="One for each step; weighted."
    )


class ThresholdSerializer(serializers.Serializer):
    """A rule that a run must keep: below the limit, or above it for a rate. Those of sessions need
    sessions that arrive, or a closed load with calls_per_session."""

    metric = serializers.ChoiceField(choices=list(UNITS))
    limit = serializers.FloatField()
    unit = serializers.CharField(
        required=False, allow_blank=True, help_text="ms, us, s; % or nothing (a count); /s."
    )


class ThinkTimeSerializer(serializers.Serializer):
    """The pause between calls; between bursts where there are any. In no measured time."""

    kind = serializers.ChoiceField(choices=list(ThinkKind), default=ThinkKind.NONE)
    mean_s = serializers.FloatField(default=0, help_text="constant and exponential")
    min_s = serializers.FloatField(default=0, help_text="uniform")
    max_s = serializers.FloatField(default=0, help_text="uniform")


class SessionSerializer(serializers.Serializer):
    """What one connection and one simulated user do."""

    calls_per_connection = serializers.IntegerField(
        default=0,
        min_value=0,
        help_text="Of a kept connection; 0: as many as the server allows. Of connections that "
        "arrive, or that a window opens, each makes so many; 0: one.",
    )
    burst_length = serializers.IntegerField(default=1, min_value=1)
    first_call_alone = serializers.BooleanField(
        default=True, help_text="The others of a burst wait for the first one's reply."
    )
    pipeline_depth = serializers.IntegerField(
        default=1, min_value=1, max_value=MAX_PIPELINE_DEPTH, help_text="Unanswered calls at once."
    )
    think_time = ThinkTimeSerializer(required=False)
    calls_per_session = serializers.IntegerField(
        required=False,
        allow_null=True,
        help_text="null: a session lasts as long as the run. Needed where sessions arrive.",
    )
    connections_per_session = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_CONNECTIONS_PER_SESSION,
        help_text="Where sessions arrive: the calls of a burst share up to so many; null: one. "
        "Refused elsewhere.",
    )
    cookies = serializers.BooleanField(default=False, help_text="A jar for each session.")
    retry_on_failure = serializers.BooleanField(
        default=False,
        help_text="Where sessions arrive: a failed call is made again at once, up to 3 times, "
        "instead of ending its session. Not after a timeout; not of POST and PATCH.",
    )


class AuthSerializer(serializers.Serializer):
    """Credentials of every request. Their secret is given beside the spec and never shown."""

    kind = serializers.ChoiceField(choices=list(AuthKind), default=AuthKind.NONE)
    user = serializers.CharField(required=False, allow_blank=True, help_text="basic only")


class ExchangeSerializer(serializers.Serializer):
    """What a WebSocket plan does on each connection; such a plan has no steps."""

    path = serializers.CharField(default="/", help_text="Begins with a slash; with the query.")
    headers = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        required=False,
        help_text="Pairs of name and value, beside those of the handshake.",
    )
    subprotocols = serializers.ListField(child=serializers.CharField(), required=False)
    messages = serializers.IntegerField(
        default=0, help_text="For each connection; 0: only the opening and closing handshake."
    )
    size_bytes = serializers.IntegerField(default=64)
    binary = serializers.BooleanField(default=False)
    mode = serializers.ChoiceField(
        choices=list(ExchangeMode),
        default=ExchangeMode.ECHO_SYNC,
        help_text="echo_sync waits for each echo before the next message; send_only for none.",
    )
    rate_per_s = serializers.FloatField(
        required=False, allow_null=True, help_text="Messages a second on each connection."
    )
    verify = serializers.ChoiceField(choices=list(Verify), default=Verify.EXACT)
    close_code = serializers.IntegerField(default=1000)
    close_timeout_s = serializers.FloatField(default=5.0)


class SpecSerializer(serializers.Serializer):
    steps = StepSerializer(many=True, required=False)
    load = LoadSerializer()
    connection_mode = serializers.ChoiceField(
        choices=CONNECTION_MODES, default=ConnectionMode.KEEP_ALIVE
    )
    timeouts = TimeoutsSerializer(required=False)
    expected_status = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Such as 2xx, 304."
    )
    warm_up_s = serializers.IntegerField(default=0, min_value=0, max_value=3600)
    order = OrderSerializer(required=False)
    thresholds = ThresholdSerializer(many=True, required=False)
    session = SessionSerializer(required=False)
    auth = AuthSerializer(required=False)
    exchange = ExchangeSerializer(required=False, allow_null=True)
    variables = VariablesSerializer(required=False)
    http_version = serializers.ChoiceField(choices=HTTP_VERSIONS, default=HttpVersion.HTTP_1_1)
    resolve = serializers.ChoiceField(
        choices=RESOLVES,
        default=Resolve.ONCE,
        help_text="Look the endpoint's name up once before the run, or for each connection.",
    )
