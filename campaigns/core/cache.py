"""What is kept ready in Redis for all processes: headlines, pages, percentiles of pooled requests,
and sums of runs under way.

Nothing depends on an entry: whoever misses one makes it. A key names all that its value depends on,
this release included, so that no entry can be out of date. While Redis does not answer, nothing is
found; it is asked again a few seconds later.
"""

import json
import logging
import time
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import redis
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.cache import caches

logger = logging.getLogger(__name__)

DAY_S = 24 * 3600
REST_AFTER_ERROR_S = 3.0
_MODULES = Path(__file__).parent
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
    wanted = list(keys)
    return _ask(lambda: caches["results"].get_many(wanted), {}) if wanted else {}


def put_many(values: Mapping[str, Any], days: float) -> None:
    if values:
        _ask(lambda: caches["results"].set_many(values, days * DAY_S), None)


def _ask(act: Callable[[], _T], otherwise: _T) -> _T:
    global _rest_until
    if time.monotonic() < _rest_until:
        return otherwise
    try:
        return act()
    except (redis.RedisError, OSError) as error:
        _rest_until = time.monotonic() + REST_AFTER_ERROR_S
        logger.warning("Nothing is cached for %g s: %s", REST_AFTER_ERROR_S, error)
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
