"""Bytes on the wire: what TCP carried for a connection, TLS and retransmissions included.

Asked of the kernel once, when a connection is given up; the hot path counts nothing.
"""

import socket
import struct

_UP_TO_SENT = 208
_RECEIVED = struct.Struct("=128xQ64xQ")  # tcp_info: tcpi_bytes_received, tcpi_bytes_sent


def wire_bytes(sock: socket.socket) -> tuple[int, int]:
    """(sent, received) so far; zeros where the kernel is too old to tell (before Linux 4.19)."""
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _UP_TO_SENT)
    except OSError:
        return 0, 0
    if len(info) < _UP_TO_SENT:
        return 0, 0
    received, sent = _RECEIVED.unpack(info)
    return sent, received
