"""The closing handshake on our side: our close frame, and the end that follows the server's."""

import ssl
from typing import TYPE_CHECKING

from campaigns.domain.measured.outcomes import Kind
from workers.injector.connection import now
from workers.injector.websocket.channel import Channel
from workers.injector.websocket.talk import Talk

if TYPE_CHECKING:
    from workers.injector.websocket.worker import Speaker


def send_close(speaker: "Speaker", talk: Talk, channel: Channel) -> None:
    """Say goodbye; from now on the server has the plan's time for the same."""
    speaker.limit = now() + talk.close_ns
    channel.write(speaker.close_frame)


def await_end(talk: Talk, channel: Channel) -> None:
    """The server ends the connection; by a reset too, for all has been said."""
    try:
        # Most servers end it together with their close frame, so there is often no need to wait.
        data = channel.read(Kind.WS_CLOSE_TIMEOUT)
        while data is None or data:
            data = channel.receive(Kind.WS_CLOSE_TIMEOUT)
    except ssl.SSLEOFError:
        talk.events["tls_ragged_eof"].append(now())
    except OSError:
        return
