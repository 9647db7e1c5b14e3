"""This checkout's secret key: created once, readable only by its owner."""

import os
import secrets
from pathlib import Path


def secret_key_file(var: Path) -> Path:
    """var/secret_key, created with 50 random bytes if missing."""
    path = var / "secret_key"
    var.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size:
        return path
    # Beside it first: a disk that is full must not leave an empty one, which no start could use.
    fresh = path.with_suffix(".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(50))
    fresh.rename(path)
    return path
