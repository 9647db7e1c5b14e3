"""The forms of channels."""

from typing import NamedTuple

from django import forms
from django.utils.html import format_html

from campaigns.forms.requests import CheckedForm
from campaigns.notifications.domain import CHOICES, FIRST_CHOICES
from campaigns.notifications.models import ChannelKind
from campaigns.notifications.services import MOST_ADDRESS


class _AddressWords(NamedTuple):
    label: str
    example: str
    hint: str


_ADDRESSES = {
    ChannelKind.SLACK: _AddressWords(
        "Webhook URL",
        "https://hooks.slack.com/services/…",
        "In Slack: Apps, Incoming Webhooks, Add to Slack.",
    ),
    ChannelKind.TEAMS: _AddressWords(
        "Workflow URL",
        "https://….logic.azure.com/workflows/…",
        "In Teams: Workflows, “Send webhook alerts to a channel”.",
    ),
    ChannelKind.DISCORD: _AddressWords(
        "Webhook URL",
        "https://discord.com/api/webhooks/…",
        "In Discord: Edit channel, Integrations, Webhooks.",
    ),
    ChannelKind.MATRIX: _AddressWords(
        "Room",
        "matrixs://user:password@matrix.example/#room",
        "The server, an account on it, and the room.",
    ),
    ChannelKind.EMAIL: _AddressWords("E-mail address", "oncall@shop.example", ""),
    ChannelKind.WEBHOOK: _AddressWords(
        "URL",
        "https://hooks.shop.example/bench",
        "Gets a signed POST with JSON. The next page shows the secret once.",
    ),
    ChannelKind.OTHER: _AddressWords(
        "Apprise URL",
        "ntfys://ntfy.shop.example/bench",
        "Any service that Apprise knows, in its form.",
    ),
}


def address_field(kind: ChannelKind, **options) -> forms.CharField:
    words = _ADDRESSES[kind]
    attrs = {"class": "input-wide", "autocomplete": "off", "spellcheck": "false"}
    return forms.CharField(
        label=words.label,
        max_length=MOST_ADDRESS,
        widget=forms.TextInput(attrs={**attrs, "placeholder": words.example}),
        **{"help_text": words.hint, **options},
    )


class _KindsField(forms.MultipleChoiceField):
    def __init__(self, **options):
        choices = [
            (kind, format_html('{} <span class="note">{}</span>', each.title, each.meaning))
            for kind, each in CHOICES.items()
        ]
        super().__init__(
            label="Events",
            choices=choices,
            required=False,
            widget=forms.CheckboxSelectMultiple,
            **options,
        )


class _ChannelForm(CheckedForm):
    refused_at = "address"

    def __init__(self, kind: ChannelKind, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["address"] = self.address_of(kind)
        self.order_fields(["address", "label", "kinds"])

    label = forms.CharField(
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"class": "input-medium", "autocomplete": "off"}),
        help_text="Such as #checkout. Pages show it in place of the address.",
    )

    def address_of(self, kind: ChannelKind) -> forms.CharField:
        return address_field(kind)


class NewChannelForm(_ChannelForm):
    kinds = _KindsField(initial=list(FIRST_CHOICES))


class ChannelForm(_ChannelForm):
    kinds = _KindsField()

    def address_of(self, kind: ChannelKind) -> forms.CharField:
        hint = "Stored encrypted, and not shown again. Leave empty for the stored address."
        return address_field(kind, required=False, help_text=hint)
