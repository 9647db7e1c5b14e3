"""The bodies of requests that are being sent, as far as the server's windows let them."""

from collections.abc import Callable

from workers.injector.http2 import frames
from workers.injector.http2.broken import ConnectionBroken, StreamBroken
from workers.injector.http2.frames import (
    DATA,
    DEFAULT_WINDOW,
    END_STREAM,
    FRAME_BYTES,
    LARGEST_WINDOW,
    Code,
)
from workers.injector.http2.stream import Stream

# So much may wait in `out`; bodies have to wait until it is written.
_OUT_UP_TO_BYTES = 256 * 1024


class Uploads:
    """`under_way`: the streams with such a body, by number. `has_moved`: some of them was written
    since somebody set it back."""

    __slots__ = ("_initial_room", "_note_written", "_out", "_room", "has_moved", "under_way")

    def __init__(self, out: bytearray, note_written: Callable[[Stream], None]):
        """`note_written` is called with each stream whose body is in `out` to the last byte."""
        self._out = out
        self._note_written = note_written
        self.under_way: dict[int, Stream] = {}
        self._initial_room = self._room = DEFAULT_WINDOW
        self.has_moved = False

    def add(self, stream: Stream, body: memoryview) -> None:
        stream.unsent = body
        stream.room = self._initial_room
        self.under_way[stream.id] = stream
        self._write(stream)

    def forget(self, stream_id: int) -> bool:
        """Whether some of its body was not sent yet."""
        return self.under_way.pop(stream_id, None) is not None

    def clear(self) -> None:
        self.under_way.clear()

    def write(self) -> None:
        """As much as there is room for."""
        for stream in list(self.under_way.values()):
            self._write(stream)

    def _write(self, stream: Stream) -> None:
        while len(self._out) < _OUT_UP_TO_BYTES:
            size = min(len(stream.unsent), stream.room, self._room, FRAME_BYTES)
            if size <= 0:
                return
            part, stream.unsent = bytes(stream.unsent[:size]), stream.unsent[size:]
            stream.room -= size
            self._room -= size
            is_last = not stream.unsent
            self._out += frames.frame(DATA, END_STREAM if is_last else 0, stream.id, part)
            stream.count_sent(size)
            self.has_moved = True
            if is_last:
                del self.under_way[stream.id]
                self._note_written(stream)
                return

    def set_initial_room(self, value: int) -> None:
        """What new streams may send, from the server's settings. Raises ConnectionBroken."""
        if value > LARGEST_WINDOW:
            raise _too_large()
        for stream in self.under_way.values():
            stream.room += value - self._initial_room
            if stream.room > LARGEST_WINDOW:
                raise _too_large()
        self._initial_room = value
        self.write()

    def grow(self, more: int) -> None:
        """Raises ConnectionBroken."""
        self._room += more
        if self._room > LARGEST_WINDOW:
            raise _too_large()
        self.write()

    def grow_stream(self, stream_id: int, more: int) -> None:
        """Raises StreamBroken."""
        stream = self.under_way.get(stream_id)
        if stream is None:
            return
        stream.room += more
        if stream.room > LARGEST_WINDOW:
            raise StreamBroken(Code.FLOW_CONTROL_ERROR, "a window of 2^31 bytes")
        self._write(stream)


def _too_large() -> ConnectionBroken:
    return ConnectionBroken(Code.FLOW_CONTROL_ERROR, "a window of 2^31 bytes")
