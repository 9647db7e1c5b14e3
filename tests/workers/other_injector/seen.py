"""What was seen in a second, and how docs/injector.md wants it written."""

import base64
import json
import struct
import sys
import zlib


def say(type_, **fields):
    sys.stdout.write(json.dumps({"type": type_, **fields}) + "\n")
    sys.stdout.flush()


def encoded(values):
    """The histogram as docs/injector.md lays it out."""
    counts = {}
    for value in values:
        value = min(value, 3_600_000_000)
        shift = max(0, value.bit_length() - 11)
        bucket = shift * 1024 + (value >> shift)
        counts[bucket] = counts.get(bucket, 0) + 1
    data, following = b"", 0
    for bucket in sorted(counts):
        if bucket > following:
            data += leb128(-(bucket - following))
        data += leb128(counts[bucket])
        following = bucket + 1
    header = struct.pack(">iiiiqqd", 0x1C849313, len(data), 0, 3, 1, 3_600_000_000, 1.0)
    packed = zlib.compress(header + data)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()


def leb128(number):
    zigzag, out = 2 * number if number >= 0 else -2 * number - 1, bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def timing(values):
    return {
        "n": len(values),
        "sum_us": sum(values),
        "sum_squares": sum(value * value for value in values),
        "min_us": min(values),
        "max_us": max(values),
        "histogram": encoded(values),
    }


class Row:
    """One second at one step."""

    def __init__(self):
        self.counters, self.errors, self.statuses, self.timings = {}, {}, {}, {}

    def count(self, name, number=1, into="counters"):
        counts = getattr(self, into)
        counts[name] = counts.get(name, 0) + number

    def time(self, **durations_us):
        for name, value in durations_us.items():
            self.timings.setdefault(name, []).append(value)
