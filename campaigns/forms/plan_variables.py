"""Variables in the form of a plan: a table, and what is taken from replies, as lines of text."""

import re
from typing import Any

from django import forms

from campaigns.domain.plan.step import Source
from campaigns.domain.plan.variables import RowOrder
from campaigns.forms.requests import area

ROW_ORDERS = [(RowOrder.SEQUENTIAL, "One after another"), (RowOrder.RANDOM, "At random")]
_LINE = re.compile(r"\s*([^=\s]*)\s*=\s*(body|header\s+([^:\s]+))\s*:\s?(.*)")


class VariableFields(forms.Form):
    csv = forms.CharField(
        required=False,
        strip=False,
        label="Table (CSV)",
        widget=area(5, placeholder="user,page\nann,/a\nbob,/b"),
        help_text="The first row has the names. ${name} in a path, a header or a body stands for a "
        "value; each request (each session, where users have their own; each WebSocket) takes the "
        "next row. Everybody who sees the plan sees the table: no place for secrets.",
    )
    row_order = forms.ChoiceField(
        choices=ROW_ORDERS,
        initial=RowOrder.SEQUENTIAL,
        required=False,
        label="Rows",
        widget=forms.RadioSelect,
    )

    def variables(self) -> dict[str, Any]:
        data = self.cleaned_data
        return {
            "csv": data["csv"].replace("\r\n", "\n"),
            "order": data["row_order"] or RowOrder.SEQUENTIAL,
        }

    def take_errors(self, errors: dict[str, str]) -> None:
        places = {"variables.order": "row_order", "variables": "csv"}
        super().take_errors({places.get(path, path): text for path, text in errors.items()})


def initial_variables(spec: dict[str, Any]) -> dict[str, Any]:
    return {"csv": spec["variables"]["csv"], "row_order": spec["variables"]["order"]}


def read_extracts(text: str) -> list[dict[str, str]]:
    """One a line; a line that cannot be read becomes a name that the domain refuses."""
    return [_read_line(line) for line in text.splitlines() if line.strip()]


def _read_line(line: str) -> dict[str, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        return {"name": line[:64], "from": Source.BODY, "pattern": ""}
    name, _, header, pattern = match.groups()
    if header:
        return {"name": name, "from": Source.HEADER, "header": header, "pattern": pattern}
    return {"name": name, "from": Source.BODY, "pattern": pattern}


def write_extracts(extracts: list[dict[str, str]]) -> str:
    return "\n".join(
        f"{each['name']} = {'header ' + each['header'] if each['header'] else 'body'}: "
        f"{each['pattern']}"
        for each in extracts
    )
