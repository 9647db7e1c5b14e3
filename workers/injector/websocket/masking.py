"""The client's masking of RFC 6455, section 5.3."""

import os

import numpy as np

KEY_BYTES = 4
_POOL_BYTES = 4096
_NUMPY_PAYS_FROM_BYTES = 512
_COPIES = 256


class RandomKeys:
    """Fresh random keys of `size_bytes`; the system is asked for many at a time."""

    __slots__ = ("_at", "_pool", "_size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._pool = b""
        self._at = 0

    def take(self) -> bytes:
        begin = self._at
        end = self._at = begin + self._size_bytes
        if end > len(self._pool):
            self._pool = os.urandom(_POOL_BYTES)
            begin, end = 0, self._size_bytes
            self._at = end
        return self._pool[begin:end]


class MaskedCopies:
    """A frame that is sent again and again, with a fresh key each time; many are made at once."""

    __slots__ = ("_copies", "_key_at", "_template")

    def __init__(self, template: bytes, payload_bytes: int) -> None:
        """`template`: the frame masked with a key of zeros, which changes nothing."""
        self._template = np.frombuffer(template, dtype=np.uint8)
        self._key_at = len(template) - payload_bytes - KEY_BYTES
        self._copies: list[bytes] = []

    def take(self) -> bytes:
        if not self._copies:
            self._copies = self._make()
        return self._copies.pop()

    def _make(self) -> list[bytes]:
        frames = np.tile(self._template, (_COPIES, 1))
        masked = frames[:, self._key_at :]
        keys = np.frombuffer(os.urandom(_COPIES * KEY_BYTES), dtype=np.uint8)
        masked ^= keys.reshape(_COPIES, KEY_BYTES)[:, np.arange(masked.shape[1]) % KEY_BYTES]
        return [frame.tobytes() for frame in frames]


def apply_mask(data: bytes, key: bytes) -> bytes:
    """`data` with byte i XORed with key[i mod 4]; masking and unmasking are the same."""
    size = len(data)
    if size >= _NUMPY_PAYS_FROM_BYTES:
        return _apply_by_words(data, key)
    mask = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(mask, "big")).to_bytes(size, "big")


def _apply_by_words(data: bytes, key: bytes) -> bytes:
    padded = data + bytes(-len(data) % 4)
    words = np.frombuffer(padded, dtype=np.uint32) ^ np.frombuffer(key, dtype=np.uint32)
    return words.tobytes()[: len(data)]
