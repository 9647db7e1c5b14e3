"""Named sets of TLS options: rungs of one ladder, the same on every endpoint that uses them.

A profile says which versions, groups, ciphers and signatures are offered. Whether sessions are
resumed is the connection mode of an arm; early data is never sent. Those of PROFILES come with
benchsite, a project adds its own (own_tls_profiles.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

# What browsers offer since 2024.
USUAL_GROUPS = "X25519MLKEM768:X25519:P-256:P-384"


@dataclass(frozen=True, slots=True)
class TlsProfile:
    """`name` tells arms apart. `offers` has the fields of TlsOptions that it sets."""

    key: str
    title: str
    name: str
    summary: str
    offers: Mapping[str, Any]


def _profile(key: str, title: str, name: str, summary: str, **offers: Any) -> TlsProfile:
    return TlsProfile(key, title, name, summary, MappingProxyType(offers))


_ECDSA = "ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ecdsa_secp521r1_sha512"
_RSA_PSS = "rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512"
_RSA_PKCS1 = "rsa_pkcs1_sha256:rsa_pkcs1_sha384:rsa_pkcs1_sha512"

STANDARD = ""
PROFILES: Mapping[str, TlsProfile] = {
    each.key: each
    for each in (
        _profile(
            STANDARD,
            "Standard",
            "",
            "TLS 1.2 and 1.3, the groups of a current browser, OpenSSL's ciphers.",
        ),
        _profile(
            "browser",
            "As a browser does today",
            "as a browser",
            "Groups, ciphers and signatures of a current browser in its order.",
            groups=USUAL_GROUPS,
            ciphersuites=(
                "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
            ),
            ciphers=(
                "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
                "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
                "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
                "ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA:AES128-GCM-SHA256:AES256-GCM-SHA384:"
                "AES128-SHA:AES256-SHA"
            ),
            signatures=(
                "ecdsa_secp256r1_sha256:rsa_pss_rsae_sha256:rsa_pkcs1_sha256:"
                "ecdsa_secp384r1_sha384:rsa_pss_rsae_sha384:rsa_pkcs1_sha384:"
                "rsa_pss_rsae_sha512:rsa_pkcs1_sha512"
            ),
        ),
        _profile(
            "tls12",
            "TLS 1.2 only",
            "TLS 1.2 only",
            "No TLS 1.3, and so no post-quantum key exchange.",
            max_version="1.2",
        ),
        _profile(
            "classical",
            "Without post-quantum",
            "without post-quantum",
            "The standard groups without X25519MLKEM768.",
            groups="X25519:P-256:P-384",
        ),
        _profile(
            "ecdsa",
            "ECDSA certificate",
            "ECDSA",
            "Signatures by ECDSA only: a server that has certificates of both kinds shows this "
            "one; one that has none fails the handshake.",
            signatures=_ECDSA,
        ),
        _profile(
            "rsa",
            "RSA certificate",
            "RSA",
            "The same with RSA.",
            signatures=f"{_RSA_PSS}:{_RSA_PKCS1}",
        ),
    )
}

NO_PROFILES: Mapping[str, TlsProfile] = MappingProxyType({})


def profile_named(name: str) -> TlsProfile:
    """That of PROFILES, else a project's own as far as its name tells: it offers nothing here,
    because what it offered is beside its name wherever that is kept."""
    return PROFILES.get(name) or TlsProfile(name, name, name, "", MappingProxyType({}))
