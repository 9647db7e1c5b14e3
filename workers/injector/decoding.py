"""Bodies as they were before a Content-Encoding, up to a bound: a small body may unpack to much."""

import zlib

# RFC 9659: no zstd window of the web is larger.
_ZSTD_WINDOW_BYTES = 8 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


class Undecodable(ValueError):
    """Why a body cannot be read, as a clause."""


def decoded(body: bytes, coding: str, most_bytes: int, *, is_whole: bool = True) -> bytes:
    """The first `most_bytes` of what `coding`, a Content-Encoding, stands for; `is_whole`: `body`
    is all of it. Raises Undecodable."""
    for name in reversed(coding.lower().split(",")):
        name = name.strip()
        decode = _DECODERS.get(name)
        if decode is None:
            raise Undecodable(f"nothing here decodes the body's coding {name[:40]}")
        try:
            body, is_at_end = decode(bytes(body), most_bytes)
        except Exception as error:  # each library has its own
            raise Undecodable(f"the body is no {name}: {error}") from None
        if is_whole and not is_at_end and len(body) < most_bytes:
            raise Undecodable(f"the body's {name} ends in the middle")
        is_whole = is_whole and is_at_end
    return body


def _gzip(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """Members one after the other, as RFC 1952 allows."""
    parts, left = [], most_bytes
    while True:
        decoder = zlib.decompressobj(_GZIP)
        parts.append(decoder.decompress(body, left))
        left -= len(parts[-1])
        body = decoder.unused_data
        # What is no member is padding, which everybody leaves alone.
        if not (body.startswith(_GZIP_MAGIC) and left > 0):
            return b"".join(parts), decoder.eof


def _deflate(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """With zlib's head, as RFC 9110 says, or without, as some servers send it."""
    try:
        decoder = zlib.decompressobj(_ZLIB)
        return decoder.decompress(body, most_bytes), decoder.eof
    except zlib.error:
        decoder = zlib.decompressobj(_RAW)
        return decoder.decompress(body, most_bytes), decoder.eof


def _brotli(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    import brotli

    decoder = brotli.Decompressor()
    return decoder.process(body, output_buffer_limit=most_bytes)[:most_bytes], decoder.is_finished()


def _zstd(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    import zstandard

    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    with decoder.stream_reader(body, read_across_frames=True) as reader:
        data = reader.read(most_bytes)
    return data, len(data) == most_bytes or _ends_whole(body)


def _ends_whole(body: bytes) -> bool:
    """Whether zstd frames end where their bytes do; the reader takes half a frame for a whole."""
    import zstandard

    while body:
        decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
        decoder.decompress(body)
        if not decoder.eof:
            return False
        body = decoder.unused_data
    return True


def _identity(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    return body[:most_bytes], len(body) <= most_bytes


_DECODERS = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
    "identity": _identity,
}
