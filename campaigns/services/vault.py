"""Encrypts stored secrets that must be sent on (credentials, private keys)."""

import base64
import hmac
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from campaigns.domain.errors import Refused


def encrypt(secret: str) -> str:
    """The secret encrypted under the first key of settings.VAULT_KEYS, as it is stored."""
    return _vault().encrypt(secret.encode()).decode()


def decrypt(stored: str) -> str:
    """The secret, decrypted with whichever key fits. Raises Refused if none does."""
    try:
        return _vault().decrypt(stored.encode()).decode()
    except InvalidToken:
        raise Refused(
            "A stored secret cannot be decrypted with any key in BENCHSITE_VAULT_KEYS. Add the key "
            "that it was stored with, or enter the secret again."
        ) from None


def encrypt_anew(stored: str) -> str:
    """The same secret re-encrypted under the first key, so that older keys can be removed."""
    return encrypt(decrypt(stored))


def _vault() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in settings.VAULT_KEYS])


def _fernet(key: str) -> Fernet:
    derived = HKDF(SHA256(), length=32, salt=None, info=b"benchsite vault").derive(key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))


def keyed_hash(secret: str, purpose: str) -> str:
    """64 hex digits; `purpose` keeps a hash of one kind of secret from passing as another's."""
    message = f"{purpose}:{secret}".encode("utf-8", "surrogatepass")
    return hmac.new(settings.TOKEN_PEPPER.encode(), message, sha256).hexdigest()
