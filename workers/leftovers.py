"""Stores spools whose launcher died or could not reach PostgreSQL. Never sends load again."""

import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from campaigns.domain.errors import Refused
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.engine.services.shards import Lease, mark_done, mark_lost
from campaigns.models import Run
from workers.database import UNREACHABLE
from workers.delivery import STORED, store_lines
from workers.spool import Spool

logger = logging.getLogger(__name__)

BATCH = 500
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
        records = _read(spool)
        if not records:
            if spool.is_old:
                with suppress(OSError):
                    spool.path.unlink(missing_ok=True)
            return False
        _store_records(_lease(records[0]), records[1:])
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


def _read(spool: Spool) -> list[dict[str, Any]]:
    try:
        return list(spool.records())
    except OSError as error:  # of this file, not of PostgreSQL
        raise ValueError(f"The disk does not give it back: {error}") from error


def _lease(record: dict[str, Any]) -> Lease:
    fields = {name: value for name, value in record.items() if name != "type"}
    return Lease(**fields | {"arms": tuple(fields.get("arms", ()))}, order={})


def _store_records(lease: Lease, records: list[dict[str, Any]]) -> None:
    lines = [record for record in records if record["type"] in STORED]
    ends = [record for record in records if record["type"] == "end"]
    reasons = [record["reason"] for record in records if record["type"] == "lost"]
    try:
        for start in range(0, len(lines), BATCH):
            store_lines(lease, lines[start : start + BATCH])
    except Refused as error:
        logger.warning("%d lines arrived too late: %s", len(lines), error)
    if ends:
        first, *others = map(InjectorEnd.from_json, ends)
        mark_done(lease=lease, end=first, others=others)
    else:
        mark_lost(lease=lease, reason=reasons[-1] if reasons else KILLED)
