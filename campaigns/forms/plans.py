"""The plan form: fields and texts only; domain.plan validates."""

from typing import Any

from django import forms

from campaigns.domain.plan.step import MAX_BODY_BYTES
from campaigns.domain.plan.threshold import Threshold, parse_rule
from campaigns.forms.plan_fields import PLAN, TIMEOUTS, LoadFields, initial_load
from campaigns.forms.plan_groups import (
    AUTH,
    THINK_TIME,
    DisclosedFields,
    SessionFields,
    initial_session,
    plain,
)
from campaigns.forms.plan_steps import (
    EXCHANGE,
    ORDER,
    VARIABLES,
    ExchangeFields,
    StepsFields,
    VariableFields,
    initial_exchange,
    initial_steps,
    with_a_step,
)
from campaigns.forms.requests import area, text_widget


class ThresholdFields(forms.Form):
    thresholds = PLAN.field("thresholds", area(2, placeholder="p95 < 300 ms"))

    def clean_thresholds(self) -> list[dict[str, Any]]:
        text = self.cleaned_data["thresholds"]
        try:
            return [parse_rule(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def take_errors(self, errors: dict[str, str]) -> None:
        """Attach an error of any rule to the one text field."""
        super().take_errors({_own(path): sentence for path, sentence in errors.items()})


def _own(path: str) -> str:
    return "thresholds" if path.startswith("thresholds.") else path


# Form names that differ from the domain's.
_PLACES = {"variables": "csv"} | {
    path: name
    for part in (THINK_TIME, AUTH, VARIABLES, ORDER, EXCHANGE)
    for path, name in part.places().items()
}
# What a preset does not determine.
_NOT_COMPARED = {"name", "n_steps", "body_file", "secret", "forget_secret"}


class PlanForm(
    DisclosedFields,
    ExchangeFields,
    ThresholdFields,
    LoadFields,
    SessionFields,
    VariableFields,
    PLAN.form(),
    TIMEOUTS.form(),
    StepsFields,
):
    name = forms.CharField(required=False, max_length=100, widget=text_widget("input-name"))
    body_file = forms.FileField(
        required=False,
        label="or from a file",
        help_text="Replaces the text above. At most 1 MB of UTF-8 text, such as a SOAP envelope.",
    )
    expected_status = PLAN.field("expected_status", text_widget("input-medium"))

    field_order = ["name", "method", "path"]

    @classmethod
    def of(cls, name: str, spec: dict[str, Any]):
        return cls(initial=initial_of(name, spec))

    def base_of(self, name: str, spec: dict[str, Any]) -> dict[str, dict[str, str]]:
        """{form name: {"label", "value"}} of a preset: what later changes are compared with."""
        values = initial_of(name, spec)
        return {
            each: {
                "label": str(field.label or each).lower(),
                "value": plain(values.get(each, field.initial)),
            }
            for each, field in self.fields.items()
            if each not in _NOT_COMPARED
        }

    def clean(self):
        self._take_file()
        return self.cleaned_data

    def _take_file(self) -> None:
        """Copy an uploaded file into the body's text, so that errors in other fields keep it."""
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
        """The plan's JSON without fields that the chosen model does not use. `base` is the version
        being edited: parts that the form does not show are kept."""
        data = self.cleaned_data
        spec = {
            **(base or {}),
            **PLAN.values(data),
            "steps": self.steps(),
            "order": self.order(),
            "load": self.load(),
            "session": self.session(),
            "auth": self.auth(),
            "variables": self.variables(),
            "timeouts": TIMEOUTS.values(data),
            "expected_status": data["expected_status"],
            "thresholds": data["thresholds"],
            "exchange": None,
        }
        return self.as_exchange(spec) if self.is_exchange else spec

    def take_errors(self, errors: dict[str, str]) -> None:
        """Attach the domain's errors to their fields."""
        placed = {path: _PLACES.get(path, path) for path in errors}
        super().take_errors(
            {
                (name if (name := placed[path]) in self.fields else path): sentence
                for path, sentence in errors.items()
            }
        )


def initial_of(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored plan."""
    return {
        "name": name,
        **initial_exchange(spec),
        **initial_steps(with_a_step(spec)),
        **initial_load(spec["load"]),
        **initial_session(spec),
        **VARIABLES.initial(spec["variables"]),
        **PLAN.initial(spec),
        **TIMEOUTS.initial(spec["timeouts"]),
        "expected_status": " ".join(spec["expected_status"]),
        # A stored plan's rules as text; older plans have none.
        "thresholds": "\n".join(Threshold(**each).rule for each in spec.get("thresholds", [])),
    }
