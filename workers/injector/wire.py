"""What TCP carried: segments, and bytes including TLS and retransmissions.

The kernel is asked once per connection, when it is closed; the hot path counts nothing.
"""

import select
import socket
import struct
from fcntl import ioctl
from termios import FIONREAD, TIOCOUTQ

import numpy as np

_UP_TO_SENT = 208
# Segments sent, including those without data and retransmissions.
_TCP_INFO = np.dtype(
    {
        "names": ["segments_resent", "wire_received", "segments_sent", "wire_sent"],
        "formats": ["u4", "u8", "u4", "u8"],
        "offsets": [100, 128, 136, 200],
        "itemsize": _UP_TO_SENT,
    }
)
_FOLD_AT = 256
_UP_TO_RESENT = 216
_TAKEN = struct.Struct("=120xQ72xQQ")  # tcpi_bytes_acked, tcpi_bytes_sent, tcpi_bytes_retrans
_CARRIED = struct.Struct("=128xQ64xQQ")  # tcpi_bytes_received, …sent, …retrans
_COUNT = struct.Struct("@i")
_NO_COUNT = bytes(_COUNT.size)
# A signature's length makes a few, a hostile server any number.
_MOST_SIZES = 64
# tcpi_total_retrans, tcpi_data_segs_out, tcpi_bytes_sent, tcpi_bytes_retrans
_SENT_DATA = struct.Struct("=100xI52xI40xQQ")


def sent_with_data(sock: socket.SocketType) -> tuple[int, int]:
    """(segments with data, bytes) sent so far, without retransmissions; zeros if the kernel is too
    old to tell."""
    info = _info(sock)
    if len(info) < _UP_TO_RESENT:
        return 0, 0
    segments_again, segments, sent, again = _SENT_DATA.unpack(info)
    return segments - segments_again, sent - again


def carried_bytes(sock: socket.SocketType, read_whole: set[int]) -> tuple[int, int] | None:
    """(sent, read) so far, without retransmissions; None if the kernel is too old to tell.

    `read_whole`: how many bytes had arrived on connections after the same handshake, where none lay
    unread; it is added to. Where as many have arrived on this one, all are read, too, for whatever
    follows the handshake would be more. Asking about that makes an attempt 3 % longer.
    """
    info = _info(sock)
    if len(info) < _UP_TO_RESENT:
        return None
    received, sent, resent = _CARRIED.unpack(info)
    if received in read_whole:
        return sent - resent, received
    unread = _unread_bytes(sock)
    while unread:
        # What arrives between the two questions is in one answer only: ask until nothing has.
        info, before, unread = _info(sock), unread, _unread_bytes(sock)
        if unread == before:
            break
    received, sent, resent = _CARRIED.unpack(info)
    if not unread and len(read_whole) < _MOST_SIZES:
        read_whole.add(received)
    return sent - resent, received - unread


def _info(sock: socket.SocketType) -> bytes:
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _UP_TO_RESENT)


def _unread_bytes(sock: socket.SocketType) -> int:
    return _COUNT.unpack(ioctl(sock, FIONREAD, _NO_COUNT))[0]


def has_undelivered(sock: socket.SocketType) -> bool:
    """Whether something that was written has not arrived at the other side's TCP."""
    return ioctl(sock, TIOCOUTQ, _NO_COUNT) != _NO_COUNT


def is_acknowledged(sock: socket.socket) -> bool:
    """Whether the other side's TCP has taken everything that was sent.

    After the other side's end of the connection it has not where that end was on its way before
    our last bytes arrived: the end acknowledges what came before it, and nothing later. True where
    the kernel is too old to tell.
    """
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _UP_TO_RESENT)
    if len(info) < _UP_TO_RESENT:
        return True
    acknowledged, sent, resent = _TAKEN.unpack(info)
    # The client's SYN counts as an acknowledged byte.
    return acknowledged - 1 >= sent - resent


def has_unread(fd: int) -> bool:
    """Whether there is something to read, or the end of the stream; cheaper than trying to read."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


class WireCount:
    """Sums over connections; empty if the kernel is too old to tell (before Linux 4.19)."""

    def __init__(self) -> None:
        self._infos: list[bytes] = []
        self._sums = dict.fromkeys(_TCP_INFO.names, 0)

    def add(self, sock: socket.SocketType) -> None:
        """What it has carried so far."""
        try:
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _UP_TO_SENT)
        except OSError:
            return
        if len(info) == _UP_TO_SENT:
            self._infos.append(info)
            # Read in bulk: one by one it would cost half of what the kernel takes.
            if len(self._infos) == _FOLD_AT:
                self._fold()

    def __bool__(self) -> bool:
        """Whether there is anything to take."""
        return bool(self._infos) or any(self._sums.values())

    def take(self) -> dict[str, int]:
        """The counters since the last call, by name."""
        self._fold()
        sums, self._sums = self._sums, dict.fromkeys(_TCP_INFO.names, 0)
        return {name: number for name, number in sums.items() if number}

    def _fold(self) -> None:
        infos = np.frombuffer(b"".join(self._infos), dtype=_TCP_INFO)
        self._infos.clear()
        for name in _TCP_INFO.names:
            self._sums[name] += int(infos[name].sum(dtype=np.int64))
