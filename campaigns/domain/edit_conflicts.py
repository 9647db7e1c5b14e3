"""What a form was opened with, so that saving it puts nothing back that was changed since.

A form replaces every part of what it edits. It carries a short digest of each part as it was when
it was opened; who saves it compares these with what is stored by then.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2s
from typing import Any

from campaigns.domain.errors import ChangedMeanwhile

Content = Mapping[str, Any]  # JSON; of an object in it, each field is a part


def version_token(content: Content) -> str:
    """What a form carries: "name=0f3c8a21 load.rate_per_s=…"."""
    return " ".join(f"{path}={digest}" for path, digest in _digests(content).items())


def check_unchanged(opened: str | None, *, stored: Content, wanted: Content) -> None:
    """Raise ChangedMeanwhile if saving what is `wanted` would put back a part that is `stored` in
    another way since the form was `opened`. None: nobody looked at it before."""
    if opened is None:
        return
    before = dict(part.partition("=")[::2] for part in opened.split())
    now, after = _digests(stored), _digests(wanted)
    paths = [*now, *(path for path in before if path not in now)]
    changed = [
        path
        for path in paths
        if before.get(path) != now.get(path) and now.get(path) != after.get(path)
    ]
    if changed:
        raise ChangedMeanwhile(changed, version_token(stored))


def _digests(content: Content) -> dict[str, str]:
    return {
        path: blake2s(json.dumps(value, sort_keys=True).encode(), digest_size=4).hexdigest()
        for path, value in _parts(content)
    }


def _parts(content: Content, start: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _parts(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value
