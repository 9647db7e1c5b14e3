"""HdrHistogram's V2 compressed payload with 3 digits from 1 µs to 1 h, in base64."""

import base64
import struct
import zlib

_HEADER = ">iiiiqqd"  # 40 bytes
_COOKIE, _COMPRESSED_COOKIE = 0x1C849303 | 0x10, 0x1C849304 | 0x10
_DIGITS, _HIGHEST_US, _SUB_BITS = 3, 3_600_000_000, 11
_NINTH = 56  # a ninth byte has 8 bits of its number, the others 7

Filled = list[tuple[int, int]]  # the buckets that hold anything, ascending, and their counts


def read_payload(payload: str) -> Filled:
    packed = base64.b64decode(payload)[8:]
    raw = zlib.decompress(packed)
    (size,) = struct.unpack_from(">i", raw, 4)
    filled, bucket = [], 0
    for number in read_varints(raw[40 : 40 + size]):
        if number & 1:  # ZigZag of −k: k empty buckets
            bucket += (number >> 1) + 1
            continue
        if number:
            filled.append((bucket, number >> 1))
        bucket += 1
    return filled


def payload_of(filled: Filled) -> str:
    """What `read_payload` reads."""
    numbers, next_one = [], 0
    for bucket, count in filled:
        gap = bucket - next_one
        if gap:  # a single empty bucket is the count 0
            numbers.append(2 * gap - 1 if gap > 1 else 0)
        numbers.append(2 * count)
        next_one = bucket + 1
    return payload_of_counts(_varints(numbers))


def payload_of_counts(counts: bytes) -> str:
    """The payload of counts as V2 has them behind its header."""
    header = struct.pack(_HEADER, _COOKIE, len(counts), 0, _DIGITS, 1, _HIGHEST_US, 1.0)
    packed = zlib.compress(header + counts, 6)
    framed = struct.pack(">ii", _COMPRESSED_COOKIE, len(packed)) + packed
    return base64.b64encode(framed).decode("ascii")


def middle_us(bucket: int) -> float:
    half = _SUB_BITS - 1
    if bucket < 2 << half:
        return float(bucket)
    shift = (bucket >> half) - 1
    return ((bucket - (shift << half)) << shift) + ((1 << shift) - 1) / 2


def read_varints(data: bytes) -> list[int]:
    """The numbers of LEB128."""
    numbers, number, shift = [], 0, 0
    for byte in data:
        is_last = byte < 0x80 or shift == _NINTH
        number |= (byte if shift == _NINTH else byte & 0x7F) << shift
        if is_last:
            numbers.append(number)
            number, shift = 0, 0
        else:
            shift += 7
    return numbers


def _varints(numbers: list[int]) -> bytes:
    data = bytearray()
    for number in numbers:
        rest, shift = number, 0
        while rest >= 0x80 and shift < _NINTH:
            data.append(rest & 0x7F | 0x80)
            rest, shift = rest >> 7, shift + 7
        data.append(rest)
    return bytes(data)
