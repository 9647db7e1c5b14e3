"""The form of "try one request"."""

from campaigns.forms.requests import RequestFields


class ProbeForm(RequestFields):
    pass
