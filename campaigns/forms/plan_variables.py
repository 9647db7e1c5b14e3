"""Variables in the plan form: a table, and extracts from replies as lines of text."""

import re
from typing import Any

from campaigns.domain.plan.step import Source
from campaigns.domain.plan.variables import Variables
from campaigns.forms.plan_fields import FormPart
from campaigns.forms.requests import area

VARIABLES = FormPart(Variables, "variables", names={"order": "row_order"})
_LINE = re.compile(r"\s*([^=\s]*)\s*=\s*(body|header\s+([^:\s]+))\s*:\s?(.*)")


class VariableFields(VARIABLES.form()):
    csv = VARIABLES.field("csv", area(5, placeholder="user,page\nann,/a\nbob,/b"), strip=False)

    def variables(self) -> dict[str, Any]:
        values = VARIABLES.values(self.cleaned_data)
        return {**values, "csv": values["csv"].replace("\r\n", "\n")}


def read_extracts(text: str) -> list[dict[str, str]]:
    """One per line; an unparsable line becomes a name that the domain rejects."""
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
