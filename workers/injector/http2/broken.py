"""What a server does against RFC 9113, or against our limits."""

from campaigns.domain.measured.outcomes import Kind
from workers.injector.http1 import BadReply
from workers.injector.http2.frames import Code


class StreamBroken(BadReply):
    """Ends one stream; `code` tells the server why."""

    def __init__(self, code: Code, detail: str, kind: Kind = Kind.H2_PROTOCOL):
        self.code = code
        super().__init__(kind, detail)


class ConnectionBroken(BadReply):
    """Ends the connection and all of its streams; `code` tells the server why."""

    def __init__(self, code: Code, detail: str, kind: Kind = Kind.H2_PROTOCOL):
        self.code = code
        super().__init__(kind, detail)


class NotProcessed(BadReply):
    """The server did not process the request, and said so: it may be sent again."""
