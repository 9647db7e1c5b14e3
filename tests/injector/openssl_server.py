"""A server on the OpenSSL that the injector uses, for `scripted`: with several certificates and
hybrid groups, neither of which Python's ssl has.
"""

import socket
from typing import Any

from OpenSSL import SSL

from tests.injector.authority import Issued
from workers.injector.wire import carried_bytes


class OpenSslServer:
    """Takes the place of an `ssl.SSLContext`. `shown`: one certificate for each kind of key.

    `received_bytes`: what each client had sent when its first request was read.
    """

    def __init__(self, *certificates: Issued):
        self.context = SSL.Context(SSL.TLS_SERVER_METHOD)
        for each in certificates:
            self.context.use_certificate(each.certificate)
            self.context.use_privatekey(each.key)
        for above in certificates[0].above:
            self.context.add_extra_chain_cert(above.certificate)
        self.received_bytes: list[int] = []

    def wrap_socket(self, sock: socket.socket, **_: Any) -> "_Secured":
        return _Secured(self, sock)


class _Secured:
    def __init__(self, server: OpenSslServer, sock: socket.socket):
        self._server, self._sock = server, sock
        self._tls = SSL.Connection(server.context, sock)
        self._tls.set_accept_state()
        self._has_read = False

    def do_handshake(self) -> None:
        try:
            self._tls.do_handshake()
        except SSL.Error as error:
            raise OSError(str(error)) from None

    def recv(self, size: int) -> bytes:
        try:
            data = self._tls.recv(size)
        except SSL.Error:
            return b""
        if not self._has_read:
            self._has_read = True
            self._server.received_bytes.append(carried_bytes(self._sock, set())[1])
        return data

    def sendall(self, data: bytes) -> None:
        self._tls.sendall(data)

    def close(self) -> None:
        self._sock.close()
