"""The filters of histories; a mark on their time axis, as people type it. The output of a tool,
pasted or as a file. An item's name and tags."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.utils import timezone

from campaigns.core.forms import CheckedForm, area, text_field, text_widget
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.target import SCHEMES
from campaigns.domain.presentation.history_words import METRICS
from campaigns.domain.units import size
from campaigns.history.queries.history import HistoryFilter, begin_of, end_of, is_mark
from campaigns.machines.services import MOST_BYTES
from campaigns.models import Project, ToolOutput
from campaigns.projects.models import Item


def name_field(noun: str, **more: Any) -> forms.CharField:
    """Of a new campaign, whatever its form calls it."""
    return forms.CharField(
        max_length=150,
        widget=text_widget("input-wide"),
        error_messages={"required": f"Enter a name for the {noun}."},
        **more,
    )


class ItemForm(CheckedForm):
    """An item's name and tags; the service says what is wrong with them."""

    name = text_field(None, text_widget("input-wide"), None, strip=False)
    tags = text_field(
        None,
        text_widget("input-wide"),
        None,
        help_text="Separate tags with commas, such as nightly, release.",
    )

    @classmethod
    def of(cls, item: Item) -> "ItemForm":
        return cls(initial={"name": item.name, "tags": ", ".join(item.tags)})

    def fields_of_service(self) -> dict[str, Any]:
        return {"name": self.cleaned_data["name"], "tags": self.cleaned_data["tags"].split(",")}


ARMS = {
    f"{scheme} {mode}": f"{scheme.upper()} {mode}" for scheme in SCHEMES for mode in ConnectionMode
}


class PlainSelect(forms.Select):
    """A select without groups, written at once; Django's own renders a template for each option."""

    def render(self, name, value, attrs=None, renderer=None):
        attrs = self.build_attrs(self.attrs, {**(attrs or {}), "name": name})
        options = [(str(key), label) for key, label in self.choices]
        context = {"attrs": attrs, "options": options, "value": str(value or "")}
        return self._render("items/select.html", context, renderer)


def _of_project() -> forms.Field:
    """A choice among the project's rows; its form knows the project."""
    return forms.TypedChoiceField(required=False, coerce=int, empty_value=None, widget=PlainSelect)


def _range_end(label: str) -> forms.CharField:
    """A day, or a mark such as mark-12."""
    widget = forms.DateInput(attrs={"type": "date", "aria-label": label, "title": label})
    return forms.CharField(required=False, widget=widget)


class HistoryFilterForm(forms.Form):
    """An invalid value is ignored. Archived targets and plans are choices too."""

    target = _of_project()
    since = _range_end("From")
    until = _range_end("To")
    plan = _of_project()
    arm = forms.ChoiceField(
        required=False, choices=[("", "Arm: any"), *ARMS.items()], widget=PlainSelect
    )
    tag = forms.CharField(required=False, widget=forms.TextInput(attrs={"placeholder": "Tag"}))
    metric = forms.ChoiceField(required=False, choices=list(METRICS.items()), widget=PlainSelect)

    def __init__(self, *args, project: Project, **kwargs):
        super().__init__(*args, **kwargs)
        self._project = project
        of_project = {
            "target": project.targets.outside_trash().filter(is_kept=True),
            "plan": project.plans.outside_trash(),
        }
        for name in of_project.keys() & self.fields.keys():
            pairs = of_project[name].order_by("name").values_list("pk", "name")
            self.fields[name].choices = [("", f"{name.capitalize()}: any"), *pairs]
        for name, field in self.fields.items():
            field.widget.attrs.setdefault("aria-label", name.replace("_", " ").capitalize())
        for name in ("since", "until"):
            if is_mark(self.data.get(name, "")):
                self.fields[name].widget.input_type = "text"

    def clean_since(self) -> datetime | None:
        return self._instant("since", begin_of)

    def clean_until(self) -> datetime | None:
        return self._instant("until", end_of)

    def _instant(self, name: str, reader: Callable[[Project, str], datetime]) -> datetime | None:
        text = self.cleaned_data[name]
        try:
            return reader(self._project, text) if text else None
        except ValueError as fault:
            raise forms.ValidationError(str(fault)) from None

    def chosen(self) -> HistoryFilter:
        self.is_valid()
        return HistoryFilter(**{name: value for name, value in self.cleaned_data.items() if value})


class TestHistoryFilterForm(HistoryFilterForm):
    target = plan = arm = None


class MarkForm(CheckedForm):
    """The service says what is wrong with the words and the link."""

    field_of: ClassVar = {"key": None}  # nobody types it

    text = text_field(
        "What happened", text_widget("", placeholder="version 1.4.2 deployed", maxlength=100), None
    )
    at = forms.DateTimeField(
        label="When",
        required=False,
        help_text="Now if left empty.",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    link = text_field("Link", forms.URLInput({"placeholder": "https://", "maxlength": 500}), None)
    target = forms.ModelChoiceField(
        label="Target", queryset=None, required=False, empty_label="All targets"
    )

    def __init__(self, *args, project: Project, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["target"].queryset = project.targets.filter(archived_at=None, is_kept=True)

    def fields_of_service(self) -> dict[str, Any]:
        """A program that sends the same words again means the same mark; somebody who types them on
        another day another one. A button that is pressed twice still leaves one."""
        data = self.cleaned_data
        key = f"{data['text'][:100]} {timezone.now():%Y-%m-%dT%H:%M}"
        return data | {"key": "" if data["at"] else key}


class OutputForm(forms.Form):
    tool = text_field("Tool", text_widget("", placeholder="vmstat"), ToolOutput.MOST_TOOL)
    text = text_field(
        "Output",
        area(8, **{"class": "mono"}),
        None,
        strip=False,
        help_text=f"At most {size(MOST_BYTES)}; kept as it is.",
    )
    file = forms.FileField(label="or a file", required=False)

    def clean(self) -> dict:
        data = super().clean()
        upload = data.get("file")
        if upload:
            data["text"] = self._read(upload)
        else:
            # Browsers send the lines of a text field with both characters.
            data["text"] = data.get("text", "").replace("\r\n", "\n")
        return data

    def _read(self, upload) -> str:
        if upload.size > MOST_BYTES:
            limit, n_bytes = size(MOST_BYTES), size(upload.size, MOST_BYTES)
            self.add_error("file", f"This file has {n_bytes}. Choose one of at most {limit}.")
            return ""
        try:
            return upload.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            self.add_error("file", "This is not UTF-8 text. Upload what the tool printed.")
            return ""
