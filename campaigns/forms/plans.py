"""The form of a plan. What a plan may say is decided by domain.plan; here are fields and words."""

from typing import Any

from django import forms

from campaigns.domain.plan.plan import ConnectionMode, HttpVersion, Resolve
from campaigns.domain.plan.step import MAX_BODY_BYTES
from campaigns.forms.numbers import number, number_field, typed
from campaigns.forms.plan_load import LoadFields, initial_load
from campaigns.forms.plan_session import SessionFields, initial_session
from campaigns.forms.plan_steps import StepsFields, initial_steps
from campaigns.forms.plan_thresholds import ThresholdFields, write_thresholds
from campaigns.forms.plan_variables import VariableFields, initial_variables
from campaigns.forms.plan_websocket import ExchangeFields, initial_exchange, with_a_step
from campaigns.forms.requests import text_widget

CONNECTIONS = [
    (ConnectionMode.NEW, "New for each request"),
    (ConnectionMode.KEEP_ALIVE, "Keep-alive"),
    (ConnectionMode.RESUMED, "New, TLS resumed"),
]
HTTP_VERSIONS = [(version, f"HTTP/{version}") for version in HttpVersion]
RESOLVES = [(Resolve.ONCE, "Once, before the run"), (Resolve.PER_CONNECTION, "For each connection")]
_LIMITS = (
    "resolve",
    "connect_s",
    "tls_s",
    "total_s",
    "max_in_flight",
    "when_saturated",
    "start_offset_s",
    "shares",
)
_NUMBERS = {
    "connect_s": "5",
    "tls_s": "5",
    "total_s": "30",
    "warm_up_s": "0",
}


class PlanForm(
    ExchangeFields, ThresholdFields, LoadFields, SessionFields, VariableFields, StepsFields
):
    name = forms.CharField(required=False, max_length=100, widget=text_widget("input-name"))
    body_file = forms.FileField(
        required=False,
        label="or from a file",
        help_text="Replaces the text above. At most 1 MB of UTF-8 text, such as a SOAP envelope.",
    )
    connection_mode = forms.ChoiceField(
        choices=CONNECTIONS,
        initial=ConnectionMode.NEW,
        label="Connections",
        widget=forms.RadioSelect,
        help_text="A campaign can vary this; here stands what the plan proposes.",
    )
    http_version = forms.ChoiceField(
        choices=HTTP_VERSIONS,
        initial=HttpVersion.HTTP_1_1,
        required=False,
        label="HTTP version",
        widget=forms.RadioSelect,
        help_text="1.0 keeps a connection only where the server says keep-alive, too.",
    )
    resolve = forms.ChoiceField(
        choices=RESOLVES,
        initial=Resolve.ONCE,
        required=False,
        label="Look the name up",
        widget=forms.RadioSelect,
        help_text="For each connection it is a part of the response time, dns. An endpoint that is "
        "an address needs none.",
    )
    warm_up_s = number_field(
        "Warm-up", _NUMBERS["warm_up_s"], "Load before the measurement, kept out of every number."
    )
    connect_s = number_field("Connect within", _NUMBERS["connect_s"])
    tls_s = number_field("TLS within", _NUMBERS["tls_s"])
    total_s = number_field("Reply within", _NUMBERS["total_s"], "From the start to the last byte.")
    expected_status = forms.CharField(
        required=False,
        initial="2xx 3xx",
        widget=text_widget("input-medium"),
        label="Expected status",
        help_text="Any other status counts as an error. Classes such as 2xx, or numbers.",
    )

    field_order = ["name", "method", "path"]

    @property
    def limits_have_errors(self) -> bool:
        """Whether the fold "Limits and names" must be open."""
        return any(name in self.errors for name in _LIMITS)

    @classmethod
    def of(cls, name: str, spec: dict[str, Any]):
        return cls(initial=initial_of(name, spec))

    def clean(self):
        self._take_file()
        return self.cleaned_data

    def _take_file(self) -> None:
        """A file becomes the text of the body, so that it survives an error elsewhere."""
        upload = self.cleaned_data.get("body_file")
        if not upload:
            return
        if upload.size > MAX_BODY_BYTES:
            self.add_error("body_file", f"{upload.size:,} bytes are too many; at most 1 MB.")
            return
        try:
            text = upload.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            self.add_error("body_file", "This is not UTF-8 text. Save it as UTF-8 and try again.")
            return
        self.cleaned_data["body"] = text
        self.data = self.data.copy()
        self.data["body"] = text

    def spec(self, base: dict[str, Any] | None = None) -> dict[str, Any]:
        """The plan's JSON. Fields that the chosen model does not use are left out.

        `base` is the version being edited: what the form does not show of it stays as it is.
        """
        data = self.cleaned_data
        spec = {
            **(base or {}),
            "steps": self.steps(),
            "order": self.order(),
            "load": self.load(),
            "session": self.session(),
            "auth": self.auth(),
            "variables": self.variables(),
            "connection_mode": data["connection_mode"],
            "http_version": data["http_version"] or HttpVersion.HTTP_1_1,
            "resolve": data["resolve"] or Resolve.ONCE,
            "timeouts": {name: number(data[name]) for name in ("connect_s", "tls_s", "total_s")},
            "expected_status": data["expected_status"],
            "warm_up_s": number(data["warm_up_s"]),
            "thresholds": data["thresholds"],
            "exchange": None,
        }
        return self.as_exchange(spec) if self.is_exchange else spec


def initial_of(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored plan."""
    numbers = {**spec["timeouts"], "warm_up_s": spec["warm_up_s"]}
    return {
        "name": name,
        **initial_exchange(spec),
        **initial_steps(with_a_step(spec)),
        **initial_load(spec["load"]),
        **initial_session(spec),
        **initial_variables(spec),
        "connection_mode": spec["connection_mode"],
        "http_version": spec["http_version"],
        "resolve": spec["resolve"],
        "expected_status": " ".join(spec["expected_status"]),
        "thresholds": write_thresholds(spec),
        **typed(numbers, _NUMBERS),
    }
