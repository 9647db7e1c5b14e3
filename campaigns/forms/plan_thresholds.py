"""A plan's rules as text, one per line."""

from typing import Any

from django import forms

from campaigns.domain.plan.threshold import Threshold, parse_rule
from campaigns.forms.plan_fields import PLAN
from campaigns.forms.requests import area


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


def write_thresholds(spec: dict[str, Any]) -> str:
    """A stored plan's rules as text; older plans have none."""
    return "\n".join(Threshold(**each).rule for each in spec.get("thresholds", []))


def _own(path: str) -> str:
    return "thresholds" if path.startswith("thresholds.") else path
