"""The spool: an injector's seconds on disk, before they are in the database.

There is one append-only file per run, shard and epoch. A record is length, CRC-32 and JSON: first
the lease, then the seconds, last the end or why there is none. A file belongs to the process that
has it locked; an unlocked file means that its launcher died. `.spool` files are still to be
stored, `.stored` files are kept until their run is done.

Writes seconds and rounds to the spool and the database, in its own thread, so that the
injector's output is still read while PostgreSQL is slow or unreachable.

Stores spools whose launcher died or could not reach PostgreSQL. Never sends load again."""

import contextlib
import fcntl
import json
import logging
import os
import queue
import shutil
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from django.db import connection

from campaigns.domain.errors import Refused
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.engine.services.shards import (
    Lease,
    mark_done,
    mark_lost,
    record_requests,
    record_rounds,
    record_seconds,
)
from campaigns.models import Run
from workers.database import (
    RETRY_S,
    UNREACHABLE,
    drop_connection,
    first_line_of,
    use_own_connection,
)

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


logger = logging.getLogger(__name__)

MAX_BATCH = 500
OF_ROUNDS = ("pace", "round")
STORED = ("second", "requests", *OF_ROUNDS)


def store_lines(lease: Lease, lines: Sequence[dict[str, Any]]) -> None:
    """What an injector said; may be stored twice. Raises Refused."""
    seconds = [line for line in lines if line["type"] == "second"]
    record_seconds(lease=lease, seconds=seconds)
    record_rounds(lease=lease, lines=[line for line in lines if line["type"] in OF_ROUNDS])
    record_requests(lease=lease, lines=[line for line in lines if line["type"] == "requests"])


class Delivery:
    """Takes lines, writes each to disk first, and stores them in order."""

    def __init__(self, lease: Lease, spool: Spool):
        self._lease = lease
        self._spool = spool
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._give_up = threading.Event()
        self.failure = ""
        # Whether every second is on disk; with a full one, only memory has the rest.
        self.is_spooled = True
        self._thread = threading.Thread(target=self._work, name="delivery", daemon=True)
        self._thread.start()

    def take(self, line: dict[str, Any]) -> None:
        """Spool a line of `STORED`, and queue it for storing."""
        try:
            self._spool.append(line)
        except OSError as error:
            if self.is_spooled:  # said once, not every second
                logger.error(
                    "The spool %s cannot be written: %s. Seconds that PostgreSQL does not take are "
                    "now only in this process's memory: make room on the disk, and while "
                    "PostgreSQL is away do not restart this worker, or they are lost",
                    self._spool.path,
                    error,
                )
            self.is_spooled = False
        self._waiting.put(line)

    def finish(self, for_s: float) -> bool:
        """Wait up to `for_s` until everything is stored; returns whether it is."""
        self._waiting.put(None)
        self._thread.join(for_s)
        if self._thread.is_alive():
            self._give_up.set()
            self._thread.join(RETRY_S * 4)
            return False
        return not self.failure

    def _work(self) -> None:
        use_own_connection()
        try:
            while (batch := self._next_batch()) is not None:
                with contextlib.suppress(OSError):
                    self._spool.sync()
                self._store(batch)
        finally:
            with contextlib.suppress(*UNREACHABLE):
                connection.close()

    def _next_batch(self) -> list[dict[str, Any]] | None:
        """All waiting seconds, at least one; None after the last one or when giving up."""
        first = self._waiting.get()
        if first is None or self._give_up.is_set():
            return None
        batch = [first]
        while len(batch) < MAX_BATCH and not self._waiting.empty():
            second = self._waiting.get()
            if second is None:
                self._waiting.put(None)
                break
            batch.append(second)
        return batch

    def _store(self, batch: list[dict[str, Any]]) -> None:
        away_since = None
        while not self._give_up.is_set():
            try:
                store_lines(self._lease, batch)
                return
            except UNREACHABLE as error:
                drop_connection()
                if away_since is None:
                    away_since = time.monotonic()
                    logger.warning(
                        "PostgreSQL does not answer; seconds wait %s: %s",
                        "in the spool" if self.is_spooled else "in memory",
                        first_line_of(error),
                    )
                self._give_up.wait(RETRY_S)
            except Refused as error:
                self.failure = str(error)
                return
            except Exception as error:  # one bad batch must not end the thread
                logger.exception("Seconds of run %s were not stored", self._lease.run_id)
                self.failure = f"Seconds could not be stored: {error!r}"
                return


KILLED = "The launcher on the injector host was killed during the run."


def store_leftovers() -> int:
    """Store unlocked spool files and delete those of finished runs; returns how many were stored.

    Call it on the host that wrote them. Raises PostgreSQL's errors; call it again later.
    """
    folder = Path(settings.SPOOL_DIR)
    n_stored = sum(_store(path) for path in sorted(folder.glob("*.spool")))
    for path in folder.glob("*.stored"):
        run_id = path.stem.split("-")[0]
        if not Run.objects.filter(pk=run_id, ended_at=None).exists():
            with suppress(OSError):  # the disk refuses; it is asked again
                path.unlink(missing_ok=True)
    return n_stored


def _store(path: Path) -> bool:
    spool = Spool.take_over(path)
    if spool is None:
        return False
    is_stored = False
    try:
        try:
            first, *records = list(spool.records()) or [None]
        except OSError as error:  # of this file, not of PostgreSQL
            raise ValueError(f"The disk does not give it back: {error}") from error
        if first is None:
            if spool.is_old:
                with suppress(OSError):
                    spool.path.unlink(missing_ok=True)
            return False
        fields = {name: value for name, value in first.items() if name != "type"}
        fields["arms"] = tuple(fields.get("arms", ()))
        _store_records(Lease(**fields, order={}), records)
        is_stored = True
    except UNREACHABLE:
        raise
    except Exception:  # one unreadable file must not keep the others from the database
        logger.exception("%s cannot be stored; it is renamed to .broken", path.name)
        with suppress(OSError):  # the disk refuses; it is tried again
            path.rename(path.with_suffix(".broken"))
    finally:
        spool.close(is_stored=is_stored)
    return is_stored


def _store_records(lease: Lease, records: list[dict[str, Any]]) -> None:
    lines = [record for record in records if record["type"] in STORED]
    ends = [record for record in records if record["type"] == "end"]
    reasons = [record["reason"] for record in records if record["type"] == "lost"]
    try:
        for start in range(0, len(lines), MAX_BATCH):
            store_lines(lease, lines[start : start + MAX_BATCH])
    except Refused as error:
        logger.warning("%d lines arrived too late: %s", len(lines), error)
    if ends:
        first, *others = map(InjectorEnd.from_json, ends)
        mark_done(lease=lease, end=first, others=others)
    else:
        mark_lost(lease=lease, reason=reasons[-1] if reasons else KILLED)
