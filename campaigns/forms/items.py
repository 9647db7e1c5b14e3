"""What lists and their items share: the filters of a list, an item's name and tags."""

from collections.abc import Sequence
from typing import Any

from django import forms

from campaigns.forms.requests import CheckedForm
from campaigns.models.items import Item
from campaigns.queries.items import ARCHIVED, ItemFilter

PLAN_GONE = {"invalid_choice": "This plan is archived or edited. Choose another."}
CHOOSE_ENDPOINT = "Choose an endpoint"
ENDPOINT_GONE = {
    "invalid_choice": "This endpoint is archived. Choose another.",
    "required": "Choose an endpoint.",
}


def name_field(noun: str) -> forms.CharField:
    """Of a new campaign, whatever its form calls it."""
    return forms.CharField(
        max_length=150,
        widget=forms.TextInput(attrs={"class": "input-wide", "autocomplete": "off"}),
        error_messages={"required": f"Enter a name for the {noun}."},
    )


class ItemFilterForm(forms.Form):
    """A list's filters, all in its address; an invalid value is ignored."""

    finds = "Name or tag"  # what the search looks into
    chosen_as = ItemFilter

    views: Sequence[str] = ()  # of its own, beside ARCHIVED
    further: Sequence[str] = ()  # fields that a page shows on demand

    view = forms.ChoiceField(required=False, widget=forms.HiddenInput)
    name = forms.CharField(required=False)
    tag = forms.CharField(required=False, widget=forms.HiddenInput)
    sort = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["view"].choices = [(view, view) for view in (*self.views, ARCHIVED)]
        self.fields["name"].widget = forms.TextInput(
            attrs={
                "placeholder": self.finds,
                "aria-label": self.finds,
                "data-search": "",
                "type": "search",
            }
        )

    def chosen(self) -> ItemFilter:
        self.is_valid()
        values = self.cleaned_data
        return self.chosen_as(**{name: values[name] for name in self.fields if values.get(name)})

    def filters(self) -> dict[str, str]:
        """What narrows the view, by the field's name, in words: {"state": "State: Draft"}."""
        self.is_valid()
        chosen = (name for name in self.fields if name not in {"view", "sort"})
        return {name: self._words(name) for name in chosen if self.cleaned_data.get(name)}

    @property
    def first_fields(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in self.further]

    @property
    def further_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.further]

    @property
    def has_further(self) -> bool:
        """Whether one of the further fields narrows the list."""
        return not self.filters().keys().isdisjoint(self.further)

    def _words(self, name: str) -> str:
        field, value = self.fields[name], self.cleaned_data[name]
        words = dict(getattr(field, "choices", ())).get(value, value)
        return f"{name.replace('_', ' ')} {words}"


class TargetFilterForm(ItemFilterForm):
    finds = "Name, tag or address"


class ItemForm(CheckedForm):
    """An item's name and tags; the service says what is wrong with them."""

    name = forms.CharField(
        strip=False,
        required=False,
        widget=forms.TextInput(attrs={"class": "input-wide", "autocomplete": "off"}),
    )
    tags = forms.CharField(
        required=False,
        widget=forms.TextInput(attrs={"class": "input-wide", "autocomplete": "off"}),
        help_text="Separate tags with commas, such as nightly, release.",
    )

    @classmethod
    def of(cls, item: Item) -> "ItemForm":
        return cls(initial={"name": item.name, "tags": ", ".join(item.tags)})

    def fields_of_service(self) -> dict[str, Any]:
        return {"name": self.cleaned_data["name"], "tags": self.cleaned_data["tags"].split(",")}
