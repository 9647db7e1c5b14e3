"""The forms of channels."""

from typing import NamedTuple

from django import forms

from campaigns.core.forms import CheckedForm, text_field, text_widget
from campaigns.notifications.domain import CHOICES
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


class ChannelForm(CheckedForm):
    """Of a new channel the address is needed; of one that is there an empty one leaves it."""

    refused_at = "address"

    label = text_field(
        None,
        text_widget("input-medium"),
        100,
        help_text="Such as #checkout. Pages show it in place of the address.",
    )
    kinds = forms.MultipleChoiceField(
        label="Events",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=[(kind, each.title) for kind, each in CHOICES.items()],
    )
    meanings = {kind: each.meaning for kind, each in CHOICES.items()}

    def __init__(self, kind: ChannelKind, *args, is_new: bool = False, **kwargs):
        super().__init__(*args, **kwargs)
        words = _ADDRESSES[kind]
        self.fields["address"] = forms.CharField(
            label=words.label,
            required=is_new,
            max_length=MOST_ADDRESS,
            widget=text_widget("input-wide", placeholder=words.example),
            help_text=words.hint
            if is_new
            else "Stored encrypted, and not shown again. Leave empty for the stored address.",
        )
