"""The secret key of this checkout: made once, readable by its owner only."""

import os
import secrets
from pathlib import Path


def secret_key_file(var: Path) -> Path:
    """var/secret_key, made with 50 random bytes where it is missing."""
    path = var / "secret_key"
    var.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(50))
    return path
