"""The private key of a client certificate: checked, kept encrypted, handed to injectors only."""

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from campaigns.domain.plan.target import Origin
from campaigns.models import Endpoint
from campaigns.services.vault import decrypt, encrypt, encrypt_anew


def keep_key(endpoint: Endpoint, origin: Origin) -> str | None:
    """Sets the endpoint's key to the one given, or keeps its own; what is wrong with it, or None.

    Without a certificate there is nothing to keep a key for.
    """
    certificate = origin.tls.client_certificate_pem
    if not certificate:
        endpoint.client_key = ""
        return None
    key = origin.client_key_pem or (decrypt(endpoint.client_key) if endpoint.client_key else "")
    fault = key_fault(certificate, key)
    if fault is None and origin.client_key_pem:
        endpoint.client_key = encrypt(key)
    return fault


def key_fault(certificate_pem: str, key_pem: str) -> str | None:
    """Why this key cannot go with this certificate, or None."""
    if not key_pem:
        return "The client certificate needs its private key. Paste it as PEM."
    try:
        key = load_pem_private_key(key_pem.encode(), password=None)
    except TypeError:
        return "The key is encrypted. Paste it without a passphrase; it is stored encrypted here."
    except ValueError:
        return "This is not a private key in PEM format (-----BEGIN PRIVATE KEY-----)."
    certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
    if key.public_key() != certificate.public_key():
        return "The key does not belong to the certificate."
    return None


def secret_of(endpoint: Endpoint) -> dict[str, str]:
    """The key as the `secrets` of an order carry it. Raises Refused."""
    return {"client_key": decrypt(endpoint.client_key)} if endpoint.client_key else {}


def rotate_client_keys() -> int:
    """Encrypt every stored key under the vault's first key; how many there are."""
    stored = Endpoint.objects.exclude(client_key="")
    for each in stored:
        Endpoint.objects.filter(pk=each.pk, client_key=each.client_key).update(
            client_key=encrypt_anew(each.client_key)
        )
    return len(stored)
