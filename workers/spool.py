"""The spool: an injector's seconds on disk, before they are in the database.

There is one append-only file per run, shard and epoch. A record is length, CRC-32 and JSON: first
the lease, then the seconds, last the end or why there is none. A file belongs to the process that
has it locked; an unlocked file means that its launcher died. `.spool` files are still to be
stored, `.stored` files are kept until their run is done.
"""

import fcntl
import json
import os
import shutil
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from django.conf import settings

from campaigns.engine.services.shards import Lease

HEAD = struct.Struct(">II")  # length and CRC-32 of the payload
MAX_RECORD_BYTES = 64 * 1024 * 1024
RESERVE_BYTES = 64 * 1024 * 1024
NEW = os.O_WRONLY | os.O_CREAT | os.O_APPEND
FOR_ITS_OWNER = 0o600  # what was measured is for no other account of the host
# A file this old without a lease: its launcher died while creating it.
EMPTY_FOR_S = 60


class SpoolFull(Exception):
    """Too little disk space to start a run."""


class Spool:
    """A file that this process has locked."""

    def __init__(self, path: Path, file):
        self.path = path
        self._file = file

    @classmethod
    def create(cls, lease: Lease) -> Self:
        """A new file that begins with the lease. Raises SpoolFull, OSError."""
        folder = Path(settings.SPOOL_DIR)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < RESERVE_BYTES:
            raise SpoolFull(
                f"The injector host has only {free // 2**20} MiB free in {folder}, where it keeps "
                f"what it measures. Free at least {RESERVE_BYTES // 2**20} MiB."
            )
        path = folder / f"{lease.run_id}-{lease.number}-{lease.epoch}.spool"
        file = os.fdopen(os.open(path, NEW, FOR_ITS_OWNER), "ab", buffering=0)
        spool = cls(path, file)
        fields = ("shard_id", "run_id", "number", "epoch", "worker", "host", "arms")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            spool.append({"type": "lease", **{name: getattr(lease, name) for name in fields}})
        except BaseException:
            file.close()
            raise
        return spool

    @classmethod
    def take_over(cls, path: Path) -> Self | None:
        """Lock a file whose launcher is gone, for reading; None if it is still locked."""
        try:
            file = path.open("rb", buffering=0)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return cls(path, file)

    def append(self, message: dict[str, Any]) -> None:
        """Write one record whole, or leave the file as it was. Raises OSError.

        On a nearly full disk a write may store only a part, and records behind a torn one can
        never be read.
        """
        payload = json.dumps(message, separators=(",", ":")).encode()
        record = memoryview(HEAD.pack(len(payload), zlib.crc32(payload)) + payload)
        begin = self._file.seek(0, os.SEEK_END)
        try:
            while record:
                record = record[self._file.write(record) :]
        except OSError:
            self._file.truncate(begin)
            raise

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self, *, is_stored: bool) -> None:
        """Unlock the file; one that is not fully stored is picked up by the next start.

        A worker that forked a launcher meanwhile has left it a copy of the open file, so to close
        it would not unlock it.
        """
        if is_stored:
            # Where the disk refuses, it is stored once more later, which changes nothing.
            with suppress(OSError):
                self.path.rename(self.path.with_suffix(".stored"))
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()

    def records(self) -> Iterator[dict[str, Any]]:
        """All complete records, without one cut off by a kill."""
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


def spool_bytes() -> int:
    """The size of all files that are not stored whole, those of runs under way included."""
    total = 0
    for path in Path(settings.SPOOL_DIR).glob("*.spool"):
        with suppress(FileNotFoundError):  # its launcher has just stored the rest
            total += path.stat().st_size
    return total
