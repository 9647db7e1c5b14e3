"""An administrator types a project's own caps."""

from django import forms
from django.conf import settings

from campaigns.domain.caps import PROJECT_CAPS, most_of
from campaigns.models import Project


class CapsForm(forms.Form):
    """One field for each cap; empty means the installation's, 0 no cap."""

    def __init__(self, *args, project: Project, **kwargs):
        super().__init__(*args, initial=project.caps, **kwargs)
        for cap in PROJECT_CAPS:
            most = most_of(cap, settings.CAPS, {})
            of_all = "no cap" if most is None else cap.setting_words(most)
            self.fields[cap.name] = forms.IntegerField(
                label=f"{cap.title}, in percent" if cap.is_share else cap.title,
                required=False,
                min_value=0,
                max_value=cap.highest,
                widget=forms.NumberInput(attrs={"class": "input-number"}),
                help_text=f"Empty: {of_all}, as for all projects. 0: no cap.",
            )
