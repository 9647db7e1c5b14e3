"""Secrets that we issue are stored as HMAC-SHA256 under a key outside the database."""

import hmac
from hashlib import sha256

from django.conf import settings


def keyed_hash(secret: str, purpose: str) -> str:
    """64 hex digits; `purpose` keeps a hash of one kind of secret from passing as another's."""
    message = f"{purpose}:{secret}".encode("utf-8", "surrogatepass")
    return hmac.new(settings.TOKEN_PEPPER.encode(), message, sha256).hexdigest()
