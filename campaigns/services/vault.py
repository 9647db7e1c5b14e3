"""Encrypts stored secrets that must be sent on (credentials, private keys), such as
the keys of client certificates."""

import base64
import hmac
from hashlib import sha256

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.conf import settings

from campaigns.domain.errors import Refused
from campaigns.domain.plan.target import Origin
from campaigns.models import Endpoint


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


def keep_key(endpoint: Endpoint, origin: Origin) -> str | None:
    """Store the given key, or keep the endpoint's own; returns what is wrong with it, or None.
    Without a certificate the key is dropped."""
    certificate = origin.tls.client_certificate_pem
    if not certificate:
        endpoint.client_key = ""
        return None
    key = origin.client_key_pem or (decrypt(endpoint.client_key) if endpoint.client_key else "")
    fault = _key_fault(certificate, key)
    if fault is None and origin.client_key_pem:
        endpoint.client_key = encrypt(key)
    return fault


def _key_fault(certificate_pem: str, key_pem: str) -> str | None:
    """Why this key does not work with this certificate, or None."""
    if not key_pem:
        return "The client certificate needs its private key. Paste it as PEM."
    try:
        key = load_pem_private_key(key_pem.encode(), password=None)
    except TypeError:
        return "The key is encrypted. Paste it without a passphrase; it is stored encrypted here."
    except ValueError:
        return "This is not a private key in PEM format (-----BEGIN PRIVATE KEY-----)."
    except UnsupportedAlgorithm:
        return "Keys of this kind are not supported. Take RSA, ECDSA (P-256, P-384) or Ed25519."
    if not _belong_together(key, certificate_pem):
        return "The key does not belong to the certificate."
    return None


def _belong_together(key: PrivateKeyTypes, certificate_pem: str) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
        return key.public_key() == certificate.public_key()
    except (UnsupportedAlgorithm, ValueError):  # not a kind of key that this one is of
        return False


def secret_of(endpoint: Endpoint) -> dict[str, str]:
    """The key in the form of an order's `secrets`. Raises Refused."""
    return {"client_key": decrypt(endpoint.client_key)} if endpoint.client_key else {}


def rotate_client_keys() -> int:
    """Re-encrypt every stored key under the vault's first key; returns their number."""
    stored = Endpoint.objects.exclude(client_key="")
    for each in stored:
        Endpoint.objects.filter(pk=each.pk, client_key=each.client_key).update(
            client_key=encrypt_anew(each.client_key)
        )
    return len(stored)
