"""A form whose fields a service checks."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms


class CheckedForm(forms.Form):
    # The field that shows what is wrong with an argument of another name.
    field_of: ClassVar[Mapping[str, str]] = {}

    refused_at: ClassVar[str | None] = None  # the field that says why it is not possible now

    def fields_of_service(self) -> dict[str, Any]:
        """The service's arguments."""
        return self.cleaned_data

    def take_errors(self, errors: Mapping[str, str]) -> None:
        """Say beside each field what the service found, by its arguments' names."""
        for name, sentence in errors.items():
            self.add_error(self.field_of.get(name, name), sentence)

    def take_refusal(self, sentence: str) -> None:
        """Say why it is not possible now, with what was typed still there."""
        self.add_error(self.refused_at, sentence)
