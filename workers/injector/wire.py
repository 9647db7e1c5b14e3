"""What TCP carried for a connection: bytes, TLS and retransmissions included, and segments.

Asked of the kernel once, when a connection is given up; the hot path counts nothing.
"""

import socket
import struct
from typing import NamedTuple

_UP_TO_SENT = 208
# tcp_info: tcpi_total_retrans, tcpi_bytes_received, tcpi_segs_out, tcpi_bytes_sent
_CARRIED = struct.Struct("=100xI24xQI60xQ")


class Wire(NamedTuple):
    """So far. Segments are the sent ones, those without data and those sent again included."""

    wire_sent: int = 0
    wire_received: int = 0
    segments_sent: int = 0
    segments_resent: int = 0


def carried_by(sock: socket.socket) -> Wire:
    """Zeros where the kernel is too old to tell (before Linux 4.19)."""
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _UP_TO_SENT)
    except OSError:
        return Wire()
    if len(info) < _UP_TO_SENT:
        return Wire()
    resent, received, segments, sent = _CARRIED.unpack(info)
    return Wire(sent, received, segments, resent)
