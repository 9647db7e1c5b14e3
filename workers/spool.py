"""The spool: what an injector saw, on disk before it is in the database.

One append-only file for each run, shard and epoch. A record is length, CRC-32 and JSON; the first
is the lease, then come the seconds and at last the end. A file belongs to whoever has it locked, so
that a lock that is free means a launcher that died. `.spool` is still to be stored, `.stored` is
kept until its run is done.
"""

import fcntl
import json
import os
import shutil
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from django.conf import settings

from campaigns.services.shards import Lease

HEAD = struct.Struct(">II")  # length and CRC-32 of the payload
MAX_RECORD_BYTES = 64 * 1024 * 1024
RESERVE_BYTES = 64 * 1024 * 1024
# A file without a lease in it, this old, is one whose launcher died while it made it.
EMPTY_FOR_S = 60


class SpoolFull(Exception):
    """Too little room on the disk to begin a run."""


class Spool:
    """A file that this process has locked."""

    def __init__(self, path: Path, file):
        self.path = path
        self._file = file

    @classmethod
    def create(cls, lease: Lease) -> Self:
        """A new file that begins with the lease. Raises SpoolFull, OSError."""
        folder = Path(settings.SPOOL_DIR)
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < RESERVE_BYTES:
            raise SpoolFull(
                f"Only {free // 2**20} MiB are free in {folder}, where the injector host keeps "
                f"what it measures; it needs {RESERVE_BYTES // 2**20}."
            )
        path = folder / f"{lease.run_id}-{lease.number}-{lease.epoch}.spool"
        file = path.open("ab", buffering=0)
        fcntl.flock(file, fcntl.LOCK_EX)
        spool = cls(path, file)
        fields = ("shard_id", "run_id", "number", "epoch", "worker", "host")
        spool.append({"type": "lease", **{name: getattr(lease, name) for name in fields}})
        return spool

    @classmethod
    def take_over(cls, path: Path) -> Self | None:
        """A file whose launcher is gone; None where one still has it."""
        try:
            file = path.open("r+b", buffering=0)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return cls(path, file)

    def append(self, message: dict[str, Any]) -> None:
        payload = json.dumps(message, separators=(",", ":")).encode()
        self._file.write(HEAD.pack(len(payload), zlib.crc32(payload)) + payload)

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self, *, is_stored: bool) -> None:
        """Let go of the file; it stays for the next start where something is not stored yet."""
        if is_stored:
            self.path.rename(self.path.with_suffix(".stored"))
        self._file.close()

    def records(self) -> Iterator[dict[str, Any]]:
        """All whole records; a torn one at the end, from a kill in mid-write, is left out."""
        self._file.seek(0)
        while len(head := self._file.read(HEAD.size)) == HEAD.size:
            length, checksum = HEAD.unpack(head)
            payload = self._file.read(length) if length <= MAX_RECORD_BYTES else b""
            if len(payload) < length or zlib.crc32(payload) != checksum:
                return
            yield json.loads(payload)

    @property
    def is_old(self) -> bool:
        return time.time() - self.path.stat().st_mtime > EMPTY_FOR_S
