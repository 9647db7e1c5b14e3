"""Flows in the plan form: a flow is a heading over some of the steps, typed at the first of them.
Where several flows are not chosen, headings are ignored."""

from typing import Any

from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.flows import Flow, steps_of
from campaigns.domain.plan.plan import Plan
from campaigns.forms.plan_fields import form_choice
from campaigns.forms.plan_steps import StepsFields, prefix_of
from campaigns.forms.requests import number

ONE, SEVERAL = "one", "several"
_CHOICES = [(ONE, "One: a user sends all steps"), (SEVERAL, "Several, each with its share")]
_WHERE = "Each is a heading over its first step."
_AT = {"name": "flow", "share": "share"}  # the step's field of each of a flow's


class FlowFields(StepsFields):
    flows = form_choice("Flows", _CHOICES, f"{fields_of(Plan)['flows'].help} {_WHERE}")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._headings: list[str] = []

    def plan_flows(self) -> list[dict[str, Any]]:
        """The flows in the plan's JSON form."""
        flows, heading, self._headings = [], prefix_of(0), []
        if self.cleaned_data["flows"] != SEVERAL:
            return []
        for index in range(self.step_count):
            prefix = prefix_of(index)
            heading = prefix if self._typed(f"{prefix}flow").strip() else heading
            if heading not in self._headings:
                self._headings.append(heading)
                name, share = (self._typed(heading + field) for field in ("flow", "share"))
                flows.append({"name": name, "share": number(share), "steps": 0})
            flows[-1]["steps"] += 1
        return flows

    @property
    def flow_words(self) -> str:
        """browse 90, buy 10; "" where several are not chosen."""
        if self._typed("flows") != SEVERAL:
            return ""
        prefixes = [prefix_of(index) for index in range(self.step_count)]
        names = [
            (self._typed(f"{prefix}flow"), self._typed(f"{prefix}share")) for prefix in prefixes
        ]
        return (
            ", ".join(" ".join(each) for each in names if each[0]) or "several, without a name yet"
        )

    def _place(self, path: str) -> str:
        """flows.1.share → step3_share, if the second flow begins with the third step."""
        match path.split("."):
            case ["flows", index, *rest] if int(index) < len(self._headings):
                name = self._headings[int(index)] + _AT.get(rest[0] if rest else "name", "flow")
                return name if name in self.fields else path
        return super()._place(path)


def initial_flows(spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for the flows of a stored plan."""
    flows = [Flow(**each) for each in spec.get("flows", ())]
    values = {"flows": SEVERAL} if flows else {}
    for flow, numbers in zip(flows, steps_of(flows), strict=True):
        prefix = prefix_of(numbers.start)
        values |= {f"{prefix}flow": flow.name, f"{prefix}share": f"{flow.share:g}"}
    return values
