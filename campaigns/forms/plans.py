"""The form of a plan. What a plan may say is decided by domain.plan; here are fields and words."""

from typing import Any

from django import forms

from campaigns.domain.plan import MAX_BODY_BYTES, USES, ConnectionMode, Model
from campaigns.forms.numbers import number
from campaigns.forms.plan_steps import StepsFields, initial_steps
from campaigns.forms.requests import text_widget

MODELS = [
    (Model.OVER, "Spread over a time"),
    (Model.OPEN, "At a rate"),
    (Model.CLOSED, "On N connections"),
    (Model.SEQUENTIAL, "One after another"),
]
# What the choice means, in one line each; the page shows the chosen one.
MODEL_WORDS = {
    Model.OVER: "N requests start at even distances over T seconds, whether replies come or not.",
    Model.OPEN: "Requests start at a steady rate, whether replies come or not, as real visitors "
    "do. Response times count from the intended start.",
    Model.CLOSED: "Each connection sends its next request when its reply is complete. A slow "
    "server gets fewer requests.",
    Model.SEQUENTIAL: "One connection, one request at a time: the plain response time without "
    "any queue.",
}
CONNECTIONS = [
    (ConnectionMode.NEW, "New for each request"),
    (ConnectionMode.KEEP_ALIVE, "Keep-alive"),
    (ConnectionMode.RESUMED, "New, TLS resumed"),
]
STOPS = [("requests", "After a number of requests"), ("duration", "After a time")]
_NUMBERS = {
    "connections": "10",
    "rate_per_s": "10",
    "requests": "100",
    "over_s": "10",
    "duration_s": "30",
    "max_in_flight": "10000",
    "connect_s": "5",
    "tls_s": "5",
    "total_s": "30",
    "warm_up_s": "0",
}


def _number_field(label: str, name: str, help_text: str = "") -> forms.CharField:
    """Text, not a number field: what cannot be read goes to the domain, which says what would."""
    widget = text_widget("", inputmode="decimal")
    return forms.CharField(
        label=label, required=False, initial=_NUMBERS[name], help_text=help_text, widget=widget
    )


class PlanForm(StepsFields):
    name = forms.CharField(required=False, max_length=100, widget=text_widget("input-name"))
    body_file = forms.FileField(
        required=False,
        label="or from a file",
        help_text="Replaces the text above. At most 1 MB of UTF-8 text, such as a SOAP envelope.",
    )
    model = forms.ChoiceField(choices=MODELS, initial=Model.OVER, widget=forms.RadioSelect)
    connections = _number_field("Connections", "connections")
    rate_per_s = _number_field("Rate", "rate_per_s")
    over_s = _number_field("Spread over", "over_s")
    stop = forms.ChoiceField(
        choices=STOPS, initial="requests", required=False, widget=forms.RadioSelect
    )
    requests = _number_field("Requests", "requests")
    duration_s = _number_field("Duration", "duration_s")
    max_in_flight = _number_field(
        "At most in flight",
        "max_in_flight",
        "Requests beyond this are counted as dropped instead of piling up.",
    )
    connection_mode = forms.ChoiceField(
        choices=CONNECTIONS,
        initial=ConnectionMode.NEW,
        label="Connections",
        widget=forms.RadioSelect,
        help_text="A campaign can vary this; here stands what the plan proposes.",
    )
    warm_up_s = _number_field(
        "Warm-up", "warm_up_s", "Load before the measurement, kept out of every number."
    )
    connect_s = _number_field("Connect within", "connect_s")
    tls_s = _number_field("TLS within", "tls_s")
    total_s = _number_field("Reply within", "total_s", "From the start to the last byte.")
    expected_status = forms.CharField(
        required=False,
        initial="2xx 3xx",
        widget=text_widget("input-medium"),
        label="Expected status",
        help_text="Any other status counts as an error. Classes such as 2xx, or numbers.",
    )

    field_order = ["name", "method", "path"]

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
        return {
            **(base or {}),
            "steps": self.steps(),
            "order": self.order(),
            "load": self._load(),
            "connection_mode": data["connection_mode"],
            "timeouts": {name: number(data[name]) for name in ("connect_s", "tls_s", "total_s")},
            "expected_status": data["expected_status"],
            "warm_up_s": number(data["warm_up_s"]),
        }

    def take_errors(self, errors: dict[str, str]) -> None:
        """What the domain says about the number of requests belongs to the stop that is shown."""
        errors = dict(errors)
        if self.cleaned_data["stop"] == "duration" and "load.requests" in errors:
            sentence = errors.pop("load.requests")
            errors.setdefault("load.duration_s", sentence)
        super().take_errors(errors)

    def _load(self) -> dict[str, Any]:
        data = self.cleaned_data
        model = Model(data["model"])
        used = set(USES[model])
        if model != Model.OVER:
            used -= {"requests" if data["stop"] == "duration" else "duration_s"}
        if model in (Model.OPEN, Model.OVER):
            used.add("max_in_flight")
        return {"model": model, **{name: number(data[name]) for name in sorted(used)}}


def initial_of(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored plan."""
    load = spec["load"]
    numbers = {**load, **spec["timeouts"], "warm_up_s": spec["warm_up_s"]}
    return {
        "name": name,
        **initial_steps(spec),
        "model": load["model"],
        "stop": "duration" if load.get("duration_s") else "requests",
        "connection_mode": spec["connection_mode"],
        "expected_status": " ".join(spec["expected_status"]),
        **{
            key: f"{numbers[key]:g}" if isinstance(numbers[key], float) else str(numbers[key])
            for key in _NUMBERS
            if numbers.get(key) is not None
        },
    }
