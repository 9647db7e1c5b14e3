"""What is kept ready in Redis for all processes: headlines, pages, percentiles of pooled requests,
and sums of runs under way. And what each process keeps for itself.

Nothing depends on an entry: whoever misses one makes it. A key names all that its value depends on,
for all processes this release included, so that no entry can be out of date. While Redis does not
answer, nothing is found; it is asked again a few seconds later.
"""

import json
import logging
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, TypeVar

import redis
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.cache import caches

from campaigns.core.database import release_connection

logger = logging.getLogger(__name__)

DAY_S = 24 * 3600
REST_AFTER_ERROR_S = 3.0
_MODULES = Path(__file__).parent.parent
_rest_until = 0.0
_T = TypeVar("_T")


class CompressedJson:
    """Django's default, pickle, would run what another client of this Redis has stored."""

    def dumps(self, value: Any) -> bytes:
        return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)

    def loads(self, data: bytes) -> Any:
        return json.loads(zlib.decompress(data))


def key_of(kind: str, *parts: Hashable) -> str:
    """A key of this release; `parts` say the same in every process that makes the same value."""
    text = repr((release(), settings.TIME_ZONE, *parts))
    return f"{kind}:{blake2b(text.encode(), digest_size=16).hexdigest()}"


def get_many(keys: Iterable[str]) -> dict[str, Any]:
    """Those that are there."""
    names = list(keys)
    return ask_redis(lambda: caches["results"].get_many(names), {}) if names else {}


def put_many(values: Mapping[str, Any], days: float) -> None:
    if values:
        ask_redis(lambda: caches["results"].set_many(values, days * DAY_S), None)


def ask_redis(act: Callable[[], _T], otherwise: _T) -> _T:
    """What it answers; `otherwise` for a while after it did not, so that a frozen one costs each
    process its time limit once."""
    global _rest_until
    if time.monotonic() < _rest_until:
        return otherwise
    try:
        return act()
    except (redis.RedisError, OSError) as error:
        _rest_until = time.monotonic() + REST_AFTER_ERROR_S
        logger.warning(
            "Redis does not answer, and is not asked for %g s: %s", REST_AFTER_ERROR_S, error
        )
        return otherwise


@cache
def release() -> str:
    """A digest of our modules, templates and static files: the next release may word the same
    results in other ways."""
    digest = blake2b(digest_size=8)
    templates = Path(settings.BASE_DIR, "templates").rglob("*.html")
    for path in sorted((*_MODULES.rglob("*.py"), *templates)):
        digest.update(path.read_bytes())
    digest.update(getattr(staticfiles_storage, "manifest_hash", "").encode())
    return digest.hexdigest()


class Cache(Generic[_T]):
    """The `size` values of this process that were used last. Whoever asks for one that is being
    made waits for it, without a database connection."""

    def __init__(self, size: int):
        self._size, self._lock = size, threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry[_T]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], _T], version: int = 0) -> _T:
        """What `make` returned, or raised, for this version of the key or a later one. What raised
        is made again for whoever asks next."""
        with self._lock:
            entry = self._entries.get(key)
            if is_new := entry is None or entry.version < version:
                entry = self._entries[key] = _Entry(version)
            self._entries.move_to_end(key)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        if is_new:
            entry.make(make)
        elif not entry.is_made.is_set():
            release_connection()
            entry.is_made.wait()
        if entry.fault:
            with self._lock:
                if self._entries.get(key) is entry:
                    del self._entries[key]
            raise entry.fault
        return entry.value


class _Entry(Generic[_T]):
    value: _T

    def __init__(self, version: int):
        self.version, self.is_made = version, threading.Event()
        self.fault: BaseException | None = None

    def make(self, make: Callable[[], _T]) -> None:
        try:
            self.value = make()
        except BaseException as fault:
            self.fault = fault
        finally:
            self.is_made.set()
