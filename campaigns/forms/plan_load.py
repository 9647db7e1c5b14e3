"""The load in the form of a plan: how hard, when requests arrive, when to stop."""

from typing import Any

from django import forms

from campaigns.domain.plan.load import ArrivalUnit, Distribution, Hold, Model, WhenSaturated
from campaigns.domain.plan.shards import shares_of_text
from campaigns.domain.plan.stages import stages_of_text, text_of_stages
from campaigns.forms.numbers import number, number_field, typed
from campaigns.forms.plan_shown import SHOWN_IF, shown_fields
from campaigns.forms.requests import area, text_widget

MODELS = [
    (Model.OVER, "Spread over a time"),
    (Model.OPEN, "At a rate"),
    (Model.CLOSED, "On N connections"),
    (Model.SEQUENTIAL, "One after another"),
    (Model.WINDOW, "Opening N at a time"),
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
    Model.WINDOW: "New connections, each with one request or more. Up to the high mark are opened "
    "at a time; when fewer than the low mark are left, the next burst begins. Each injector has "
    "its own window.",
}
STOPS = [("requests", "After a number"), ("duration", "After a time")]
SHAPES = [
    (Distribution.DETERMINISTIC, "Even"),
    (Distribution.EXPONENTIAL, "Random"),
    (Distribution.UNIFORM, "Random between two gaps"),
]
RATES = [("steady", "Steady"), ("stages", "In stages")]
UNITS = [
    (ArrivalUnit.REQUEST, "Requests"),
    (ArrivalUnit.CONNECTION, "Connections"),
    (ArrivalUnit.SESSION, "Sessions"),
]
SATURATED = [
    (WhenSaturated.QUEUE, "Wait for a free one"),
    (WhenSaturated.DROP, "Drop"),
]
HOLDS = [
    (Hold.CLOSE, "Close at once"),
    (Hold.KEEP_UNTIL_ALL, "Keep until all are open"),
    (Hold.KEEP_S, "Keep for a time"),
]
NUMBERS = {
    "connections": "10",
    "ramp_up_s": "0",
    "rate_per_s": "10",
    "uniform_min_s": "0.05",
    "uniform_max_s": "0.15",
    "requests": "100",
    "over_s": "10",
    "duration_s": "30",
    "max_in_flight": "10000",
    "low": "25",
    "high": "50",
    "hold_s": "5",
    "start_offset_s": "0",
}
_CHOICES = {
    "distribution": Distribution.DETERMINISTIC,
    "when_saturated": WhenSaturated.QUEUE,
    "hold": Hold.CLOSE,
    "arrival_unit": ArrivalUnit.REQUEST,
}


def _choice(name: str, choices: list[tuple[str, str]], label: str, help_text: str = ""):
    return forms.ChoiceField(
        choices=choices,
        initial=_CHOICES[name],
        required=False,
        widget=forms.RadioSelect,
        label=label,
        help_text=help_text,
    )


class LoadFields(forms.Form):
    """Rules of a load are the domain's; fields that the chosen model does not use are left out."""

    shown_if = SHOWN_IF

    model = forms.ChoiceField(choices=MODELS, initial=Model.OVER, widget=forms.RadioSelect)
    connections = number_field("Connections", NUMBERS["connections"])
    ramp_up_s = number_field(
        "Ramp-up",
        NUMBERS["ramp_up_s"],
        "Connection i of N begins at i · ramp-up / N, counted from the first request on, the "
        "warm-up's included. 0: all at once.",
    )
    distribution = _choice(
        "distribution",
        SHAPES,
        "Arrivals",
        "Random: as independent visitors come, in bursts and gaps, yet exactly as many. "
        "The campaign's seed fixes them, so that all runs get the same.",
    )
    rate_shape = forms.ChoiceField(
        choices=RATES,
        initial="steady",
        required=False,
        widget=forms.RadioSelect,
        label="Rate over time",
    )
    rate_per_s = number_field("Rate", NUMBERS["rate_per_s"])
    stages = forms.CharField(
        required=False,
        initial="30: 10\n60: 10-50\n30: 50",
        widget=area(4),
        label="Stages",
        help_text="One a line: seconds, a colon, requests/s. A step is 30: 10; a ramp is "
        "60: 10-50; a pause is 5: 0. The number of requests is the exact integral of the rate.",
    )
    uniform_min_s = number_field("Shortest gap", NUMBERS["uniform_min_s"])
    uniform_max_s = number_field("Longest gap", NUMBERS["uniform_max_s"])
    over_s = number_field("Spread over", NUMBERS["over_s"])
    arrival_unit = _choice(
        "arrival_unit",
        UNITS,
        "What arrives",
        "A connection is a new one, whatever the campaign says of connections, and makes its calls "
        "(one, if nothing is said below). A session is a user who makes all of its calls and goes. "
        "Numbers, rates and the limit count what arrives.",
    )
    start_offset_s = number_field(
        "Injectors begin apart by",
        NUMBERS["start_offset_s"],
        "With several injectors, injector i begins i times this later. 0: all at once.",
    )
    low = number_field("Low mark", NUMBERS["low"], "With fewer being opened, a burst begins.")
    high = number_field("High mark", NUMBERS["high"], "Never more are being opened at once.")
    hold = _choice(
        "hold", HOLDS, "Once open", "Open is what has its reply; a WebSocket, what has its 101."
    )
    hold_s = number_field("Keep for", NUMBERS["hold_s"])
    stop = forms.ChoiceField(
        choices=STOPS, initial="requests", required=False, widget=forms.RadioSelect
    )
    requests = number_field("Requests", NUMBERS["requests"])
    duration_s = number_field("Duration", NUMBERS["duration_s"])
    per_injector = forms.BooleanField(
        required=False,
        label="Numbers of each injector",
        help_text="Each injector has so many connections and sends so many requests. Else they "
        "are of all injectors together, which share them.",
    )
    shares = forms.CharField(
        required=False,
        widget=text_widget("input-medium", placeholder="2, 1, 1"),
        label="Shares of the injectors",
        help_text="A whole number for each injector: of 2, 1, 1 the first sends half of the load. "
        "Empty: all the same.",
    )
    max_in_flight = number_field(
        "At most in flight",
        NUMBERS["max_in_flight"],
        "What is due beyond this waits or is dropped, as chosen below.",
    )
    when_saturated = _choice(
        "when_saturated",
        SATURATED,
        "Beyond that",
        "What waits is sent late, and its wait is part of its response time. What is dropped is "
        "never sent. Both are counted.",
    )

    def take_errors(self, errors: dict[str, str]) -> None:
        """What the domain says about the number of requests belongs to the stop that is shown."""
        errors = dict(errors)
        if "load.requests" in errors and "requests" not in self._used():
            sentence = errors.pop("load.requests")
            errors.setdefault("load.duration_s", sentence)
        super().take_errors(errors)

    def load(self) -> dict[str, Any]:
        """The load's JSON."""
        data = self.cleaned_data
        values = {name: _value(name, data[name]) for name in sorted(self._used())}
        return {"model": data["model"], **values}

    def _used(self) -> set[str]:
        """The fields that count, given what is chosen; the page shows the same ones."""
        choices = ("model", "stop", "distribution", "hold", "rate_shape")
        data, standard = self.cleaned_data, self.base_fields
        return shown_fields({name: data[name] or standard[name].initial for name in choices})


def _value(name: str, text: str) -> Any:
    if name == "per_injector":
        return bool(text)
    if name == "shares":
        return shares_of_text(text)
    if name == "stages":
        return stages_of_text(text) or [""]
    return (text or _CHOICES[name]) if name in _CHOICES else number(text)


def initial_load(load: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored load."""
    chosen = {name: load.get(name, standard) for name, standard in _CHOICES.items()}
    stop = "duration" if load.get("duration_s") else "requests"
    values = {"model": load["model"], "stop": stop, **chosen, **typed(load, NUMBERS)}
    values["per_injector"] = load.get("per_injector", False)
    values["shares"] = ", ".join(map(str, load.get("shares", ())))
    if load.get("stages"):
        values |= {"rate_shape": "stages", "stages": text_of_stages(load["stages"])}
    return values
