"""A posted form on its way to the service that saves it: what the service finds wrong with it, and
what others changed since it was opened."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django import forms
from django.http import HttpRequest

from campaigns.domain.edit_conflicts import Content, version_token
from campaigns.domain.errors import ChangedMeanwhile, InvalidFields, Refused
from campaigns.domain.units import and_joined
from campaigns.forms.requests import CheckedForm

_T = TypeVar("_T")


def saved_by(form: CheckedForm, save: Callable[[dict[str, Any]], _T]) -> _T | None:
    """None without a form that was posted, and with one that has errors or is refused, which it
    then shows."""
    if not form.is_valid():
        return None
    try:
        return save(form.fields_of_service())
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
    except Refused as refusal:
        form.take_refusal(str(refusal))
    return None


class Edit:
    """The edit of something stored, from the opening of its form to its saving.
    `parts/changed.html` carries what the form was `opened` with. If saving it would put back what
    others changed since, it is shown once more as it was typed, with what they `changed`, and
    carries what is stored by now: so who saves that replaces what they have seen, and no more."""

    def __init__(
        self, request: HttpRequest, stored: Callable[[], Content], labels: Mapping[str, str]
    ):
        """`labels`: what the page calls each part. Make it before the form is filled in: then the
        form may be newer than it says, and never older."""
        is_new = request.method != "POST"
        self.opened = version_token(stored()) if is_new else request.POST.get("opened")
        self.changed = ""
        self._labels = labels

    def save(self, service: Callable[..., _T], **given: Any) -> _T | None:
        """What the service gives; None if others changed meanwhile what it would replace."""
        try:
            return service(**given, opened=self.opened)
        except ChangedMeanwhile as changed:
            self.opened = changed.now
            known = [self._labels[path] for path in changed.paths if self._labels.get(path)]
            self.changed = and_joined(list(dict.fromkeys(known))) or "what it says"
            return None

    def status(self, errors: object) -> int:
        """Of the answer that shows the form."""
        return 409 if self.changed else 422 if errors else 200


def labels_of(form: type[forms.Form] | forms.Form) -> dict[str, str]:
    """What a form calls its fields."""
    fields = getattr(form, "base_fields", {}) | getattr(form, "fields", {})
    return {name: str(each.label or name.capitalize()) for name, each in fields.items()}
