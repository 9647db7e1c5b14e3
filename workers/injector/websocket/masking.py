"""The client's masking of RFC 6455, section 5.3."""

import os

import numpy as np

KEY_BYTES = 4
_POOL_BYTES = 4096
_NUMPY_PAYS_FROM_BYTES = 512


class MaskingKeys:
    """Random four-byte keys, fetched from the system in batches."""

    __slots__ = ("_at", "_pool")

    def __init__(self) -> None:
        self._pool = b""
        self._at = 0

    def take(self) -> bytes:
        if self._at >= len(self._pool):
            self._pool, self._at = os.urandom(_POOL_BYTES), 0
        self._at += KEY_BYTES
        return self._pool[self._at - KEY_BYTES : self._at]


def masked_copies(frame: bytes, payload_bytes: int, count: int) -> list[bytes]:
    """`count` copies of a frame, each masked with its own key; `frame` has a zero key."""
    copies = np.tile(np.frombuffer(frame, dtype=np.uint8), (count, 1))
    masked = copies[:, len(frame) - payload_bytes - KEY_BYTES :]
    keys = np.frombuffer(os.urandom(count * KEY_BYTES), dtype=np.uint8).reshape(count, KEY_BYTES)
    masked ^= keys[:, np.arange(masked.shape[1]) % KEY_BYTES]
    return [copy.tobytes() for copy in copies]


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
