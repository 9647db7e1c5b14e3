"""The form of "try one request": HTTP and WebSocket fields."""

from typing import Any

from django import forms

from campaigns.forms.requests import RequestFields, area, read_headers, text_widget


class ProbeForm(RequestFields):
    subprotocols = forms.CharField(
        required=False,
        widget=text_widget("input-medium"),
        help_text="WebSocket only. Separate with spaces; often none.",
    )
    message = forms.CharField(
        required=False,
        strip=False,
        widget=area(2),
        help_text="WebSocket only. Sent as text once it is open. Leave empty to open and close it.",
    )

    def opening(self) -> dict[str, Any]:
        """The WebSocket handshake and message to try."""
        data = self.cleaned_data
        return {
            "path": data["path"] or "/",
            "headers": read_headers(data["headers"]),
            "subprotocols": data["subprotocols"].replace(",", " ").split(),
            "message": data["message"].replace("\r\n", "\n") or None,
        }
