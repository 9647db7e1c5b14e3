"""Our side of the closing handshake: our close frame, and the end of the TCP connection."""

from campaigns.domain.measured.outcomes import Kind
from workers.injector.attempt import Worker
from workers.injector.connection import now
from workers.injector.tls_errors import RaggedEnd
from workers.injector.websocket.channel import Channel
from workers.injector.websocket.exchange_context import ExchangeContext


def send_close(worker: Worker, context: ExchangeContext, channel: Channel) -> None:
    """Send our close frame; the plan's close timeout starts now."""
    worker.limit = now() + context.close_ns
    channel.write(channel.close_frame)


def await_end(context: ExchangeContext, channel: Channel) -> None:
    """Wait for the server to end the connection; a reset is fine too, both sides have closed."""
    try:
        # Most servers end it right after their close frame, so often there is no need to wait.
        data = channel.read(Kind.WS_CLOSE_TIMEOUT)
        while data is None or data:
            data = channel.receive(Kind.WS_CLOSE_TIMEOUT)
    except RaggedEnd:
        context.events["tls_ragged_eof"].append(now())
    except OSError:
        return
