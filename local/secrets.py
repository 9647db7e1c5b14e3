"""This checkout's secret key: created once, readable only by its owner."""

import os
import secrets
from pathlib import Path


def secret_key_file(var: Path) -> Path:
    """var/secret_key, created with 50 random bytes if missing."""
    path = var / "secret_key"
    var.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(50))
    return path
