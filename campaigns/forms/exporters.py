"""The form of a Prometheus exporter. The service says what is wrong with what was entered."""

from typing import Any

from django import forms

from campaigns.domain.plan.exporters import MOST_NAME, MOST_TOKEN, MOST_URL
from campaigns.forms.numbers import CheckedForm
from campaigns.forms.requests import text_widget
from campaigns.models import Exporter


class ExporterForm(CheckedForm):
    """A token is never shown again; an empty field keeps the stored one."""

    url = forms.CharField(
        label="Address",
        required=False,
        widget=text_widget(
            "input-wide", placeholder="http://10.0.0.5:9100/metrics", maxlength=MOST_URL
        ),
        help_text="Scraped by the injector hosts, so its network must be one that load may go to.",
    )
    name = forms.CharField(
        label="Name",
        required=False,
        widget=text_widget("input-medium", placeholder="shop-1", maxlength=MOST_NAME),
        help_text="Of the machine, on the pages of runs. Empty: host and port.",
    )
    is_server = forms.BooleanField(
        label="This is the server itself",
        required=False,
        help_text="Tick it if the server that you measure answers here with metrics of its own "
        "process, which then count as its CPU and memory. Not for node_exporter.",
    )
    verify_tls = forms.BooleanField(
        label="Verify the certificate",
        required=False,
        initial=True,
        help_text="Of https. Switch it off for a self-signed one.",
    )
    token = forms.CharField(
        label="Bearer token",
        required=False,
        strip=True,
        widget=forms.PasswordInput(
            attrs={"class": "input-wide", "autocomplete": "off", "maxlength": MOST_TOKEN}
        ),
        help_text="Only over https with a verified certificate. Stored encrypted, never shown.",
    )
    removes_token = forms.BooleanField(label="Remove the stored token", required=False)

    def __init__(self, *args: Any, has_token: bool = False, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if has_token:
            self.fields["token"].widget.attrs["placeholder"] = "stored; enter another to replace it"
        else:
            del self.fields["removes_token"]

    @classmethod
    def of(cls, exporter: Exporter) -> "ExporterForm":
        names = ("url", "name", "is_server", "verify_tls")
        initial = {name: getattr(exporter, name) for name in names}
        return cls(initial=initial, has_token=exporter.has_token)

    def fields_of_service(self) -> dict[str, Any]:
        """What the service takes; without a token the stored one stays."""
        data = dict(self.cleaned_data)
        token = data.pop("token") or None
        removes = data.pop("removes_token", False)
        return {**data, "token": token or ("" if removes else None)}
