"""A mark on the time axis of histories, as people type it."""

from django import forms

from campaigns.models import Project


class MarkForm(forms.Form):
    """The service says what is wrong with the words and the link."""

    text = forms.CharField(
        label="What happened",
        required=False,
        widget=forms.TextInput(
            attrs={"placeholder": "version 1.4.2 deployed", "maxlength": 100, "autocomplete": "off"}
        ),
    )
    at = forms.DateTimeField(
        label="When, in UTC",
        required=False,
        help_text="Now if left empty.",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    link = forms.CharField(
        label="Link",
        required=False,
        widget=forms.URLInput(attrs={"placeholder": "https://", "maxlength": 500}),
    )
    target = forms.ModelChoiceField(
        label="Target", queryset=None, required=False, empty_label="All targets"
    )

    def __init__(self, *args, project: Project, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["target"].queryset = project.targets.filter(archived_at=None, is_kept=True)
