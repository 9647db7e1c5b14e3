"""A posted form whose fields the domain checks, on its way to the service that saves them."""

from collections.abc import Callable
from typing import Any, TypeVar

from campaigns.domain.errors import InvalidFields
from campaigns.forms.checked import CheckedForm

_T = TypeVar("_T")


def saved_by(form: CheckedForm, save: Callable[[dict[str, Any]], _T]) -> _T | None:
    """None without a form that was posted, and with one that has errors, which it then shows."""
    if not form.is_valid():
        return None
    try:
        return save(form.fields_of_service())
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return None
