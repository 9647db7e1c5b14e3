"""Real receivers on loopback: an HTTP server that keeps what it gets, and an SMTP server."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class HttpReceiver:
    """Answers each request with the first of `statuses`, and with the last one for ever, and with
    `answer`; `hold` keeps it from answering."""

    port: int = 0
    statuses: list[int] = field(default_factory=lambda: [200])
    location: str = ""
    answer: bytes = b"ok"  # what Slack answers
    received: list[Received] = field(default_factory=list)
    hold: threading.Event | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextlib.contextmanager
def http_receiver(tls: ssl.SSLContext | None = None, **options: Any) -> Iterator[HttpReceiver]:
    receiver = HttpReceiver(**options)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            if receiver.hold:
                receiver.hold.wait(20)
            statuses = receiver.statuses
            self.send_response(statuses.pop(0) if len(statuses) > 1 else statuses[0])
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.send_header("Content-Length", str(len(receiver.answer)))
            with contextlib.suppress(OSError):
                self.end_headers()
                self.wfile.write(receiver.answer)

        do_PUT = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        if receiver.hold:
            receiver.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Mailbox:
    def __init__(self):
        self.mails: list[tuple[list[str], Message]] = []

    async def handle_DATA(self, _server, _session, envelope) -> str:
        self.mails.append((envelope.rcpt_tos, message_from_bytes(envelope.content)))
        return "250 taken"


@contextlib.contextmanager
def smtp_receiver() -> Iterator[tuple[int, list[tuple[list[str], Message]]]]:
    """Its port, and the mails: (to, message)."""
    mailbox = _Mailbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield port, mailbox.mails
    finally:
        controller.stop()


def use_mail(settings, port: int) -> None:
    """The site sends its mails to this port."""
    settings.HAS_EMAIL = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
